//! The arguments of a call object: takes them out of the object and prepares them for the call.

use crate::readers::json::JsonText;

/// Passes the arguments on. JSON text in a string is unescaped; all other arguments stay as they are. Until the name is
/// known, they are kept.
#[derive(Debug, Clone, Default)]
pub(super) struct Arguments {
    form: Form,
    /// Arguments that came before the name.
    held: Vec<u8>,
    /// The beginning of a word that may be `null`.
    null: Vec<u8>,
    text: JsonText,
    /// What is to be passed on, if it differs from the input.
    out: Vec<u8>,
    malformed: bool,
}

/// What is to be passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    Nothing,
    /// The bytes of the input.
    AsItIs,
    Written,
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

impl Arguments {
    pub(super) fn reset(&mut self) {
        if self.form == Form::InString {
            self.text.reset();
        }
        self.form = Form::Unknown;
        self.held.clear();
        self.null.clear();
        self.out.clear();
        self.malformed = false;
    }

    /// The arguments are an object, and the name is known.
    #[inline]
    pub(super) fn begin_native(&mut self) {
        self.form = Form::Native;
    }

    /// Takes the next bytes of the arguments' JSON; `done` says that they are the last. Returns what is to be passed
    /// on; nothing until the name is known. `written` says that the JSON is a translation and not a part of the input.
    pub(super) fn feed(&mut self, json: &[u8], named: bool, done: bool, written: bool) -> Piece {
        self.out.clear();
        self.begin(json);
        match self.form {
            Form::Unknown => {}
            Form::Null => {
                self.null.extend_from_slice(json);
                if done && self.null != b"null" {
                    self.out.append(&mut self.null);
                }
            }
            Form::InString => {
                self.text.feed(json, &mut self.out);
                if done {
                    self.text.end();
                    self.malformed |= self.text.malformed();
                }
            }
            Form::Native if json.is_empty() => {}
            Form::Native if named && !written => return Piece::AsItIs,
            Form::Native => self.out.extend_from_slice(json),
        }
        if self.out.is_empty() {
            return Piece::Nothing;
        }
        if named {
            return Piece::Written;
        }
        self.held.append(&mut self.out);
        Piece::Nothing
    }

    /// The same for JSON that is a translation. If it is passed on unchanged, its buffer is taken over instead of
    /// copied.
    pub(super) fn feed_written(&mut self, json: &mut Vec<u8>, named: bool, done: bool) -> Piece {
        self.begin(json);
        if !named || self.form != Form::Native || json.is_empty() {
            return self.feed(json, named, done, true);
        }
        std::mem::swap(&mut self.out, json);
        Piece::Written
    }

    /// Decides what the arguments are, by their first byte.
    fn begin(&mut self, json: &[u8]) {
        if self.form == Form::Unknown {
            self.form = match json.first() {
                None => Form::Unknown,
                Some(b'"') => Form::InString,
                Some(b'n') => Form::Null,
                Some(_) => Form::Native,
            };
        }
    }

    /// The input ended inside the arguments; the reader held these bytes back. Returns whether something was written.
    pub(super) fn abort(&mut self, json: &[u8]) -> bool {
        if self.feed(json, true, false, true) == Piece::Nothing {
            self.out.clear();
        }
        self.out.append(&mut self.null);
        !self.out.is_empty()
    }

    /// The name is known: arguments that were kept are written. Returns whether there are any.
    pub(super) fn release(&mut self) -> bool {
        if self.held.is_empty() {
            return false;
        }
        std::mem::swap(&mut self.held, &mut self.out);
        self.held.clear();
        true
    }

    pub(super) fn written(&self) -> &[u8] {
        &self.out
    }

    /// Whether the bytes of the input are passed on unchanged.
    pub(super) fn pass_on(&self) -> bool {
        self.form == Form::Native
    }

    pub(super) fn malformed(&self) -> bool {
        self.malformed || self.text.malformed()
    }
}
