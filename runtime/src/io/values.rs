//! Values that end by themselves: JSON, literals, and whole calls as objects.

use super::{Io, MAX_HELD, Reader, Written};
use crate::call_object::{CallObject, CallPart, CallShape};
use crate::json::{Progress, Scanner};
use crate::machine::Found;
use crate::python::Translator;
use crate::quoted::Translator as Quoted;
use crate::search;

impl Io<'_> {
    /// The arguments as one JSON value, passed through untouched.
    pub fn json_arguments(&mut self) -> Found {
        let Some(start) = self.value_start() else { return Found::Wait };
        if !matches!(self.memory.reader, Reader::Json(_)) {
            self.memory.reader = Reader::Json(Scanner::new());
        }
        let text = self.text;
        // A character that is cut waits for the rest of it.
        let whole = if self.last { text.len() } else { start + search::whole_characters(&text[start..]) };
        let rest = &text[start..whole];
        let Reader::Json(scanner) = &mut self.memory.reader else { return Found::Wait };
        let (end, mut done) = match scanner.feed(rest) {
            Progress::More => (rest.len(), false),
            Progress::Done(n) | Progress::Misfit(n) => (n, true),
        };
        if !done && self.last {
            done = scanner.finish();
        }
        let malformed = scanner.malformed();
        self.emit_arguments(start, start + end, Written::Whole);
        self.memory.pos = start + end;
        self.memory.scan = self.memory.pos;
        self.note_malformed(malformed);
        if done {
            self.memory.reader = Reader::None;
            Found::Done
        } else {
            Found::Wait
        }
    }

    /// The arguments as one Python literal, translated to JSON.
    pub fn python_arguments(&mut self) -> Found {
        self.literal(None, Written::Whole)
    }

    /// An argument's value as a Python or JSON literal; it was announced by
    /// [`argument_literal`](Self::argument_literal).
    pub fn literal_value(&mut self) -> Found {
        self.literal(None, Written::Members)
    }

    /// An argument's value as a literal whose strings stand between `quote` tokens.
    pub fn quoted_value(&mut self, quote: &str) -> Found {
        self.literal(Some(quote), Written::Members)
    }

    pub(super) fn literal(&mut self, quote: Option<&str>, written: Written) -> Found {
        let Some(start) = self.value_start() else { return Found::Wait };
        if matches!(self.memory.reader, Reader::None) {
            self.memory.reader = match quote {
                Some(_) => Reader::Quoted(Quoted::new()),
                None => Reader::Python(Translator::new()),
            };
        }
        let mut out = std::mem::take(&mut self.memory.out);
        out.clear();
        // A character that is cut waits for the rest of it.
        let whole = if self.last { self.text.len() } else { start + search::whole_characters(&self.text[start..]) };
        let rest = &self.text[start..whole];
        let quote = quote.unwrap_or_default();
        let progress = match &mut self.memory.reader {
            Reader::Python(translator) => translator.feed(rest, &mut out),
            Reader::Quoted(translator) => translator.feed(quote, rest, &mut out),
            _ => Progress::Misfit(0),
        };
        let (end, mut done) = match progress {
            Progress::More => (rest.len(), false),
            Progress::Done(n) | Progress::Misfit(n) => (n, true),
        };
        if !done && self.last {
            done = match &mut self.memory.reader {
                Reader::Python(translator) => translator.finish(&mut out),
                Reader::Quoted(translator) => translator.finish(quote, &mut out),
                _ => true,
            };
        }
        let malformed = match &self.memory.reader {
            Reader::Python(translator) => translator.malformed(),
            Reader::Quoted(translator) => translator.malformed(),
            _ => true,
        };
        self.memory.pos = start + end;
        self.memory.scan = self.memory.pos;
        self.emit_out(out, written);
        self.note_malformed(malformed);
        if done {
            self.memory.reader = Reader::None;
            Found::Done
        } else {
            Found::Wait
        }
    }

    /// A call as one JSON object (or Python dict) that holds name and arguments. Announces the call by itself as
    /// soon as the name is known; with `offered`, only a name among the offered tools makes it a call.
    pub fn call_object(&mut self, shape: &CallShape<'_>, offered: bool) -> Found {
        let Some(start) = self.value_start() else { return Found::Wait };
        let mut object = match std::mem::take(&mut self.memory.reader) {
            Reader::Object(object) => object,
            _ => CallObject::new(),
        };
        let text = self.text;
        // Before the name is known, what is held back in case this is no call must not grow without bound.
        let bound = if object.named() { text.len() } else { self.hold_limit().min(text.len()) };
        let rest = &text[start..bound.max(start)];
        let mut refused = false;
        let mut progress = object.feed(shape, rest, &mut |part| match part {
            _ if refused => {}
            CallPart::Name(name) if offered && self.memory.options.tools.get(name).is_none() => refused = true,
            part => self.call_part(part),
        });
        if refused {
            return Found::Other;
        }
        if let (Progress::More, true) = (&progress, bound < text.len()) {
            if !object.named() {
                self.memory.scan = bound;
                return Found::Other;
            }
            progress = match object.feed(shape, &text[bound..], &mut |part| self.call_part(part)) {
                Progress::Done(n) => Progress::Done(rest.len() + n),
                other => other,
            };
        }
        if self.last && matches!(progress, Progress::More) && object.named() {
            object.finish(shape, &mut |part| self.call_part(part));
        }
        let malformed = object.malformed();
        if object.invalid_utf8() {
            self.note_invalid_utf8();
        }
        match progress {
            Progress::More => {
                self.memory.pos = text.len();
                self.memory.scan = text.len();
                if object.named() {
                    self.note_malformed(malformed);
                }
                self.memory.reader = Reader::Object(object);
                Found::Wait
            }
            Progress::Done(n) => {
                self.memory.pos = start + n;
                self.memory.scan = self.memory.pos;
                self.note_malformed(malformed);
                Found::Done
            }
            Progress::Misfit(n) => {
                self.memory.scan = start + n;
                Found::Other
            }
        }
    }

    pub(super) fn call_part(&mut self, part: CallPart<'_>) {
        match part {
            CallPart::Name(name) => {
                self.memory.name.clear();
                self.memory.name.push_str(name);
                self.announce();
            }
            CallPart::Id(id) => self.call_id(id),
            CallPart::Arguments(json) => self.send_arguments(json, Written::Whole),
        }
    }

    /// The offset up to which text may be held back.
    pub(super) fn hold_limit(&self) -> usize {
        self.memory.hold.map_or(self.memory.pos, |hold| hold.text) + MAX_HELD
    }

    /// Where a value that ends by itself goes on; leading white space before it is dropped.
    pub(super) fn value_start(&mut self) -> Option<usize> {
        if matches!(self.memory.reader, Reader::None | Reader::Value(_)) {
            self.memory.skip.clear();
            let rest = &self.text[self.memory.pos..];
            let space = rest.iter().take_while(|b| b.is_ascii_whitespace()).count();
            self.memory.pos += space;
            self.memory.scan = self.memory.pos;
            if self.memory.pos == self.text.len() {
                return None;
            }
        }
        Some(self.memory.pos)
    }
}
