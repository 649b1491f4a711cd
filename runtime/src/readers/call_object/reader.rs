//! Reads one value of a call object and gives its JSON, whichever of the two languages it is written in.

use super::syntax::Syntax;
use crate::byte_set::Begins;
use crate::readers::json::{Progress, Scanner, room};
use crate::readers::python::Translator;

/// Reads one value at a time.
#[derive(Debug, Clone, Default)]
pub(super) struct Reader {
    json: Scanner,
    literal: Translator,
    /// What `literal` wrote for the last bytes.
    out: Vec<u8>,
}

impl Reader {
    /// Takes the next bytes. Returns the JSON of those that belong to the value.
    pub(super) fn feed<'b, S: Syntax>(&'b mut self, bytes: &'b [u8]) -> (Progress, &'b [u8]) {
        if S::PYTHON {
            self.out.clear();
            self.out.reserve(room(bytes.len()));
            let progress = self.literal.feed(bytes, &mut self.out);
            return (progress, &self.out);
        }
        Self::taken(self.json.feed(bytes), bytes)
    }

    /// The same, but JSON stops before a byte at or after `from`, outside of strings, with which one of `stops` may begin, and before a
    /// control character in a string. In Python there are no stops: the reader does not report where strings begin and end.
    pub(super) fn feed_until<'b, S: Syntax>(
        &'b mut self,
        bytes: &'b [u8],
        from: usize,
        stops: &Begins,
    ) -> (Progress, &'b [u8]) {
        if S::PYTHON {
            return self.feed::<S>(bytes);
        }
        Self::taken(self.json.feed_until(bytes, from, stops), bytes)
    }

    fn taken(progress: Progress, bytes: &[u8]) -> (Progress, &[u8]) {
        match progress {
            Progress::Done(count) | Progress::Stop(count) => (progress, &bytes[..count]),
            _ => (progress, bytes),
        }
    }

    /// What was written for the last bytes.
    pub(super) fn written(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// The input ends inside the value. Returns the JSON that was held back.
    pub(super) fn finish<S: Syntax>(&mut self) -> &[u8] {
        self.out.clear();
        if S::PYTHON {
            self.literal.finish(&mut self.out);
        }
        &self.out
    }

    pub(super) fn scanner(&mut self) -> &mut Scanner {
        &mut self.json
    }

    pub(super) fn translator(&mut self) -> &mut Translator {
        &mut self.literal
    }

    pub(super) fn malformed(&self) -> bool {
        self.json.malformed() || self.literal.malformed()
    }

    /// Whether the next byte is inside a JSON string, and anything but a quote or a backslash continues it.
    pub(super) fn in_plain_string(&self) -> bool {
        self.json.in_plain_string()
    }

    pub(super) fn reset<S: Syntax>(&mut self) {
        self.json.reset();
        if S::PYTHON {
            self.literal.reset();
        }
    }
}
