//! JSON that is nearly JSON: what is surely meant is written as JSON has it.
//!
//! Single quotes open strings only where a key or a value may begin, and double quotes keep their text, but for control
//! characters and unknown escapes. Whatever is less sure stays as it is and makes the value malformed: a missing comma, a comma
//! too many elsewhere, `NaN`, other words.

use super::{ARRAY, At, Fault, OBJECT, Progress, Scanner, Step, escape_byte_into, is_space, is_token, next_special_or};
use crate::readers::words::Word;

/// The most blanks between a comma and the closing bracket before which it is dropped.
pub(crate) const MOST_BLANKS: usize = 64;

/// The longest key without quotes, in bytes.
const LONGEST_KEY: usize = 64;

/// What may be said of text that is not JSON.
enum Odd {
    Fault(Fault),
    /// It takes more text to tell.
    Unknown,
    Wrong,
}

impl Scanner {
    /// Whether the next text has to be [mended](Self::mend).
    #[inline]
    pub(crate) fn is_at_fault(&self) -> bool {
        matches!(self.at, At::Fault(_))
    }

    /// Writes what JSON has for the text at the start of these bytes. Returns how many bytes that takes: after a backslash that
    /// is one of the text, the byte is still to come.
    #[inline(never)]
    pub(crate) fn mend(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> usize {
        let At::Fault(fault) = self.at else { return 0 };
        let Some(&byte) = bytes.first() else { return 0 };
        self.at = At::Text;
        match fault {
            Fault::Text => escape_byte_into(byte, out),
            // The backslash is passed on already. Models escape this quote as other languages do.
            Fault::Escape if byte == b'\'' => out.extend_from_slice(b"u0027"),
            Fault::Escape => {
                out.push(b'\\');
                return 0;
            }
            Fault::Comma => self.at = At::After,
            Fault::Opener => {
                self.single = true;
                out.push(b'"');
            }
            Fault::Closer => {
                self.single = false;
                out.push(b'"');
                self.end_string();
            }
            Fault::Word(word) => {
                out.extend_from_slice(word.json().as_bytes());
                self.at = At::After;
                return word.python().len();
            }
            Fault::Key(length) => {
                let key = bytes.get(..usize::from(length)).unwrap_or_default();
                out.push(b'"');
                out.extend_from_slice(key);
                out.push(b'"');
                self.at = At::Colon;
                return key.len();
            }
        }
        1
    }

    /// The input ends after these bytes, which waited. Writes their JSON. Returns whether they were not JSON.
    pub(crate) fn cut(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> bool {
        let fault = match (self.at, Word::of(bytes)) {
            (At::Text, _) => Fault::Closer,
            (At::Value | At::ValueOrClose, Some(word)) => Fault::Word(word),
            _ => {
                out.extend_from_slice(bytes);
                return false;
            }
        };
        self.at = At::Fault(fault);
        self.mend(bytes, out) > 0
    }

    /// The reader does not go on at this place: the value ended, or what is there waits or is mended.
    pub(super) fn pause(&self, bytes: &[u8], at: usize) -> Progress {
        match self.at {
            At::Done => Progress::Done(at),
            At::Fault(Fault::Comma) => Progress::Stop(comma_before(bytes, at).unwrap_or(at)),
            At::Fault(_) => Progress::Stop(at),
            _ => Progress::Wait(at),
        }
    }

    /// A byte with which no key and no value begins, where one must.
    #[cold]
    #[inline(never)]
    pub(super) fn odd(&mut self, bytes: &[u8], at: usize) -> Step {
        if !self.stops_at_faults {
            return self.lose();
        }
        match self.fault(bytes, at) {
            Odd::Fault(fault) => {
                self.in_key = matches!(self.at, At::Key | At::KeyOrClose);
                self.at = At::Fault(fault);
                Step::Ended
            }
            Odd::Unknown => Step::Ended,
            Odd::Wrong => self.lose(),
        }
    }

    fn fault(&self, bytes: &[u8], at: usize) -> Odd {
        let is_key = matches!(self.at, At::Key | At::KeyOrClose);
        let rest = &bytes[at..];
        match rest[0] {
            b'\'' => Odd::Fault(Fault::Opener),
            b'}' | b']' => match self.drops_comma(bytes, at) {
                true => Odd::Fault(Fault::Comma),
                false => Odd::Wrong,
            },
            b'_' | b'a'..=b'z' | b'A'..=b'Z' if is_key => key(rest),
            _ => word(rest),
        }
    }

    /// Whether this is a closing bracket after a comma that is dropped.
    pub(super) fn drops_comma(&self, bytes: &[u8], at: usize) -> bool {
        let closes = match (self.at, self.nesting.last()) {
            (At::Key, _) => bytes[at] == b'}',
            (At::Value, Some(ARRAY)) => bytes[at] == b']',
            _ => false,
        };
        closes && self.stops_at_faults && comma_before(bytes, at).is_some()
    }

    /// The text ends where a key or a value must begin. If that is after a comma, the comma waits for what follows.
    #[inline(never)]
    pub(super) fn hold_comma(&mut self, bytes: &[u8]) -> Progress {
        let after_colon = self.at == At::Value && self.nesting.last() == Some(OBJECT);
        let Some(comma) = comma_before(bytes, bytes.len()).filter(|_| !after_colon) else { return Progress::More };
        self.at = At::After;
        Progress::Wait(comma)
    }

    /// Takes text of a string in single quotes, up to the next that may end it. With a letter after it, it is an apostrophe; if
    /// nothing follows yet, it waits.
    #[cold]
    #[inline(never)]
    pub(super) fn single_text(&mut self, bytes: &[u8]) -> usize {
        let mut taken = 0;
        loop {
            taken = next_special_or(bytes, taken, b'\'');
            match (bytes.get(taken), bytes.get(taken + 1)) {
                (None, _) | (Some(b'\''), None) => return taken,
                (Some(b'\\'), _) => {
                    self.at = At::Escape;
                    return taken + 1;
                }
                (Some(b'\''), Some(next)) => {
                    let is_letter = next.is_ascii_alphabetic() || !next.is_ascii();
                    self.at = At::Fault(if is_letter { Fault::Text } else { Fault::Closer });
                    return taken;
                }
                // No key has such a byte. The string may have no end.
                _ if self.in_key => {
                    self.single = false;
                    self.lose();
                    return taken;
                }
                _ if self.malformed => taken += 1,
                _ => {
                    self.at = At::Fault(Fault::Text);
                    return taken;
                }
            }
        }
    }
}

/// The offset of a comma that is before this place, with nothing but blanks between them.
fn comma_before(bytes: &[u8], at: usize) -> Option<usize> {
    let before = bytes.get(..at)?.iter().rev();
    let blanks = before.take(MOST_BLANKS).take_while(|&&byte| is_space(byte)).count();
    let comma = at.checked_sub(blanks + 1)?;
    (bytes[comma] == b',').then_some(comma)
}

/// What a word is where a value must begin.
fn word(rest: &[u8]) -> Odd {
    let length = rest.iter().take_while(|&&byte| is_token(byte)).take("False".len() + 1).count();
    match Word::begun(&rest[..length]) {
        Some((word, 0)) if length > 0 && length < rest.len() => Odd::Fault(Fault::Word(word)),
        Some(_) if length > 0 && length == rest.len() => Odd::Unknown,
        _ => Odd::Wrong,
    }
}

/// What a word is where a key must begin.
fn key(rest: &[u8]) -> Odd {
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let length = rest.iter().take(LONGEST_KEY + 1).take_while(is_name).count();
    match (u8::try_from(length), rest.get(length)) {
        _ if length > LONGEST_KEY => Odd::Wrong,
        (_, None) => Odd::Unknown,
        // Python and JavaScript do not agree on keys such as `None`.
        (Ok(count), Some(b':')) if Word::of(&rest[..length]).is_none() => Odd::Fault(Fault::Key(count)),
        _ => Odd::Wrong,
    }
}
