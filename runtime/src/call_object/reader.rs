//! One value of a call object, as JSON text, whichever syntax it is written in.

use crate::json::{Progress, Scanner};
use crate::python::Translator;

/// Reads one value at a time.
#[derive(Debug, Clone, Default)]
pub(super) struct Reader {
    json: Scanner,
    literal: Translator,
    /// What `literal` wrote of the last bytes.
    out: Vec<u8>,
}

impl Reader {
    /// Takes the next bytes; gives the JSON text of those that belong to the value.
    pub(super) fn feed<'b>(&'b mut self, python: bool, bytes: &'b [u8]) -> (Progress, &'b [u8]) {
        if python {
            self.out.clear();
            let progress = self.literal.feed(bytes, &mut self.out);
            return (progress, &self.out);
        }
        let progress = self.json.feed(bytes);
        match progress {
            Progress::Done(count) => (progress, &bytes[..count]),
            _ => (progress, bytes),
        }
    }

    /// The input ends inside the value: gives the JSON text that was held back.
    pub(super) fn finish(&mut self, python: bool) -> &[u8] {
        self.out.clear();
        if python {
            self.literal.finish(&mut self.out);
        }
        &self.out
    }

    pub(super) fn malformed(&self) -> bool {
        self.json.malformed() || self.literal.malformed()
    }

    /// Whether the next byte stands inside a string; of a Python literal that is not known, and taken to be so.
    pub(super) fn in_string(&self, python: bool) -> bool {
        python || self.json.in_string()
    }

    pub(super) fn reset(&mut self) {
        self.json.reset();
        self.literal.reset();
    }
}
