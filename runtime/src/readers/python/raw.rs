//! Text without quotes as an argument of a call expression. Models write it in place of a string; no template does.

use super::quote::{behind_blanks, is_name};
use super::{At, Translator};
use crate::readers::json::escape_bytes_into;

/// What a byte of text without quotes is.
enum Byte {
    Text,
    Last,
    /// It takes more text to tell.
    Unknown,
}

impl Translator {
    /// Whether a value that begins with these bytes, or continues with them after a word or a number, is text without quotes.
    /// `None`: it takes more text to tell.
    pub(super) fn is_raw(&self, rest: &[u8], last: bool) -> Option<bool> {
        if self.tight || !self.structure.is_outermost() {
            return Some(false);
        }
        let next = behind_blanks(rest)?;
        // What may follow a value, and what a string with a prefix has.
        match next[0] {
            b',' | b')' | b']' | b'}' | b'<' | b'"' | b'\'' => Some(false),
            _ => is_name(next).map(|is_name| !is_name).or(last.then_some(true)),
        }
    }

    /// The value is text without quotes. What was read of it as a word is its beginning.
    #[inline(never)]
    pub(super) fn begin_raw(&mut self, out: &mut Vec<u8>) {
        self.structure.malformed = true;
        self.brackets = 0;
        out.push(b'"');
        escape_bytes_into(&self.token, out);
        self.token.clear();
        self.at = At::Raw;
    }

    /// Takes text without quotes, up to the next argument or the bracket that closes the call. Returns how many bytes were
    /// taken, and whether more text is needed to tell what follows.
    pub(super) fn raw(&mut self, bytes: &[u8], last: bool, out: &mut Vec<u8>) -> (usize, bool) {
        let mut end = 0;
        let mut waits = false;
        while let Some(&byte) = bytes.get(end) {
            match self.raw_byte(byte, &bytes[end + 1..]) {
                Byte::Text => end += 1,
                Byte::Unknown if last => end += 1,
                Byte::Unknown => {
                    waits = true;
                    break;
                }
                Byte::Last => {
                    escape_bytes_into(&bytes[..end], out);
                    self.end_string(out);
                    return (end, false);
                }
            }
        }
        escape_bytes_into(&bytes[..end], out);
        (end, waits)
    }

    fn raw_byte(&mut self, byte: u8, rest: &[u8]) -> Byte {
        match byte {
            b'(' | b'[' | b'{' => self.brackets = self.brackets.saturating_add(1),
            b')' | b']' | b'}' if self.brackets == 0 => return Byte::Last,
            b')' | b']' | b'}' => self.brackets -= 1,
            b',' if self.brackets == 0 => {
                return match behind_blanks(rest).map(is_name) {
                    Some(Some(true)) => Byte::Last,
                    Some(Some(false)) => Byte::Text,
                    _ => Byte::Unknown,
                };
            }
            b'<' => {
                return match rest.first() {
                    None => Byte::Unknown,
                    Some(b'|' | b'/' | 0xef) => Byte::Last,
                    Some(_) => Byte::Text,
                };
            }
            _ => {}
        }
        Byte::Text
    }
}
