//! Reading primitives for calls that are written as one object.

use super::call_builder::Written;
use super::cursor::Found;
use super::fast_path::{FastPath, Taken};
use super::input::Chunk;
use super::io::Io;
use super::memory::Memory;
use super::read_values::{Literal, Stop};
use super::value_readers::{Reading, ValueReaders};
use crate::byte_set::Begins;
use crate::fast_paths;
use crate::message::DiagnosticKind;
use crate::program::{CallShape, Markers};
use crate::readers::call_object::CallProgress;

impl<'a> Io<'a> {
    /// Reads a call as one JSON object, or one Python dict if the shape says so, that holds name and arguments. If
    /// the shape is `strict`, only the name of an offered tool makes it a call.
    ///
    /// Once the name is known, one of `stops` outside a string ends a call that is malformed.
    pub fn call_object(&mut self, shape: &CallShape, stops: &Markers) -> Found {
        let (found, passes) = self.object(shape, stops);
        if passes {
            let end = self.memory.readers.object.translator().string_end();
            self.take_fast_path_in_arguments(Written::Whole, |call| match shape.python {
                true => FastPath::in_literal(call, end, Memory::read_dict_arguments),
                false => FastPath::in_json(stops, |memory, text, carry| memory.read_object_arguments(text, carry)),
            });
        }
        found
    }

    /// Reads a call object. Also returns whether the next bytes are arguments that are passed on, or translated.
    fn object(&mut self, shape: &CallShape, stops: &Markers) -> (Found, bool) {
        const WAIT: (Found, bool) = (Found::Wait, false);
        let reset = |readers: &mut ValueReaders| readers.object.reset(shape.python);
        let Some(end) = self.value_start(Reading::Object, reset) else { return WAIT };
        let mut from = self.memory.cursor.pos;
        // More text is needed to tell whether one of the stops comes.
        let mut waiting = false;
        let found = loop {
            let Memory { cursor, speculation, readers, .. } = &mut *self.memory;
            let pos = cursor.pos;
            let object = &mut readers.object;
            // Text that is held back in case this is no call must not grow without bound.
            let limit = if object.named() { end } else { end.min(speculation.limit(pos)) };
            let (progress, count) = object.next(shape, &self.input.bytes[pos..limit], from - pos, &stops.begins);
            let taken = pos + count;
            cursor.search.work.add(count);
            let no_call = match progress {
                CallProgress::More => limit < end,
                CallProgress::Mismatch => true,
                CallProgress::Name(head) => {
                    shape.strict && !self.is_offered(self.slice(pos, head.map(|head| head.name)))
                }
                _ => false,
            };
            let Memory { cursor, calls, readers, emitter, .. } = &mut *self.memory;
            if no_call {
                readers.reading = Reading::Nothing;
                cursor.search.restart(taken);
                return (Found::Other, false);
            }
            cursor.pos = taken;
            from = from.max(taken);
            match progress {
                CallProgress::More | CallProgress::Mismatch => break Found::Wait,
                CallProgress::Done => break Found::Done,
                CallProgress::Name(head) => {
                    self.begin_object_call(self.slice(pos, head.map(|head| head.name)));
                    if self.rest_at_once(shape, &stops.begins, end) {
                        break Found::Done;
                    }
                    from = from.max(self.memory.cursor.pos);
                }
                CallProgress::Id => self.object_id(),
                CallProgress::Arguments(count) => {
                    calls.pass_arguments(&self.input, taken - count, taken, emitter, self.sink);
                    if taken == end && !readers.object.is_done() {
                        break Found::Wait;
                    }
                }
                CallProgress::Written => self.send_written(),
                CallProgress::Stop => match self.stop(stops) {
                    Stop::None => from = taken + 1,
                    Stop::Found(Found::Wait) => {
                        waiting = true;
                        break Found::Wait;
                    }
                    Stop::Found(found) => {
                        self.keep_unknown();
                        self.finish_object();
                        return (found, false);
                    }
                },
            }
        };
        self.keep_unknown();
        let Memory { cursor, readers, .. } = &mut *self.memory;
        if !waiting {
            cursor.search.restart(cursor.pos);
        }
        let object = &readers.object;
        let mut passes = false;
        if object.named() {
            passes = found == Found::Wait && !self.input.last && object.passes_on();
            let malformed = object.malformed();
            self.note_malformed(malformed);
            if found == Found::Wait && self.input.last {
                if self.memory.readers.object.passes_on() {
                    self.cut_json(|readers| readers.object.scanner(), end);
                }
                self.finish_object();
            }
        }
        if found == Found::Done {
            self.memory.readers.reading = Reading::Nothing;
        }
        (found, passes)
    }

    /// Reads what follows the name in an object that is written as usual, as far as it is buffered: the arguments, and
    /// what closes the object. Returns whether that is all of it.
    fn rest_at_once(&mut self, shape: &CallShape, stops: &Begins, end: usize) -> bool {
        let Memory { cursor, calls, readers, emitter, .. } = &mut *self.memory;
        let pos = cursor.pos;
        let bytes = &self.input.bytes[pos..end];
        let Some(rest) = fast_paths::attempt(|| readers.object.usual_rest(shape, bytes, stops)) else {
            return false;
        };
        cursor.pos = pos + rest.taken;
        cursor.search.work.add(rest.taken);
        let (from, to) = rest.arguments;
        calls.pass_arguments(&self.input, pos + from, pos + to, emitter, self.sink);
        if rest.id.is_some() {
            self.object_id();
        }
        rest.done
    }

    /// The text in a range that counts from `pos`, if it is known to be UTF-8.
    fn slice(&self, pos: usize, range: Option<(usize, usize)>) -> Option<&'a str> {
        let (from, to) = range?;
        self.input.slice(pos + from, pos + to)
    }

    fn is_offered(&self, name: Option<&str>) -> bool {
        let name = match name {
            Some(name) => Ok(name),
            None => std::str::from_utf8(self.memory.readers.object.name()),
        };
        name.is_ok_and(|name| self.options.tools.position(name).is_some())
    }

    /// The name of a call object is known, and its id, if that came before the name.
    fn begin_object_call(&mut self, name: Option<&'a str>) {
        let begins = self.end_last_call();
        let Memory { calls, readers, .. } = &mut *self.memory;
        let object = &readers.object;
        let mut invalid = false;
        if let Some(id) = object.id() {
            invalid |= !calls.id.set_text(id);
        }
        match name {
            Some(name) => _ = calls.name.set(name.as_bytes()),
            None => invalid |= !calls.name.set_text(object.name()),
        }
        self.begin_call(begins);
        if invalid {
            self.memory.emitter.note_invalid_utf8(self.sink);
        }
    }

    /// The id of a call object came after its name.
    fn object_id(&mut self) {
        let Memory { calls, readers, emitter, .. } = &mut *self.memory;
        let Some(id) = readers.object.id() else { return };
        let valid = calls.id.set_text(id);
        calls.send_id(emitter, self.sink);
        if !valid {
            emitter.note_invalid_utf8(self.sink);
        }
    }

    /// Keeps text of the object that the format does not know, and reports members in it.
    fn keep_unknown(&mut self) {
        let Memory { calls, readers, emitter, .. } = &mut *self.memory;
        calls.note_astray(readers.object.astray());
        let Some((text, keys)) = readers.object.unknown() else { return };
        calls.keep_unparsed(&text, emitter, self.sink);
        for key in keys.split(|byte| *byte == 0).skip(1) {
            calls.note(DiagnosticKind::UnknownMember, &String::from_utf8_lossy(key), emitter, self.sink);
        }
    }

    /// Arguments that the reader of the object wrote are sent.
    #[inline(never)]
    fn send_written(&mut self) {
        let Memory { calls, readers, emitter, .. } = &mut *self.memory;
        emitter.arguments.extend_from_slice(readers.object.written());
        calls.wrote(Written::Whole, emitter, self.sink);
    }

    /// The input ends, or continues with something else, inside a call object.
    #[cold]
    #[inline(never)]
    fn finish_object(&mut self) {
        if self.memory.readers.object.finish() {
            self.send_written();
        }
    }
}

impl Memory {
    /// Reads on in the arguments of a call object that is a Python dict, by the fast path for pieces.
    fn read_dict_arguments(&mut self, text: &str, _: &mut Vec<u8>) -> Option<Taken> {
        let python = self.readers.object.translator();
        let fed = python.read(b"", Chunk::Text(text), false, &mut self.emitter.arguments);
        self.read_literal(fed, text.len())
    }
}
