//! JSON: a scanner that passes one value through unchanged and finds its end. Its modules complete JSON that
//! was cut off and write JSON strings.
//!
//! Nothing here may recurse on the depth of its input, allocate in steady state, or fail. Text that breaks a rule is
//! flagged and read to its end.

use crate::byte_set::Begins;
use crate::readers::number::NumberPrefix;
use crate::readers::words::Word;

mod close;
mod json_text;
mod mend;
mod nesting;
mod stable;
#[cfg(test)]
pub(crate) mod testkit;
mod text;
mod unescape;

pub use close::close;
pub use stable::{StablePrefix, StableText};

pub(crate) use json_text::JsonText;
pub(crate) use mend::MOST_BLANKS;
pub(crate) use nesting::Nesting;
pub(crate) use text::{
    escape_ascii_into, escape_byte_into, escape_bytes_into, escape_into, escaped, is_plain, next_special_or,
    printable_len, push_char, room,
};
pub(crate) use unescape::{HexDigits, Surrogates, Unescaper};

/// How far a reader came with the bytes that it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// All bytes were taken, and the value continues.
    More,
    /// The value is complete; it took this many bytes of the slice.
    Done(usize),
    /// At this offset, outside of strings, one of the stops may begin. Or the text there is not JSON, and
    /// [mended](Scanner::mend) by the caller.
    Stop(usize),
    /// The value continues at this offset, and it takes more text to tell how.
    Wait(usize),
}

/// The kind of a JSON value, which its first byte tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum JsonKind {
    Object,
    Array,
    String,
    Number,
    Boolean,
    Null,
    /// A bare word, which JSON does not have.
    Other,
}

/// How deep containers may nest before a value counts as malformed. It is still read to its end, and still
/// without recursion; only the kinds of brackets are no longer compared.
pub(crate) const MAX_DEPTH: usize = 100_000;

const OBJECT: u8 = 0;
const ARRAY: u8 = 1;

/// Passes one JSON value through unchanged and finds its end.
///
/// It checks the rules of RFC 8259: white space, brackets, strings and their escapes, numbers, literals. It also checks
/// that surrogates come in pairs, because `serde_json` demands it. The first error makes the value
/// [`malformed`](Self::malformed). From there on only brackets and strings are recognised, so that the value still ends
/// at its closing bracket. It does not check whether the bytes are UTF-8.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scanner {
    at: At,
    nesting: Nesting,
    /// How many brackets are open, once the value is malformed. Before that `nesting` counts them.
    loose_depth: usize,
    kind: Option<JsonKind>,
    malformed: bool,
    /// The string being read is an object's key.
    in_key: bool,
    /// The string being read is in single quotes.
    single: bool,
    /// The escape before was the first half of a surrogate pair.
    high: bool,
    /// What can be mended is left to the caller.
    stops_at_faults: bool,
}

/// What the grammar of JSON expects next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum At {
    #[default]
    Before,
    /// A value must follow, after a colon or a comma.
    Value,
    ValueOrClose,
    Key,
    KeyOrClose,
    Colon,
    /// A comma or a closing bracket must follow.
    After,
    Text,
    Escape,
    Hex(HexDigits),
    Number(NumberPrefix),
    /// This many bytes of the word were read.
    Word(Word, u8),
    /// Between strings of a malformed container.
    Loose,
    /// In a malformed scalar that is the whole value.
    LooseScalar,
    /// Before text that is mended.
    Fault(Fault),
    Done,
}

/// Text that JSON writes in another way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// A byte of a string that needs an escape, or a single quote that does not end its string.
    Text,
    /// The byte after a backslash makes no escape with it.
    Escape,
    /// A comma before a closing bracket.
    Comma,
    /// A single quote that opens a string.
    Opener,
    /// A single quote that closes one.
    Closer,
    /// A word as Python spells it.
    Word(Word),
    /// So many bytes of a key without quotes.
    Key(u8),
}

/// The number or word that begins with this byte.
#[inline]
fn scalar(byte: u8) -> Option<(JsonKind, At)> {
    if let Some(word) = Word::first(byte) {
        return Some((if word == Word::Null { JsonKind::Null } else { JsonKind::Boolean }, At::Word(word, 1)));
    }
    NumberPrefix::Start.next(byte).map(|number| (JsonKind::Number, At::Number(number)))
}

/// Whether a byte can be part of a number or a bare word.
pub(crate) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b'_')
}

/// Whether this byte makes an escape with a backslash before it.
fn is_escape(byte: u8) -> bool {
    byte == b'u' || escaped(byte).is_some()
}

pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// What a step of a reader did with its byte.
pub(crate) enum Step {
    Taken,
    /// The value ended with this byte.
    Last,
    /// The value ended before this byte.
    Ended,
    /// The byte was not taken. The state has changed, and looks at it again.
    Again,
}

impl Scanner {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes. `More`: all of them belong to the value, or are white space before it. `Done(n)`: the
    /// value is complete, and `n` of the bytes belong to it. A number or literal ends before the first byte that cannot
    /// be part of it; other values end with their closing byte. If no value begins at all, it is `Done` before the
    /// first wrong byte, [`malformed`](Self::malformed) and without a [kind](Self::kind).
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Progress {
        self.stops_at_faults = false;
        self.read(bytes, 0, &Begins::NOTHING)
    }

    /// The same, but gives `Stop(n)` before a byte at or after `from` with which one of `stops` may begin, unless the
    /// byte is in a string. It also gives it [before text](Self::is_at_fault) that the caller [mends](Self::mend), so that the
    /// value is not malformed. It gives `Wait(n)` if it takes more text to tell: the next bytes must begin with those from there
    /// on, or the input ends and [cuts](Self::cut) the value there.
    pub(crate) fn feed_until(&mut self, bytes: &[u8], from: usize, stops: &Begins) -> Progress {
        self.stops_at_faults = true;
        self.read(bytes, from, stops)
    }

    // One copy for both: with two, a call of JSON took 13 % more instructions.
    fn read(&mut self, bytes: &[u8], from: usize, stops: &Begins) -> Progress {
        if self.at == At::Done {
            return Progress::Done(0);
        }
        let mut taken = 0;
        while let Some(&byte) = bytes.get(taken) {
            if self.at == At::Text {
                taken += self.text(&bytes[taken..]);
                if self.at == At::Done {
                    return Progress::Done(taken);
                }
                if taken < bytes.len() && matches!(self.at, At::Text | At::Fault(_)) {
                    return self.pause(bytes, taken);
                }
                continue;
            }
            if taken >= from && stops.at(bytes, taken) && !self.in_string() && !self.drops_comma(bytes, taken) {
                return Progress::Stop(taken);
            }
            match self.step(byte, bytes, taken) {
                Step::Taken => taken += 1,
                Step::Last => return Progress::Done(taken + 1),
                Step::Ended => return self.pause(bytes, taken),
                Step::Again => {}
            }
        }
        match self.at {
            At::Done => Progress::Done(taken),
            At::Key | At::Value if self.stops_at_faults => self.hold_comma(bytes),
            _ => Progress::More,
        }
    }

    /// The input ends here. Returns whether the value is complete. Only the end of the input can complete a number or
    /// literal.
    pub(crate) fn finish(&mut self) -> bool {
        let complete = match self.at {
            At::Done | At::LooseScalar => true,
            At::Number(number) => self.depth() == 0 && number.is_whole(),
            At::Word(word, read) => self.depth() == 0 && usize::from(read) == word.json().len(),
            _ => false,
        };
        if complete {
            self.at = At::Done;
        }
        complete
    }

    /// Makes the scanner new. Its buffers are kept.
    pub(crate) fn reset(&mut self) {
        self.at = At::Before;
        self.nesting.clear();
        self.loose_depth = 0;
        self.kind = None;
        self.malformed = false;
        self.in_key = false;
        self.single = false;
        self.high = false;
    }

    /// Whether the value broke a rule until here.
    pub(crate) fn malformed(&self) -> bool {
        self.malformed
    }

    pub(crate) fn in_string(&self) -> bool {
        matches!(self.at, At::Text | At::Escape | At::Hex(_))
    }

    /// Whether the next byte is inside a string, and anything but a double quote or a backslash continues it.
    #[inline]
    pub(crate) fn in_plain_string(&self) -> bool {
        self.at == At::Text && !self.high && !self.single
    }

    pub(crate) fn kind(&self) -> Option<JsonKind> {
        self.kind
    }

    /// How many brackets are open.
    pub(crate) fn depth(&self) -> usize {
        if self.malformed { self.loose_depth } else { self.nesting.len() }
    }

    /// Takes text of a string, up to its closing quote or the backslash of an escape, which it takes too. A control character is an
    /// error, or the place before which it stops.
    #[inline]
    fn text(&mut self, bytes: &[u8]) -> usize {
        if self.high && bytes[0] != b'\\' {
            self.high = false;
            self.offend();
        }
        if self.single {
            return self.single_text(bytes);
        }
        let mut taken = 0;
        loop {
            let (end, closed) = match self.high {
                false => text::string_end(bytes, taken),
                true => (taken, false),
            };
            taken = end;
            if closed {
                self.end_string();
                return taken;
            }
            match bytes.get(taken) {
                None => return taken,
                Some(b'\\') => {
                    self.at = At::Escape;
                    return taken + 1;
                }
                Some(_) if self.stops_at_faults && !self.malformed => {
                    self.at = At::Fault(Fault::Text);
                    return taken;
                }
                Some(_) => {
                    self.offend();
                    taken += 1;
                }
            }
        }
    }

    #[inline]
    fn step(&mut self, byte: u8, bytes: &[u8], taken: usize) -> Step {
        match self.at {
            At::After | At::Colon if is_space(byte) => Step::Taken,
            At::After => self.after(byte),
            At::Colon if byte == b':' => self.go(At::Value),
            At::Key | At::KeyOrClose if byte == b'"' => {
                self.in_key = true;
                self.go(At::Text)
            }
            At::KeyOrClose if byte == b'}' => self.close(),
            At::ValueOrClose if byte == b']' => self.close(),
            At::Before | At::Value | At::ValueOrClose | At::Key | At::KeyOrClose if is_space(byte) => Step::Taken,
            At::Before | At::Value | At::ValueOrClose => self.value(byte, bytes, taken),
            At::Key | At::KeyOrClose => self.odd(bytes, taken),
            At::Colon => self.lose(),
            At::Number(number) => match number.next(byte) {
                Some(next) => self.go(At::Number(next)),
                None if is_token(byte) => self.lose(),
                None => self.end_scalar(number.is_whole()),
            },
            At::Word(word, read) => {
                let text = word.json().as_bytes();
                match text.get(usize::from(read)) {
                    Some(&wanted) if wanted == byte => self.go(At::Word(word, read + 1)),
                    None if !is_token(byte) => self.end_scalar(true),
                    Some(_) if !is_token(byte) => self.end_scalar(false),
                    _ => self.lose(),
                }
            }
            At::Escape => self.escape(byte),
            At::Hex(digits) => self.hex(digits, byte),
            At::Loose => self.loose(byte),
            At::LooseScalar if is_token(byte) => Step::Taken,
            At::LooseScalar | At::Done => {
                self.at = At::Done;
                Step::Ended
            }
            At::Fault(_) => Step::Ended,
            // The caller takes text of strings in one go.
            At::Text => Step::Again,
        }
    }

    fn go(&mut self, at: At) -> Step {
        self.at = at;
        Step::Taken
    }

    /// The first byte of a value.
    // Inlined, as `after` is: otherwise short values take 17 % more instructions.
    #[inline(always)]
    fn value(&mut self, byte: u8, bytes: &[u8], taken: usize) -> Step {
        let (kind, at) = match byte {
            b'{' => (JsonKind::Object, At::KeyOrClose),
            b'[' => (JsonKind::Array, At::ValueOrClose),
            b'"' => (JsonKind::String, At::Text),
            _ => match scalar(byte) {
                Some(scalar) => scalar,
                None if self.at != At::Before => return self.odd(bytes, taken),
                None => {
                    self.malformed = true;
                    if !is_token(byte) {
                        self.at = At::Done;
                        return Step::Ended;
                    }
                    (JsonKind::Other, At::LooseScalar)
                }
            },
        };
        self.kind.get_or_insert(kind);
        match kind {
            JsonKind::Object | JsonKind::Array if self.nesting.len() >= MAX_DEPTH => return self.lose(),
            JsonKind::Object => self.nesting.push(OBJECT),
            JsonKind::Array => self.nesting.push(ARRAY),
            JsonKind::String => self.in_key = false,
            _ => {}
        }
        self.go(at)
    }

    #[inline(always)]
    fn after(&mut self, byte: u8) -> Step {
        match (byte, self.nesting.last()) {
            (b',', Some(OBJECT)) => self.go(At::Key),
            (b',', Some(_)) => self.go(At::Value),
            (b'}', Some(OBJECT)) => self.close(),
            (b']', Some(ARRAY)) => self.close(),
            _ => self.lose(),
        }
    }

    fn close(&mut self) -> Step {
        self.nesting.pop();
        if self.nesting.len() == 0 {
            self.at = At::Done;
            return Step::Last;
        }
        self.go(At::After)
    }

    /// A number or literal ended before the current byte.
    fn end_scalar(&mut self, whole: bool) -> Step {
        if !whole {
            self.offend();
        }
        if self.depth() == 0 {
            self.at = At::Done;
            return Step::Ended;
        }
        self.at = if whole { At::After } else { At::Loose };
        Step::Again
    }

    fn end_string(&mut self) {
        self.at = match (self.malformed, self.in_key) {
            _ if self.depth() == 0 => At::Done,
            (true, _) => At::Loose,
            (false, true) => At::Colon,
            (false, false) => At::After,
        };
    }

    fn escape(&mut self, byte: u8) -> Step {
        if self.high && byte != b'u' {
            self.high = false;
            self.offend();
        }
        match byte {
            b'u' => return self.go(At::Hex(HexDigits::of(4))),
            _ if is_escape(byte) => {}
            _ if self.stops_at_faults && !self.malformed => {
                self.at = At::Fault(Fault::Escape);
                return Step::Ended;
            }
            _ => self.offend(),
        }
        self.go(At::Text)
    }

    fn hex(&mut self, digits: HexDigits, byte: u8) -> Step {
        let Some(digits) = digits.next(byte) else {
            self.high = false;
            self.offend();
            self.at = At::Text;
            return Step::Again;
        };
        let Some(unit) = digits.value() else { return self.go(At::Hex(digits)) };
        let low = matches!(unit, 0xdc00..=0xdfff);
        if low != self.high {
            self.offend();
        }
        self.high = matches!(unit, 0xd800..=0xdbff);
        self.go(At::Text)
    }

    /// A byte between the strings of a malformed container.
    fn loose(&mut self, byte: u8) -> Step {
        match byte {
            b'"' => self.at = At::Text,
            b'{' | b'[' => self.loose_depth += 1,
            b'}' | b']' => {
                self.loose_depth -= 1;
                if self.loose_depth == 0 {
                    self.at = At::Done;
                    return Step::Last;
                }
            }
            _ => {}
        }
        Step::Taken
    }

    /// Notes an error. The state stays as it is.
    fn offend(&mut self) {
        if !self.malformed {
            self.loose_depth = self.nesting.len();
            self.malformed = true;
        }
    }

    /// Notes an error outside a string. From the current byte on, only brackets and strings are recognised.
    fn lose(&mut self) -> Step {
        self.offend();
        self.at = if self.loose_depth == 0 { At::LooseScalar } else { At::Loose };
        Step::Again
    }
}

#[cfg(test)]
mod tests;
