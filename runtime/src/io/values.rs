//! Values that end by themselves: JSON, literals, and whole calls as objects.

use super::straight::{Fed, Read, Taken};
use super::{Io, MAX_HELD, Memory, PIECE, Reading, Written};
use crate::call_object::{CallShape, Json, Part, Python, Syntax};
use crate::event::Event;
use crate::fast_path;
use crate::json::Progress;
use crate::machine::Found;
use crate::markers::{Begins, Markers};
use crate::search::Candidate;
use crate::stream::Chunk;

/// What to do about a byte with which one of the stops may begin.
enum Stop {
    /// It is none: the value goes on.
    None,
    /// One stands there, or more text is needed to tell.
    Found(Found),
}

impl<'a> Io<'a> {
    /// The arguments as one JSON value, passed through untouched.
    ///
    /// One of `stops` outside a string cannot be JSON: it ends arguments that are malformed.
    pub fn json_arguments(&mut self, stops: &Markers) -> Found {
        let Some(end) = self.value_start(Reading::Json, |memory| memory.readers.json.reset()) else {
            return Found::Wait;
        };
        // Before this offset no stop begins.
        let mut from = self.memory.pos;
        let found = loop {
            let pos = self.memory.pos;
            let memory = &mut *self.memory;
            let scanner = &mut memory.readers.json;
            let progress = scanner.feed_until(&self.text[pos..end], from - pos, &stops.begins);
            let (taken, done) = match progress {
                Progress::More => (end, self.last && scanner.finish()),
                Progress::Done(n) => (pos + n, true),
                Progress::Stop(n) => (pos + n, false),
            };
            memory.look.work.add(taken - pos);
            memory.pos = taken;
            self.emit_arguments(pos, taken, Written::Whole);
            if done {
                break Found::Done;
            }
            if !matches!(progress, Progress::Stop(_)) {
                break Found::Wait;
            }
            match self.stop(stops) {
                Stop::None => from = taken + 1,
                Stop::Found(found) => return found,
            }
        };
        let memory = &mut *self.memory;
        memory.look.restart(memory.pos);
        let malformed = memory.readers.json.malformed();
        self.note_malformed(malformed);
        if found == Found::Done {
            self.memory.reading = Reading::Nothing;
        } else {
            self.go_straight_in_json(stops, |memory, text, carry| memory.read_json_arguments(text, carry));
        }
        found
    }

    /// The arguments as one Python literal, translated to JSON.
    pub fn python_arguments(&mut self) -> Found {
        self.literal::<PythonLiteral>(Written::Whole, "", Memory::read_python)
    }

    /// An argument's value as a Python or JSON literal; it was announced by
    /// [`argument_literal`](Self::argument_literal).
    pub fn literal_value(&mut self) -> Found {
        self.literal::<PythonLiteral>(Written::Members, "", Memory::read_python)
    }

    /// An argument's value as a literal whose strings stand between `quote` tokens.
    pub fn quoted_value(&mut self, quote: &str) -> Found {
        self.literal::<QuotedLiteral>(Written::Members, quote, Memory::read_quoted)
    }

    fn literal<L: Literal>(&mut self, written: Written, quote: &str, read: Read) -> Found {
        if self.memory.reading != L::READING {
            self.memory.quote.set(quote.as_bytes());
        }
        let Some(end) = self.value_start(L::READING, L::reset) else { return Found::Wait };
        loop {
            // Piece by piece what is written stays small, however long the literal is.
            let from = self.memory.pos;
            let to = if end - from > PIECE { from + self.whole(from, from + PIECE) } else { end };
            let last = self.last && to == end;
            let memory = &mut *self.memory;
            let rest = &self.text[from..to];
            memory.out.reserve(rest.len());
            let text = self.valid.and_then(|text| text.get(from..to));
            let fed = L::feed(memory, quote, text.map_or(Chunk::Bytes(rest), Chunk::Text));
            let (taken, mut done) = match fed.progress {
                Progress::More => (rest.len(), false),
                Progress::Done(n) | Progress::Stop(n) => (n, true),
            };
            let mut malformed = fed.malformed;
            if !done && last {
                (done, malformed) = L::finish(memory, quote);
            }
            memory.look.work.add(taken);
            memory.pos += taken;
            memory.look.restart(memory.pos);
            self.wrote(written);
            self.note_malformed(malformed);
            if done {
                self.memory.reading = Reading::Nothing;
                return Found::Done;
            }
            if to < end {
                continue;
            }
            if self.memory.quote.as_bytes() == quote.as_bytes() {
                self.go_straight_in_literal(written, fed.text_ends, read);
            }
            return Found::Wait;
        }
    }

    /// A call as one JSON object that holds name and arguments. Announces the call by itself as soon as the name is
    /// known; if the shape is `strict`, only the name of an offered tool makes it a call.
    ///
    /// Once the name is known, one of `stops` outside a string ends a call that is malformed.
    pub fn call_object(&mut self, shape: &CallShape, stops: &Markers) -> Found {
        let (found, passes) = self.object::<Json>(shape, stops);
        if passes {
            self.go_straight_in_json(stops, |memory, text, carry| memory.read_object_arguments(text, carry));
        }
        found
    }

    /// The same where the object is a Python dict; JSON is read as well.
    pub fn call_dict(&mut self, shape: &CallShape, stops: &Markers) -> Found {
        let (found, passes) = self.object::<Python>(shape, stops);
        if passes {
            let ends = self.memory.readers.object.translator().text_ends();
            self.go_straight_in_literal(Written::Whole, ends, Memory::read_dict_arguments);
        }
        found
    }

    /// Reads a call object. Says as well whether the next bytes are arguments that are passed on, or their translation.
    fn object<S: Syntax>(&mut self, shape: &CallShape, stops: &Markers) -> (Found, bool) {
        const WAIT: (Found, bool) = (Found::Wait, false);
        let reset = |memory: &mut Memory| memory.readers.object.reset::<S>();
        let Some(end) = self.value_start(Reading::Object, reset) else { return WAIT };
        let mut from = self.memory.pos;
        // For the rest of one of `stops`.
        let mut waiting = false;
        let found = loop {
            let pos = self.memory.pos;
            // What is held back in case this is no call must not grow without bound.
            let named = self.memory.readers.object.named();
            let limit = if named { end } else { end.min(self.hold_limit()) };
            let object = &mut self.memory.readers.object;
            let (part, count) = object.next::<S>(shape, &self.text[pos..limit], from - pos, &stops.begins);
            let taken = pos + count;
            self.memory.look.work.add(count);
            let lost = match part {
                Part::More => limit < end,
                Part::Misfit => true,
                Part::Name(head) => shape.strict && !self.is_offered(self.slice(pos, head.map(|head| head.name))),
                _ => false,
            };
            if lost {
                self.memory.reading = Reading::Nothing;
                self.memory.look.restart(taken);
                return (Found::Other, false);
            }
            self.memory.pos = taken;
            from = from.max(taken);
            match part {
                Part::More | Part::Misfit => break Found::Wait,
                Part::Done => break Found::Done,
                Part::Name(head) => {
                    self.captured_id = self.slice(pos, head.and_then(|head| head.id));
                    self.announce_object(self.slice(pos, head.map(|head| head.name)));
                    if self.usual_rest::<S>(shape, &stops.begins, end) {
                        break Found::Done;
                    }
                    from = from.max(self.memory.pos);
                }
                Part::Id => self.object_id(),
                Part::Arguments(count) => {
                    self.emit_arguments(taken - count, taken, Written::Whole);
                    if taken == end && !self.memory.readers.object.is_done() {
                        break Found::Wait;
                    }
                }
                Part::Written => self.emit_object_arguments(),
                Part::Stop => match self.stop(stops) {
                    Stop::None => from = taken + 1,
                    Stop::Found(Found::Wait) => {
                        waiting = true;
                        break Found::Wait;
                    }
                    Stop::Found(found) => {
                        self.finish_object::<S>();
                        return (found, false);
                    }
                },
            }
        };
        if !waiting {
            self.memory.look.restart(self.memory.pos);
        }
        let object = &self.memory.readers.object;
        let mut passes = false;
        if object.named() {
            passes = found == Found::Wait && !self.last && object.passes_on();
            let malformed = object.malformed();
            self.note_malformed(malformed);
            if found == Found::Wait && self.last {
                self.finish_object::<S>();
            }
        }
        if found == Found::Done {
            self.memory.reading = Reading::Nothing;
        }
        (found, passes)
    }

    /// What follows the name in an object as nearly all are written, as far as it is at hand: the arguments, and what closes
    /// it. Returns whether that is all of it.
    fn usual_rest<S: Syntax>(&mut self, shape: &CallShape, stops: &Begins, end: usize) -> bool {
        if !fast_path::enabled() {
            return false;
        }
        let pos = self.memory.pos;
        let object = &mut self.memory.readers.object;
        let Some(rest) = object.usual_rest::<S>(shape, &self.text[pos..end], stops) else { return false };
        self.memory.pos = pos + rest.taken;
        self.memory.look.work.add(rest.taken);
        let (from, to) = rest.arguments;
        self.emit_arguments(pos + from, pos + to, Written::Whole);
        match (rest.id, self.slice(pos, rest.id), &self.memory.call) {
            (Some(_), Some(id), Some(call)) => (self.sink)(Event::ToolCallId { index: call.index, id }),
            (Some(_), ..) => self.object_id(),
            (None, ..) => {}
        }
        rest.done
    }

    /// A byte with which one of `stops` may begin stands where the value goes on.
    fn stop(&mut self, stops: &Markers) -> Stop {
        let at = self.memory.pos;
        match self.memory.look.compare(self.text, at, stops, self.last) {
            Candidate::None => Stop::None,
            Candidate::Partial { .. } => Stop::Found(Found::Wait),
            Candidate::Full { index, .. } => {
                self.memory.reading = Reading::Nothing;
                self.note_malformed(true);
                self.take(&stops.list()[index], at, at);
                Stop::Found(Found::Marker(index))
            }
        }
    }

    /// What stands in the text, so many bytes behind `pos`, where that is known to be UTF-8.
    fn slice(&self, pos: usize, at: Option<(usize, usize)>) -> Option<&'a str> {
        let (from, to) = at?;
        self.valid?.get(pos + from..pos + to)
    }

    fn is_offered(&self, name: Option<&str>) -> bool {
        let name = match name {
            Some(name) => Ok(name),
            None => std::str::from_utf8(self.memory.readers.object.name()),
        };
        name.is_ok_and(|name| self.options.tools.position(name).is_some())
    }

    /// The name of a call object is known, and with it its id.
    fn announce_object(&mut self, name: Option<&'a str>) {
        let memory = &mut *self.memory;
        let object = &memory.readers.object;
        let mut invalid = false;
        if self.captured_id.is_none()
            && let Some(id) = object.id()
        {
            invalid |= !memory.id.set_text(id);
        }
        if name.is_none() {
            invalid |= !memory.name.set_text(object.name());
        }
        self.announce(name);
        if invalid {
            self.note_invalid_utf8();
        }
    }

    /// The id of a call object came after its name.
    fn object_id(&mut self) {
        let memory = &mut *self.memory;
        let Some(id) = memory.readers.object.id() else { return };
        let valid = memory.id.set_text(id);
        self.send_written();
        let memory = &mut *self.memory;
        if let Some(call) = &memory.call {
            (self.sink)(Event::ToolCallId { index: call.index, id: memory.id.as_str() });
        }
        self.memory.id.clear();
        if !valid {
            self.note_invalid_utf8();
        }
    }

    #[inline(never)]
    fn emit_object_arguments(&mut self) {
        let memory = &mut *self.memory;
        memory.out.extend_from_slice(memory.readers.object.written());
        self.wrote(Written::Whole);
    }

    /// The input ends, or goes on with something else, inside a call object.
    #[cold]
    #[inline(never)]
    fn finish_object<S: Syntax>(&mut self) {
        if self.memory.readers.object.finish::<S>() {
            self.emit_object_arguments();
        }
    }

    /// The offset up to which text may be held back.
    fn hold_limit(&self) -> usize {
        self.memory.hold.map_or(self.memory.pos, |hold| hold.text) + MAX_HELD
    }

    /// Begins to read a value that ends by itself, or goes on with it; leading white space before it is dropped. Gives
    /// the offset up to which whole characters are there, of which there is at least one byte.
    fn value_start(&mut self, reading: Reading, reset: impl FnOnce(&mut Memory)) -> Option<usize> {
        let memory = &mut *self.memory;
        if memory.reading != reading {
            memory.skip.clear();
            let rest = &self.text[memory.pos..];
            let space = rest.iter().take_while(|b| b.is_ascii_whitespace()).count();
            memory.look.work.add(space);
            memory.pos += space;
            memory.look.restart(memory.pos);
            if memory.pos == self.text.len() {
                return None;
            }
            memory.reading = reading;
            reset(memory);
        }
        let pos = memory.pos;
        if self.last {
            return Some(self.text.len());
        }
        // A character that is cut waits for the rest of it.
        Some(pos + self.whole(pos, self.text.len()))
    }
}

/// A literal that is translated to JSON.
trait Literal {
    const READING: Reading;

    fn reset(memory: &mut Memory);

    /// Reads the bytes; writes to `out`.
    fn feed(memory: &mut Memory, quote: &str, chunk: Chunk<'_>) -> Fed;

    /// The input ends: whether the literal is complete, and whether it is malformed.
    fn finish(memory: &mut Memory, quote: &str) -> (bool, bool);
}

struct PythonLiteral;

impl Literal for PythonLiteral {
    const READING: Reading = Reading::Python;

    fn reset(memory: &mut Memory) {
        memory.readers.python.reset();
    }

    fn feed(memory: &mut Memory, _: &str, chunk: Chunk<'_>) -> Fed {
        let python = &mut memory.readers.python;
        let progress = python.feed(chunk.as_bytes(), &mut memory.out);
        Fed { progress, malformed: python.malformed(), text_ends: python.text_ends() }
    }

    fn finish(memory: &mut Memory, _: &str) -> (bool, bool) {
        let python = &mut memory.readers.python;
        (python.finish(&mut memory.out), python.malformed())
    }
}

struct QuotedLiteral;

impl Literal for QuotedLiteral {
    const READING: Reading = Reading::Quoted;

    fn reset(memory: &mut Memory) {
        memory.readers.quoted.reset();
    }

    fn feed(memory: &mut Memory, quote: &str, chunk: Chunk<'_>) -> Fed {
        let quoted = &mut memory.readers.quoted;
        let progress = match chunk {
            Chunk::Text(text) => quoted.feed_text(quote.as_bytes(), text, &mut memory.out),
            Chunk::Bytes(bytes) => quoted.feed(quote.as_bytes(), bytes, &mut memory.out),
        };
        Fed { progress, malformed: quoted.malformed(), text_ends: quoted.text_ends(quote.as_bytes()) }
    }

    fn finish(memory: &mut Memory, quote: &str) -> (bool, bool) {
        let quoted = &mut memory.readers.quoted;
        (quoted.finish(quote.as_bytes(), &mut memory.out), quoted.malformed())
    }
}

impl Memory {
    fn read_python(&mut self, text: &str, _: &mut Vec<u8>) -> Option<Taken> {
        self.read_literal(text, |memory, text| PythonLiteral::feed(memory, "", Chunk::Text(text)))
    }

    fn read_quoted(&mut self, text: &str, _: &mut Vec<u8>) -> Option<Taken> {
        self.read_literal(text, |memory, text| {
            let quoted = &mut memory.readers.quoted;
            let quote = memory.quote.as_bytes();
            let progress = quoted.feed_text(quote, text, &mut memory.out);
            Fed { progress, malformed: quoted.malformed(), text_ends: quoted.text_ends(quote) }
        })
    }

    /// Arguments of a call object that is a Python dict.
    fn read_dict_arguments(&mut self, text: &str, _: &mut Vec<u8>) -> Option<Taken> {
        self.read_literal(text, |memory, text| {
            let python = memory.readers.object.translator();
            let progress = python.feed(text.as_bytes(), &mut memory.out);
            Fed { progress, malformed: python.malformed(), text_ends: python.text_ends() }
        })
    }
}
