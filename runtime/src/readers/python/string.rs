//! The text of strings, and the escapes in it. What runs once for a string or an escape is not inlined: that saves a few KiB in each
//! application.

use memchr::memchr2;

use super::{ArgumentRules, At, Translator};
use crate::fast_paths;
use crate::readers::json::{HexDigits, Step, escape_byte_into, escape_bytes_into, escaped, next_special_or, push_char};

impl Translator {
    /// Whether this byte of a string is a quote of a call expression, which ends the string only if something follows that may
    /// follow it.
    pub(super) fn may_end(&self, byte: u8) -> Option<ArgumentRules> {
        let may_end = byte == self.string.quote && !self.string.triple && self.structure.is_outermost();
        self.argument.filter(|_| may_end)
    }

    /// A quote that ends no string, though it is not escaped.
    #[inline(never)]
    pub(super) fn keep_quote(&mut self, out: &mut Vec<u8>) {
        self.structure.malformed = true;
        self.string.broken = true;
        self.surrogates.settle(out);
        escape_byte_into(self.string.quote, out);
    }

    /// Takes text of a string, up to a quote or backslash, which it takes too.
    pub(super) fn text(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> usize {
        fast_paths::attempt(|| self.plain_text(bytes, out)).unwrap_or_else(|| self.any_text(bytes, out))
    }

    #[inline(never)]
    fn any_text(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> usize {
        let quote = self.string.quote;
        let plain = memchr2(quote, b'\\', bytes).unwrap_or(bytes.len());
        if plain > 0 || bytes[0] == quote {
            self.surrogates.settle(out);
        }
        let stretch = &bytes[..plain];
        self.structure.malformed |= !self.string.triple && memchr2(b'\n', b'\r', stretch).is_some();
        escape_bytes_into(stretch, out);
        match bytes.get(plain) {
            None => return plain,
            // Whether it ends the string is decided where the next text begins.
            Some(&byte) if plain > 0 && self.may_end(byte).is_some() => return plain,
            Some(b'\\') if self.string.raw => {
                escape_byte_into(b'\\', out);
                self.at = At::RawEscape;
            }
            Some(b'\\') => self.at = At::Escape,
            Some(_) if self.string.triple => self.at = At::Closing(1),
            Some(_) => self.end_string(out),
        }
        plain + 1
    }

    /// A fast path for strings that are not raw and not in triple quotes: text that JSON writes in the same way is copied in
    /// one piece.
    fn plain_text(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Option<usize> {
        if self.string.triple || self.string.raw || self.surrogates.waits() {
            return None;
        }
        let quote = self.string.quote;
        out.reserve(bytes.len() + bytes.len() / 8);
        let (mut from, mut at) = (0, 0);
        loop {
            at = next_special_or(bytes, at, quote);
            let byte = bytes.get(at).copied();
            if byte == Some(b'\\') && matches!(bytes.get(at + 1), Some(b'n' | b't' | b'r' | b'b' | b'f' | b'\\' | b'"'))
            {
                at += 2;
                continue;
            }
            if from < at {
                out.extend_from_slice(&bytes[from..at]);
            }
            match byte {
                None => return Some(at),
                // Whether it ends the string is decided where the next text begins.
                Some(byte) if at > 0 && self.may_end(byte).is_some() => return Some(at),
                Some(byte) if byte == quote => {
                    self.end_string(out);
                    return Some(at + 1);
                }
                Some(b'\\') => {
                    self.at = At::Escape;
                    return Some(at + 1);
                }
                Some(byte) => {
                    self.structure.malformed |= matches!(byte, b'\n' | b'\r');
                    escape_byte_into(byte, out);
                }
            }
            at += 1;
            from = at;
        }
    }

    #[inline(never)]
    pub(super) fn end_string(&mut self, out: &mut Vec<u8>) {
        self.surrogates.settle(out);
        out.push(b'"');
        self.token.clear();
        self.at = self.structure.end_value().into();
    }

    #[inline(never)]
    pub(super) fn escape(&mut self, byte: u8, out: &mut Vec<u8>) -> Step {
        let at = match byte {
            b'x' => At::Hex(HexDigits::of(2)),
            b'u' => return self.go(At::Hex(HexDigits::of(4))),
            b'U' => At::Hex(HexDigits::of(8)),
            b'0'..=b'7' => At::Octal { left: 2, value: u32::from(byte - b'0') },
            _ => At::Text,
        };
        self.surrogates.settle(out);
        let named = match byte {
            b'a' => 0x07,
            b'v' => 0x0b,
            b'\'' => byte,
            // A backslash before a newline: the string continues on the next line.
            b'\n' => return self.go(at),
            _ if at != At::Text => return self.go(at),
            // `\/` is an escape of JSON only. Python would keep the backslash, but never writes it.
            _ => match escaped(byte).filter(|_| byte != b'/' || self.string.quote == b'"') {
                Some(named) => named,
                None => {
                    // Python keeps the backslash of an unknown escape. `\N{name}` is known to Python, but not supported
                    // here.
                    self.structure.malformed |= byte == b'N';
                    escape_byte_into(b'\\', out);
                    return self.again(at);
                }
            },
        };
        escape_byte_into(named, out);
        self.go(at)
    }

    #[inline(never)]
    pub(super) fn hex(&mut self, digits: HexDigits, byte: u8, out: &mut Vec<u8>) -> Step {
        let Some(digits) = digits.next(byte) else {
            self.surrogates.settle(out);
            self.structure.malformed = true;
            push_char(char::REPLACEMENT_CHARACTER, out);
            return self.again(At::Text);
        };
        match digits.value() {
            None => self.go(At::Hex(digits)),
            Some(value) => {
                self.point(value, out);
                self.go(At::Text)
            }
        }
    }

    #[inline(never)]
    pub(super) fn octal(&mut self, left: u8, value: u32, byte: u8, out: &mut Vec<u8>) -> Step {
        let digit = match byte {
            b'0'..=b'7' if left > 0 => u32::from(byte - b'0'),
            _ => {
                self.point(value, out);
                return self.again(At::Text);
            }
        };
        self.go(At::Octal { left: left - 1, value: value << 3 | digit })
    }

    /// Writes the character of an escape.
    fn point(&mut self, value: u32, out: &mut Vec<u8>) {
        let chars = match u16::try_from(value) {
            Ok(unit) => self.surrogates.unit(unit),
            Err(_) => {
                self.surrogates.settle(out);
                (None, Some(char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER)))
            }
        };
        self.structure.malformed |= value > 0x10_ffff;
        for char in chars.0.into_iter().chain(chars.1) {
            match u8::try_from(char) {
                Ok(byte) if byte.is_ascii() => escape_byte_into(byte, out),
                _ => push_char(char, out),
            }
        }
    }
}
