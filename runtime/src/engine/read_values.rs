//! Reading primitives for values whose own syntax shows where they end: JSON and literals.

use super::call_builder::Written;
use super::cursor::Found;
use super::fast_path::{FastPath, Read, Taken};
use super::input::{Chunk, Input};
use super::io::Io;
use super::memory::Memory;
use super::next_name::{NameProbe, Names};
use super::pieces::Fed;
use super::search::Candidate;
use super::value_readers::{Reading, ValueReaders};
use crate::limits::PIECE;
use crate::message::DiagnosticKind;
use crate::program::Markers;
use crate::readers::json::{Progress, Scanner};
use crate::readers::quote_tokens::OpenString;
use crate::readers::{python, quote_tokens};

/// What the byte at the cursor is, with which a stop may begin.
pub(super) enum Stop {
    /// A byte of the value.
    None,
    /// A stop, or more text is needed to tell.
    Found(Found),
}

impl Io<'_> {
    /// Reads the arguments as one JSON value and passes them on unchanged.
    ///
    /// One of `stops` outside a string cannot be JSON: it ends arguments that are malformed. Arguments that are not JSON from
    /// the start continue up to one of them.
    pub fn json_arguments(&mut self, stops: &Markers) -> Found {
        match self.memory.readers.reading {
            Reading::NoJson => return self.no_json(stops),
            Reading::JsonText => {
                let pos = self.memory.cursor.pos;
                let len = self.input.bytes.len();
                let end = if self.input.last { len } else { pos + self.input.whole_characters(pos, len) };
                return self.json_text(end);
            }
            _ => {}
        }
        let begins = self.memory.readers.reading != Reading::Json;
        let Some(end) = self.value_start(Reading::Json, |readers| readers.json.reset()) else {
            return Found::Wait;
        };
        if begins && self.input.bytes[self.memory.cursor.pos] == b'"' {
            let readers = &mut self.memory.readers;
            match self.input.bytes.get(self.memory.cursor.pos + 1) {
                Some(b'{') => {
                    readers.reading = Reading::JsonText;
                    readers.json_text.reset();
                    return self.json_text(end);
                }
                None if !self.input.last => {
                    readers.reading = Reading::Nothing;
                    return Found::Wait;
                }
                _ => {}
            }
        }
        // Before this offset no stop begins.
        let mut from = self.memory.cursor.pos;
        let found = loop {
            let Memory { cursor, calls, readers, emitter, .. } = &mut *self.memory;
            let pos = cursor.pos;
            let scanner = &mut readers.json;
            let progress = scanner.feed_until(&self.input.bytes[pos..end], from - pos, &stops.begins);
            let (taken, done) = match progress {
                Progress::More => (end, self.input.last && scanner.finish()),
                Progress::Done(n) => (pos + n, true),
                Progress::Stop(n) | Progress::Wait(n) => (pos + n, false),
            };
            cursor.search.work.add(taken - pos);
            cursor.pos = taken;
            calls.pass_arguments(&self.input, pos, taken, emitter, self.sink);
            if done {
                break Found::Done;
            }
            if !matches!(progress, Progress::Stop(_)) {
                if self.input.last {
                    self.cut_json(|readers| &mut readers.json, end);
                }
                break Found::Wait;
            }
            if scanner.is_at_fault() {
                cursor.pos = taken + scanner.mend(&self.input.bytes[taken..end], &mut emitter.arguments);
                calls.wrote(Written::Whole, emitter, self.sink);
                calls.note_malformed(true, emitter, self.sink);
                from = from.max(cursor.pos);
                continue;
            }
            match self.stop(stops) {
                Stop::None => from = taken + 1,
                Stop::Found(found) => return found,
            }
        };
        let Memory { cursor, readers, .. } = &mut *self.memory;
        cursor.search.restart(cursor.pos);
        if found == Found::Done {
            readers.reading = Reading::Nothing;
        }
        let malformed = readers.json.malformed();
        self.note_malformed(malformed);
        if found == Found::Done && malformed && !stops.list().is_empty() {
            self.memory.readers.reading = Reading::NoJson;
            return self.no_json(stops);
        }
        if found != Found::Done {
            self.take_fast_path_in_arguments(Written::Whole, |_| {
                FastPath::in_json(stops, |memory, text, carry| memory.read_json_arguments(text, carry))
            });
        }
        found
    }

    /// The input ends inside JSON. What waited is sent.
    #[cold]
    #[inline(never)]
    pub(super) fn cut_json(&mut self, scanner: fn(&mut ValueReaders) -> &mut Scanner, end: usize) {
        let Memory { cursor, calls, readers, emitter, .. } = &mut *self.memory;
        let from = std::mem::replace(&mut cursor.pos, end);
        if from < end {
            let mended = scanner(readers).cut(&self.input.bytes[from..end], &mut emitter.arguments);
            calls.wrote(Written::Whole, emitter, self.sink);
            calls.note_malformed(mended, emitter, self.sink);
        }
    }

    /// Reads arguments that are a JSON string with an object in it, up to `end`. Some models encode them twice.
    fn json_text(&mut self, end: usize) -> Found {
        let Memory { cursor, calls, readers, emitter, .. } = &mut *self.memory;
        let rest = &self.input.bytes[cursor.pos..end];
        let progress = readers.json_text.feed(rest, &mut emitter.arguments);
        let taken = if let Progress::Done(taken) = progress { taken } else { rest.len() };
        cursor.search.work.add(taken);
        cursor.pos += taken;
        cursor.search.restart(cursor.pos);
        calls.wrote(Written::Whole, emitter, self.sink);
        if progress == Progress::More {
            return Found::Wait;
        }
        readers.reading = Reading::Nothing;
        readers.json_text.end();
        let malformed = readers.json_text.malformed();
        calls.note_malformed(malformed, emitter, self.sink);
        calls.note(DiagnosticKind::ArgumentsAsText, "", emitter, self.sink);
        Found::Done
    }

    /// Passes on arguments that are not JSON, up to one of `stops`.
    fn no_json(&mut self, stops: &Markers) -> Found {
        let Some(stretch) = self.until(stops, Names::ANY) else { return Found::Wait };
        let Memory { calls, readers, emitter, .. } = &mut *self.memory;
        calls.pass_arguments(&self.input, stretch.from, stretch.to, emitter, self.sink);
        if stretch.found != Found::Wait {
            readers.reading = Reading::Nothing;
        }
        stretch.found
    }

    /// Reads the arguments as one Python literal and translates them to JSON.
    pub fn python_arguments(&mut self) -> Found {
        self.literal::<python::Translator>(Written::Whole, "", Markers::NONE, Memory::read_python)
    }

    /// Reads an argument's value as a Python or JSON literal. [`argument_literal`](Self::argument_literal) announced it.
    pub fn literal_value(&mut self) -> Found {
        self.literal::<python::Translator>(Written::Members, "", Markers::NONE, Memory::read_python)
    }

    /// Reads an argument's value as a literal whose strings are between `quote` tokens. One of `stops` ends a string whose
    /// closing token is missing.
    pub fn quoted_value(&mut self, quote: &str, stops: &Markers) -> Found {
        self.literal::<quote_tokens::Translator>(Written::Members, quote, stops, Memory::read_quote_tokens)
    }

    fn literal<L: Literal>(&mut self, written: Written, quote: &str, stops: &Markers, read: Read<Memory>) -> Found {
        if self.memory.readers.reading != L::READING {
            self.memory.readers.quote.set(quote.as_bytes());
        }
        let mut starts = self.memory.readers.reading != L::READING;
        let reset = |readers: &mut ValueReaders| L::of(readers).reset(stops);
        let Some(end) = self.value_start(L::READING, reset) else { return Found::Wait };
        loop {
            let Memory { cursor, calls, readers, emitter, .. } = &mut *self.memory;
            // Piece by piece, so that little is kept however long the literal is.
            let from = cursor.pos;
            let to = if end - from > PIECE { from + self.input.whole_characters(from, from + PIECE) } else { end };
            let piece = to;
            // Where special tokens are known, a text that spells the quote is not a quote.
            let tokens = cursor.search.context.tokens.as_ref().filter(|tokens| tokens.knows(quote));
            let (to, quote) = match tokens.map(|tokens| tokens.stretch(from)) {
                Some((change, special)) => {
                    (change.map_or(to, |change| to.min(change)), if special { quote } else { "" })
                }
                None => (to, quote),
            };
            let last = self.input.last && to == end;
            let rest = &self.input.bytes[from..to];
            if std::mem::take(&mut starts) {
                match L::starts(quote.as_bytes(), rest) {
                    Some(true) => {}
                    // The output ends inside the beginning of a value.
                    None if last => {}
                    None if to == end => {
                        readers.reading = Reading::Nothing;
                        return Found::Wait;
                    }
                    _ => {
                        readers.reading = Reading::Nothing;
                        calls.note_malformed(true, emitter, self.sink);
                        return Found::Done;
                    }
                }
            }
            let out = &mut emitter.arguments;
            out.reserve(rest.len());
            let chunk = self.input.slice(from, to).map_or(Chunk::Bytes(rest), Chunk::Text);
            let fed = L::of(readers).read(quote.as_bytes(), chunk, last, out);
            let (taken, mut done) = match fed.progress {
                Progress::More => (rest.len(), false),
                Progress::Done(n) => (n, true),
                Progress::Stop(n) | Progress::Wait(n) => (n, false),
            };
            let mut malformed = fed.malformed;
            if fed.progress == Progress::More && last {
                (done, malformed) = L::of(readers).end(quote.as_bytes(), out);
            }
            cursor.search.work.add(taken);
            cursor.pos += taken;
            // What was compared with markers at this place is remembered.
            if taken > 0 {
                cursor.search.restart(cursor.pos);
            }
            calls.wrote(written, emitter, self.sink);
            calls.note_malformed(malformed, emitter, self.sink);
            if done {
                readers.reading = Reading::Nothing;
                return Found::Done;
            }
            if let (Progress::Stop(_), Some(string)) = (fed.progress, L::of(readers).asks()) {
                match self.string_may_end::<L>(string, stops, last || to < piece) {
                    Some(found) => {
                        let Memory { calls, emitter, .. } = &mut *self.memory;
                        calls.wrote(written, emitter, self.sink);
                        return found;
                    }
                    None => continue,
                }
            }
            if to < end {
                continue;
            }
            if readers.quote.as_bytes() == quote.as_bytes() && cursor.search.context.tokens.is_none() {
                self.take_fast_path_in_arguments(written, |call| FastPath::in_literal(call, fed.string_end, read));
            }
            return Found::Wait;
        }
    }

    /// Decides whether a string ends before the byte at the cursor, and ends it. `None`: the byte belongs to it. With `last`, the
    /// text that it may end before is over.
    fn string_may_end<L: Literal>(&mut self, string: OpenString, stops: &Markers, last: bool) -> Option<Found> {
        let found = if string == OpenString::Quoted {
            match self.stop(stops) {
                Stop::None => None,
                Stop::Found(found) => Some(found),
            }
        } else {
            let names = Names::of(&self.options.tools, self.memory.calls.tool());
            let Memory { cursor, readers, .. } = &mut *self.memory;
            let rest = &self.input.bytes[cursor.pos..];
            let follows = names.argument_follows(&mut readers.next, rest, &mut cursor.search.work);
            let found = match follows {
                Some(true) => Some(Found::Done),
                None if !last => return Some(Found::Wait),
                _ => None,
            };
            readers.next = NameProbe::default();
            found
        };
        let Memory { readers, emitter, .. } = &mut *self.memory;
        match found {
            Some(Found::Wait) => {}
            Some(_) => {
                readers.reading = Reading::Nothing;
                L::of(readers).close(&mut emitter.arguments);
            }
            None => L::of(readers).continues(),
        }
        found
    }

    /// Decides whether the byte at the cursor begins one of `stops` or belongs to the value.
    pub(super) fn stop(&mut self, stops: &Markers) -> Stop {
        let Memory { cursor, calls, readers, emitter, .. } = &mut *self.memory;
        let at = cursor.pos;
        match cursor.search.compare(self.input.bytes, at, stops, Names::ANY, self.input.last) {
            Candidate::None => Stop::None,
            Candidate::Partial { .. } => Stop::Found(Found::Wait),
            Candidate::Full { index, .. } => {
                readers.reading = Reading::Nothing;
                calls.note_malformed(true, emitter, self.sink);
                cursor.take(&stops.list()[index], at, at);
                Stop::Found(Found::Marker(index))
            }
        }
    }

    pub(super) fn note_malformed(&mut self, malformed: bool) {
        let Memory { calls, emitter, .. } = &mut *self.memory;
        calls.note_malformed(malformed, emitter, self.sink);
    }

    /// Begins or continues to read a value whose own syntax shows where it ends. White space before it is dropped. Returns the
    /// offset up to which whole characters are buffered; there is at least one byte before it.
    pub(super) fn value_start(&mut self, reading: Reading, reset: impl FnOnce(&mut ValueReaders)) -> Option<usize> {
        let Memory { cursor, readers, .. } = &mut *self.memory;
        let Input { bytes, last, .. } = self.input;
        if readers.reading != reading {
            cursor.layout.clear();
            let rest = &bytes[cursor.pos..];
            let space = rest.iter().take_while(|b| b.is_ascii_whitespace()).count();
            cursor.search.work.add(space);
            cursor.pos += space;
            cursor.search.restart(cursor.pos);
            if cursor.pos == bytes.len() {
                return None;
            }
            readers.reading = reading;
            reset(readers);
        }
        let pos = cursor.pos;
        if last {
            return Some(bytes.len());
        }
        // A character that is cut waits for the rest of it.
        Some(pos + self.input.whole_characters(pos, bytes.len()))
    }

    /// The next piece may take a fast path through more arguments of the open call, if all buffered text was read.
    /// `path` gets the index of the call.
    pub(super) fn take_fast_path_in_arguments(
        &mut self,
        written: Written,
        path: impl FnOnce(usize) -> FastPath<Memory>,
    ) {
        let Memory { cursor, calls, .. } = &*self.memory;
        let call = calls.index().zip(calls.open.as_ref().filter(|call| call.written == written));
        if cursor.pos == self.input.bytes.len()
            && let Some((index, _)) = call
        {
            self.take_fast_path(|| Some(path(index)));
        }
    }
}

/// A reader of literals that are translated to JSON.
pub(super) trait Literal {
    const READING: Reading;

    /// The reader among all readers.
    fn of(readers: &mut ValueReaders) -> &mut Self;

    /// Begins anew. One of `stops` may end a string whose own end is missing.
    fn reset(&mut self, stops: &Markers);

    /// Whether a value may start with these bytes. `None`: more of them are needed. Bytes that the reader takes cannot be given
    /// back, so this is asked before the first.
    fn starts(_: &[u8], _: &[u8]) -> Option<bool> {
        Some(true)
    }

    /// Reads a chunk and writes JSON. `last`: the input ends after it.
    fn read(&mut self, quote: &[u8], chunk: Chunk<'_>, last: bool, out: &mut Vec<u8>) -> Fed;

    /// The input ends. Returns whether the literal is complete, and whether it is malformed.
    fn end(&mut self, quote: &[u8], out: &mut Vec<u8>) -> (bool, bool);

    /// The string in which the reader stopped to ask whether it ends there.
    fn asks(&self) -> Option<OpenString> {
        None
    }

    /// The byte at which the reader stopped belongs to the string.
    fn continues(&mut self) {}

    /// The value ends before that byte.
    fn close(&mut self, _: &mut Vec<u8>) {}
}

impl Literal for python::Translator {
    const READING: Reading = Reading::Python;

    fn of(readers: &mut ValueReaders) -> &mut Self {
        &mut readers.python
    }

    fn reset(&mut self, _: &Markers) {
        Self::reset(self);
    }

    fn read(&mut self, _: &[u8], chunk: Chunk<'_>, last: bool, out: &mut Vec<u8>) -> Fed {
        let progress = self.feed_part(chunk.as_bytes(), last, out);
        Fed { progress, malformed: self.malformed(), string_end: self.string_end() }
    }

    fn end(&mut self, _: &[u8], out: &mut Vec<u8>) -> (bool, bool) {
        (self.finish(out), self.malformed())
    }
}

impl Literal for quote_tokens::Translator {
    const READING: Reading = Reading::QuoteTokens;

    fn of(readers: &mut ValueReaders) -> &mut Self {
        &mut readers.quote_tokens
    }

    fn reset(&mut self, stops: &Markers) {
        Self::reset(self);
        let first = stops.list().first().map(|stop| stop.core.as_bytes());
        self.ask(first.and_then(|core| Some([*core.first()?, *core.get(1)?])));
    }

    fn starts(quote: &[u8], rest: &[u8]) -> Option<bool> {
        Self::starts(quote, rest)
    }

    fn read(&mut self, quote: &[u8], chunk: Chunk<'_>, _: bool, out: &mut Vec<u8>) -> Fed {
        let progress = match chunk {
            Chunk::Text(text) => self.feed_text(quote, text, out),
            Chunk::Bytes(bytes) => self.feed(quote, bytes, out),
        };
        Fed { progress, malformed: self.malformed(), string_end: self.string_end(quote) }
    }

    fn end(&mut self, quote: &[u8], out: &mut Vec<u8>) -> (bool, bool) {
        (self.finish(quote, out), self.malformed())
    }

    fn asks(&self) -> Option<OpenString> {
        Some(self.open_string())
    }

    fn continues(&mut self) {
        Self::continues(self);
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        Self::close(self, out);
    }
}

/// Continues a literal by the fast path for pieces.
impl Memory {
    fn read_python(&mut self, text: &str, _: &mut Vec<u8>) -> Option<Taken> {
        let fed = self.readers.python.read(b"", Chunk::Text(text), false, &mut self.emitter.arguments);
        self.read_literal(fed, text.len())
    }

    fn read_quote_tokens(&mut self, text: &str, carry: &mut Vec<u8>) -> Option<Taken> {
        let ValueReaders { quote_tokens, quote, .. } = &mut self.readers;
        let (quote, out) = (quote.as_bytes(), &mut self.emitter.arguments);
        if !carry.is_empty() {
            // What waits inside a string is its text, or the beginning of the token that ends it. Where it may be the beginning of
            // something else, the machine has to look.
            if quote_tokens.may_end_with(carry) {
                return None;
            }
            quote_tokens.feed(quote, carry, out);
            carry.clear();
        }
        let fed = quote_tokens.read(quote, Chunk::Text(text), false, out);
        self.read_literal(fed, text.len())
    }
}
