//! Values that end by themselves: JSON, literals, and whole calls as objects.

use super::{Io, MAX_HELD, Reader, Written};
use crate::call_object::{CallObject, CallPart, CallShape};
use crate::json::{Progress, Scanner};
use crate::machine::{Found, Marker};
use crate::python::Translator;
use crate::quoted::Translator as Quoted;
use crate::search::{self, Candidate};

impl Io<'_> {
    /// The arguments as one JSON value, passed through untouched.
    ///
    /// One of `stops` outside a string cannot be JSON: it ends arguments that are malformed.
    pub fn json_arguments(&mut self, stops: &[Marker<'_>]) -> Found {
        let Some(mut pos) = self.value_start() else { return Found::Wait };
        let mut scanner = match std::mem::take(&mut self.memory.reader) {
            Reader::Json(scanner) => scanner,
            _ => Scanner::new(),
        };
        let text = self.text;
        // A character that is cut waits for the rest of it.
        let whole = if self.last { text.len() } else { pos + search::whole_characters(&text[pos..]) };
        let mut from = self.memory.scan.max(pos);
        let found = loop {
            let stop = search::find(&text[..whole], from, stops, self.last);
            let limit = stop.at().unwrap_or(whole);
            let (end, done) = match scanner.feed(&text[pos..limit]) {
                Progress::More => (limit, limit == whole && self.last && scanner.finish()),
                Progress::Done(n) | Progress::Misfit(n) => (pos + n, true),
            };
            self.emit_arguments(pos, end, Written::Whole);
            pos = end;
            if done {
                break Found::Done;
            }
            match stop {
                Candidate::None => break Found::Wait,
                Candidate::Full { at, .. } | Candidate::Partial { at } if scanner.in_string() => from = at + 1,
                Candidate::Partial { .. } => break Found::Wait,
                Candidate::Full { index, at } => {
                    self.note_malformed(true);
                    self.take(&stops[index], at, at);
                    return Found::Marker(index);
                }
            }
        };
        self.memory.pos = pos;
        self.memory.scan = pos;
        self.note_malformed(scanner.malformed());
        if found == Found::Wait {
            self.memory.reader = Reader::Json(scanner);
        }
        found
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
    ///
    /// Once the name is known, one of `stops` outside a string ends a call that is malformed.
    pub fn call_object(&mut self, shape: &CallShape<'_>, offered: bool, stops: &[Marker<'_>]) -> Found {
        let Some(mut pos) = self.value_start() else { return Found::Wait };
        let mut object = match std::mem::take(&mut self.memory.reader) {
            Reader::Object(object) => object,
            _ => CallObject::new(),
        };
        let text = self.text;
        let mut from = self.memory.scan.max(pos);
        let found = loop {
            // Up to the name every byte counts: from it on a stop does.
            let stop = match object.named() {
                true => search::find(text, from, stops, self.last),
                false => Candidate::None,
            };
            let limit = match (object.named(), stop.at()) {
                (true, at) => at.unwrap_or(text.len()),
                // What is held back in case this is no call must not grow without bound.
                (false, _) if pos == self.hold_limit() => {
                    self.memory.scan = pos;
                    return Found::Other;
                }
                (false, _) => (pos + 1).min(text.len()),
            };
            let mut refused = false;
            let progress = object.feed(shape, &text[pos..limit], &mut |part| match part {
                _ if refused => {}
                CallPart::Name(name) if offered && self.memory.options.tools.get(name).is_none() => refused = true,
                part => self.call_part(part),
            });
            if refused {
                return Found::Other;
            }
            match progress {
                Progress::Done(n) => {
                    pos += n;
                    break Found::Done;
                }
                Progress::Misfit(n) => {
                    self.memory.scan = pos + n;
                    return Found::Other;
                }
                Progress::More => pos = limit,
            }
            match stop {
                Candidate::None if pos == text.len() => break Found::Wait,
                Candidate::None => from = pos,
                Candidate::Full { at, .. } | Candidate::Partial { at } if object.in_string(shape) => from = at + 1,
                Candidate::Partial { .. } => break Found::Wait,
                Candidate::Full { index, at } => {
                    object.finish(shape, &mut |part| self.call_part(part));
                    if object.invalid_utf8() {
                        self.note_invalid_utf8();
                    }
                    self.note_malformed(true);
                    self.take(&stops[index], at, at);
                    return Found::Marker(index);
                }
            }
        };
        if self.last && found == Found::Wait && object.named() {
            object.finish(shape, &mut |part| self.call_part(part));
        }
        if object.invalid_utf8() {
            self.note_invalid_utf8();
        }
        self.memory.pos = pos;
        self.memory.scan = pos;
        if object.named() {
            self.note_malformed(object.malformed());
        }
        if found == Found::Wait {
            self.memory.reader = Reader::Object(object);
        }
        found
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
