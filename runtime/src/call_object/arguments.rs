//! The arguments of a call object, on their way from the object's JSON to the call's.

use super::{CallPart, Sink};
use crate::json::{Kind, Progress, Scanner, Unescaper, Utf8Carry, is_space};

/// Passes the arguments on: those that are given as JSON text in a string as that text, all else as they stand.
/// Without a sink, as long as the name is not known, they are kept.
#[derive(Debug, Clone, Default)]
pub(super) struct Arguments {
    form: Form,
    /// What came before the name.
    held: Vec<u8>,
    /// A word that may be `null`, so far.
    null: Vec<u8>,
    text: InString,
    carry: Utf8Carry,
    malformed: bool,
    invalid_utf8: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Form {
    #[default]
    Unknown,
    /// A word that may be `null`.
    Null,
    Native,
    InString,
}

/// Arguments given as JSON text in a string.
#[derive(Debug, Clone, Default)]
struct InString {
    unescaper: Unescaper,
    /// The text of the last bytes.
    out: Vec<u8>,
    check: Scanner,
    /// The text has a byte that is not white space.
    started: bool,
    /// The value in it ended.
    ended: bool,
    malformed: bool,
}

impl InString {
    fn feed(&mut self, json: &[u8]) {
        self.out.clear();
        self.unescaper.feed(json, &mut self.out);
        self.started |= !self.out.iter().copied().all(is_space);
        let mut taken = 0;
        if !self.ended {
            match self.check.feed(&self.out) {
                Progress::Done(count) => {
                    self.ended = true;
                    taken = count;
                }
                _ => taken = self.out.len(),
            }
        }
        self.malformed |= self.check.malformed() || !self.out[taken..].iter().copied().all(is_space);
    }

    /// The string ended: no text at all stands for no arguments, all else has to be an object.
    fn end(&mut self) {
        let object = self.check.kind() == Some(Kind::Object) && self.check.finish();
        self.malformed |= self.started && !object;
    }
}

impl Arguments {
    /// Takes the next bytes of the value's JSON text.
    pub(super) fn feed(&mut self, json: &[u8], on: Option<&mut Sink<'_>>) {
        if self.form == Form::Unknown {
            self.form = match json.first() {
                None => return,
                Some(b'"') => Form::InString,
                Some(b'n') => Form::Null,
                Some(_) => Form::Native,
            };
        }
        match self.form {
            Form::Null => self.null.extend_from_slice(json),
            Form::InString => {
                self.text.feed(json);
                let text = std::mem::take(&mut self.text.out);
                self.pass(&text, on);
                self.text.out = text;
            }
            _ => self.pass(json, on),
        }
    }

    /// The value is complete.
    pub(super) fn end(&mut self, mut on: Option<&mut Sink<'_>>) {
        if self.form == Form::Null && self.null != b"null" {
            let word = std::mem::take(&mut self.null);
            self.pass(&word, on.as_deref_mut());
        }
        if self.form == Form::InString {
            self.text.end();
            self.malformed |= self.text.malformed;
        }
        if let Some(on) = on {
            self.settle(on);
        }
    }

    /// The input ended inside the value.
    pub(super) fn abort(&mut self, on: &mut Sink<'_>) {
        let word = std::mem::take(&mut self.null);
        self.pass(&word, Some(&mut *on));
        self.settle(on);
    }

    /// The name is known: what was kept may go.
    pub(super) fn release(&mut self, on: &mut Sink<'_>) {
        let held = std::mem::take(&mut self.held);
        self.pass(&held, Some(&mut *on));
        self.settle(on);
    }

    pub(super) fn malformed(&self) -> bool {
        self.malformed || self.text.malformed
    }

    pub(super) fn invalid_utf8(&self) -> bool {
        self.invalid_utf8
    }

    fn pass(&mut self, json: &[u8], on: Option<&mut Sink<'_>>) {
        match on {
            Some(on) => self.invalid_utf8 |= self.carry.feed(json, &mut |text| on(CallPart::Arguments(text))),
            None => self.held.extend_from_slice(json),
        }
    }

    fn settle(&mut self, on: &mut Sink<'_>) {
        self.invalid_utf8 |= self.carry.finish(&mut |text| on(CallPart::Arguments(text)));
    }
}
