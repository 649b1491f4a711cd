//! Reads one value of a call object and gives its JSON, whichever of the two languages it is written in.

use crate::byte_set::Begins;
use crate::readers::json::{Progress, Scanner, room};
use crate::readers::python::Translator;
use crate::readers::structure::StringEnd;

/// Reads one value at a time.
#[derive(Debug, Clone, Default)]
pub(super) struct Reader {
    /// The object is a Python dict.
    python: bool,
    json: Scanner,
    literal: Translator,
    /// What `literal` wrote for the last bytes.
    out: Vec<u8>,
}

/// The JSON of the bytes that a reader took.
pub(super) enum Taken<'b> {
    /// The bytes themselves.
    AsItIs(&'b [u8]),
    /// A translation of them.
    Written(&'b mut Vec<u8>),
}

impl Taken<'_> {
    pub(super) fn json(&self) -> &[u8] {
        match self {
            Self::AsItIs(json) => json,
            Self::Written(json) => json,
        }
    }
}

impl Reader {
    /// Whether the object is a Python dict.
    #[inline]
    pub(super) fn python(&self) -> bool {
        self.python
    }

    /// Takes the next bytes. Returns the JSON of those that belong to the value.
    pub(super) fn feed<'b>(&'b mut self, bytes: &'b [u8]) -> (Progress, Taken<'b>) {
        self.feed_until(bytes, None)
    }

    /// The same, but JSON stops before a byte at or after an offset, outside of strings, with which one of the stops may begin, and
    /// before what can be mended. In Python there are no stops: the reader does not report where strings begin and end.
    pub(super) fn feed_until<'b>(
        &'b mut self,
        bytes: &'b [u8],
        stops: Option<(usize, &Begins)>,
    ) -> (Progress, Taken<'b>) {
        if self.python {
            self.out.clear();
            self.out.reserve(room(bytes.len()));
            return (self.literal.feed(bytes, &mut self.out), Taken::Written(&mut self.out));
        }
        let progress = match stops {
            Some((from, stops)) => self.json.feed_until(bytes, from, stops),
            None => self.json.feed(bytes),
        };
        match progress {
            Progress::More => (progress, Taken::AsItIs(bytes)),
            Progress::Done(count) | Progress::Stop(count) | Progress::Wait(count) => {
                (progress, Taken::AsItIs(&bytes[..count]))
            }
        }
    }

    /// The input ends inside the value. Returns the JSON that was held back.
    pub(super) fn finish(&mut self) -> &[u8] {
        self.out.clear();
        if self.python {
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

    /// The quote that ends the string in which the next byte is, where anything but a backslash and this quote continues it.
    pub(super) fn quote(&self) -> Option<u8> {
        match self.literal.string_end() {
            Some(StringEnd::Quote(quote)) if self.python => Some(quote),
            _ => self.json.in_plain_string().then_some(b'"'),
        }
    }

    /// Begins a value.
    pub(super) fn reset(&mut self) {
        match self.python {
            true => self.literal.reset(),
            false => self.json.reset(),
        }
    }

    /// Begins an object.
    pub(super) fn restart(&mut self, python: bool) {
        self.reset();
        self.python = python;
        self.reset();
    }
}
