//! JSON in a JSON string: some models, and some templates, encode arguments twice.

use super::{JsonKind, Progress, Scanner, Unescaper, is_space};

/// Decodes a JSON string that holds a JSON object, and checks the object.
#[derive(Debug, Clone, Default)]
pub(crate) struct JsonText {
    unescaper: Unescaper,
    check: Scanner,
    /// The text has a byte that is not white space.
    started: bool,
    /// The value in it ended.
    ended: bool,
    malformed: bool,
}

impl JsonText {
    /// Appends the text of the next bytes of the string, up to its end.
    pub(crate) fn feed(&mut self, json: &[u8], out: &mut Vec<u8>) -> Progress {
        let from = out.len();
        let progress = self.unescaper.feed(json, out);
        let text = &out[from..];
        self.started |= !text.iter().copied().all(is_space);
        let mut taken = 0;
        if !self.ended {
            match self.check.feed(text) {
                Progress::Done(count) => {
                    self.ended = true;
                    taken = count;
                }
                _ => taken = text.len(),
            }
        }
        self.malformed |= self.check.malformed() || !text[taken..].iter().copied().all(is_space);
        progress
    }

    /// The string ended. An empty text means that there are no arguments; any other text must be an object.
    pub(crate) fn end(&mut self) {
        let object = self.check.kind() == Some(JsonKind::Object) && self.check.finish();
        self.malformed |= self.started && !object;
    }

    /// Whether the string or the object in it is malformed, as far as it was read.
    pub(crate) fn malformed(&self) -> bool {
        self.malformed || self.unescaper.malformed()
    }

    pub(crate) fn reset(&mut self) {
        self.unescaper = Unescaper::new();
        self.check.reset();
        self.started = false;
        self.ended = false;
        self.malformed = false;
    }
}
