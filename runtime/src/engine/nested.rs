//! Markers that repeat the name of a function or of an argument, and objects that are written as tags.
//!
//! A marker that repeats a name is put together once for each name, in memory that is kept for the
//! next one. From then on it is looked for as any other.

use super::call_builder::Written;
use super::cursor::Found;
use super::io::Io;
use super::memory::Memory;
use super::value_readers::{Named, Reading};
use crate::program::{Markers, Nesting};
use crate::readers::nested;
use crate::tools::{SchemaPlace, Types};

impl Io<'_> {
    /// Like [`value`](Self::value), up to markers some of which repeat a name.
    pub fn named_value(&mut self, markers: &Markers) -> Found {
        self.with_names(markers, Self::value)
    }

    /// Like [`expect`](Self::expect), with markers some of which repeat a name.
    pub fn expect_named(&mut self, markers: &Markers) -> Found {
        self.with_names(markers, Self::expect)
    }

    /// Like [`json_arguments`](Self::json_arguments), up to markers some of which repeat a name.
    pub fn named_json_arguments(&mut self, markers: &Markers) -> Found {
        self.with_names(markers, Self::json_arguments)
    }

    fn with_names(&mut self, markers: &Markers, read: fn(&mut Self, &Markers) -> Found) -> Found {
        let Memory { calls, readers, .. } = &mut *self.memory;
        let Named { markers: own, current } = std::mem::take(&mut readers.named);
        let mut own = own.unwrap_or_else(|| Box::new(Markers::expected(&[])));
        if !current {
            let old = std::mem::replace(&mut *own, Markers::expected(&[]));
            *own = markers.with_names(calls.name.as_str(), calls.argument.as_str(), old);
        }
        let found = read(self, &own);
        // A marker ends the state that these belong to.
        self.memory.readers.named = Named { markers: Some(own), current: found == Found::Wait };
        found
    }

    /// The text that was read is an argument's name. Raw text follows, typed by the tool's schema, or tags that hold an
    /// object. If the argument before it has the same name and is a list, this is its next item.
    pub fn nested_argument(&mut self, nesting: &Nesting) {
        let name = self.captured.unwrap_or_else(|| self.memory.cursor.capture.as_str());
        let tool = self.memory.calls.open.as_ref().and_then(|call| call.tool);
        let place = tool.map_or(SchemaPlace::UNKNOWN, |tool| self.options.tools.place_of(tool, name));
        let types = place.types();
        let Memory { cursor, calls, readers, emitter, .. } = &mut *self.memory;
        let list = calls.open.as_ref().is_some_and(|call| call.list);
        let continues = list && calls.argument.as_bytes() == cursor.capture.as_bytes();
        readers.item = continues;
        if continues {
            emitter.arguments.extend_from_slice(b", ");
            calls.wrote(Written::Members, emitter, self.sink);
            self.begin_tagged(place.item().types(), nesting.python);
        } else {
            self.argument(nesting.python);
        }
        let may_nest = types.is_unknown() || types.intersects(Types::OBJECT | Types::ARRAY);
        if let Some(&first) = nesting.open.as_bytes().first().filter(|_| may_nest) {
            self.memory.readers.tagged.hold_tags(first);
        }
    }

    /// The value of such an argument is complete.
    pub fn end_nested_argument(&mut self, nesting: &Nesting) {
        let Memory { calls, readers, emitter, .. } = &mut *self.memory;
        let Some(held) = readers.tagged.held().filter(|_| readers.reading == Reading::Tagged) else {
            return self.end_argument();
        };
        let tool = calls.open.as_ref().and_then(|call| call.tool);
        let argument = calls.argument.as_str();
        let place = tool.map_or(SchemaPlace::UNKNOWN, |tool| self.options.tools.place_of(tool, argument));
        let text = held.trim_ascii();
        let invalid_utf8 = std::str::from_utf8(text).is_err();
        // Where items have a tag of their own, the tags show a list.
        let is_list = nesting.item.is_empty() && (readers.item || nested::begins_list(place.types(), Some(text)));
        let is_empty =
            text.is_empty() && !nesting.item.is_empty() && place.types().intersects(Types::OBJECT | Types::ARRAY);
        if !is_list && !is_empty && !nested::begins(text, nesting) {
            return self.end_argument();
        }
        let out = &mut emitter.arguments;
        let before = out.len();
        if is_list && !readers.item {
            out.push(b'[');
        }
        let inner = if is_list { place.item() } else { place };
        let done = match text {
            b"" if is_list && !readers.item => {
                out.push(b']');
                true
            }
            _ if nested::object(text, nesting, inner, out) => true,
            _ if is_list || is_empty => {
                nested::leaf(&mut readers.leaf, held, inner.types(), nesting.python, out);
                true
            }
            _ => false,
        };
        if !done {
            out.truncate(before);
            return self.end_argument();
        }
        readers.reading = Reading::Nothing;
        if let Some(call) = &mut calls.open {
            call.list = is_list && (readers.item || !text.is_empty());
        }
        calls.wrote(Written::Members, emitter, self.sink);
        if invalid_utf8 {
            emitter.note_invalid_utf8(self.sink);
        }
    }
}
