//! Python literals: translates one literal to JSON while it arrives. Templates write such literals with `str()` or
//! `repr()` of a dict or a list, and models write them likewise.
//!
//! Whatever the bytes are, the JSON is well-formed once the literal is complete; only bytes that are not UTF-8 are
//! passed on unchanged. What breaks Python's rules is flagged and corrected in the simplest way.

mod number;

pub(crate) use number::{begun_word, word};

use memchr::memchr2;

use crate::byte_set::ByteSet;
use crate::fast_paths;
use crate::readers::json::{
    MAX_DEPTH, Nesting, Progress, Surrogates, escape_byte_into, escape_bytes_into, is_token, next_special_or, push_char,
};

const DICT: u8 = 0;
const LIST: u8 = 1;
const TUPLE: u8 = 2;

/// Translates one Python literal into JSON.
///
/// Dicts become objects, lists and tuples become arrays, and strings with either quote become JSON strings. `True`,
/// `False` and `None` become `true`, `false` and `null`. Numbers keep their spelling if JSON has it. Keys that are not
/// strings become strings, as in Python's `json.dumps`. Separators are written as `", "` and `": "`. JSON is read as
/// well. Strings are written while they arrive; only a number or word waits for its end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Translator {
    at: At,
    nesting: Nesting,
    /// The number, word or string prefix being read.
    token: Vec<u8>,
    string: StringForm,
    surrogates: Surrogates,
    malformed: bool,
    /// The scalar being read is a dict's key.
    in_key: bool,
    /// The innermost container has an item already.
    has_items: bool,
    /// A name may follow a number or word without a separator.
    tight: bool,
}

/// What the grammar expects next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum At {
    #[default]
    Before,
    /// An item of a list or its closing bracket.
    Item,
    /// A key or the closing brace.
    Key,
    Colon,
    Value,
    /// A comma or a closing bracket.
    After,
    Token,
    /// One quote was read. It may open a string, be the first of two quotes of an empty string, or the first of three.
    Quote,
    TwoQuotes,
    Text,
    /// This many of the three quotes that close the string were read.
    Closing(u8),
    Escape,
    /// After a backslash in a raw string.
    RawEscape,
    Hex {
        left: u8,
        value: u32,
    },
    Octal {
        left: u8,
        value: u32,
    },
    Done,
}

/// How the string being read was opened.
#[derive(Debug, Clone, Copy, Default)]
struct StringForm {
    quote: u8,
    triple: bool,
    raw: bool,
}

/// What a step did with its byte.
enum Step {
    Taken,
    /// The literal ended with this byte.
    Last,
    /// The literal ended before this byte.
    Ended,
    /// The byte was not taken. The state has changed, and looks at it again.
    Again,
}

impl Translator {
    /// A translator before its literal.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes and appends their JSON. `More`: all were taken. `Done(n)`: the literal is complete, and `n`
    /// of the bytes belong to it. A number, a word and an empty string end before the first byte that is not part of
    /// them. If no literal begins at all, it is `Done` before the first wrong byte, malformed, and nothing is written.
    pub(crate) fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Progress {
        let mut taken = 0;
        while let Some(&byte) = bytes.get(taken) {
            if self.at == At::Text {
                taken += self.text(&bytes[taken..], out);
                if self.at == At::Done {
                    return Progress::Done(taken);
                }
                continue;
            }
            if self.at == At::Token && is_token(byte) {
                if self.tight && self.nesting.len() == 0 {
                    if !number::goes_on(&self.token, byte) {
                        self.end_token(out);
                        return Progress::Done(taken);
                    }
                    taken += self.token_text(&bytes[taken..=taken]);
                    continue;
                }
                taken += self.token_text(&bytes[taken..]);
                continue;
            }
            match self.step(byte, out) {
                Step::Taken => taken += 1,
                Step::Last => return Progress::Done(taken + 1),
                Step::Ended => return Progress::Done(taken),
                Step::Again => {}
            }
        }
        if self.at == At::Done { Progress::Done(taken) } else { Progress::More }
    }

    /// The input ends here: writes what was held back. Returns whether the literal is complete. If it is not, the
    /// output is the beginning of its JSON.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) -> bool {
        let outermost = self.nesting.len() == 0;
        match self.at {
            At::Done => {}
            At::Token if outermost && !number::is_cut(&self.token) => self.end_token(out),
            At::Token if !self.in_key => {
                number::write_cut(&self.token, out);
                self.token.clear();
            }
            At::TwoQuotes => self.end_string(out),
            At::Closing(quotes) => (0..quotes).for_each(|_| escape_byte_into(self.string.quote, out)),
            _ => {}
        }
        self.at == At::Done
    }

    /// Makes the translator new. Its buffers are kept.
    pub(crate) fn reset(&mut self) {
        let mut nesting = std::mem::take(&mut self.nesting);
        let mut token = std::mem::take(&mut self.token);
        nesting.clear();
        token.clear();
        *self = Self { nesting, token, tight: self.tight, ..Self::default() };
    }

    /// From now on a name may follow a number or word without a separator: `1` ends before `b` in `a=1b=2`.
    pub(crate) fn read_tightly(&mut self) {
        self.tight = true;
    }

    /// Whether the literal broke a rule so far.
    pub(crate) fn malformed(&self) -> bool {
        self.malformed
    }

    /// Inside a string: the bytes that may end it, and those that JSON would escape in another way. `None` outside of
    /// strings.
    #[inline]
    pub(crate) fn string_ends(&self) -> Option<ByteSet> {
        (self.at == At::Text && !self.surrogates.waits()).then(|| ByteSet::of(b"\\\n\r").with(self.string.quote))
    }

    fn step(&mut self, byte: u8, out: &mut Vec<u8>) -> Step {
        match self.at {
            At::Token => self.token(byte, out),
            At::Quote if byte == self.string.quote => self.go(At::TwoQuotes),
            At::Quote => self.again(At::Text),
            At::TwoQuotes if byte == self.string.quote => {
                self.string.triple = true;
                self.go(At::Text)
            }
            At::TwoQuotes => {
                self.end_string(out);
                if self.at == At::Done { Step::Ended } else { Step::Again }
            }
            At::Closing(2) if byte == self.string.quote => {
                self.end_string(out);
                if self.at == At::Done { Step::Last } else { Step::Taken }
            }
            At::Closing(quotes) if byte == self.string.quote => self.go(At::Closing(quotes + 1)),
            At::Closing(quotes) => {
                (0..quotes).for_each(|_| escape_byte_into(self.string.quote, out));
                self.again(At::Text)
            }
            At::Escape => self.escape(byte, out),
            At::RawEscape => {
                escape_byte_into(byte, out);
                self.go(At::Text)
            }
            At::Hex { left, value } => self.hex(left, value, byte, out),
            At::Octal { left, value } => self.octal(left, value, byte, out),
            At::Done => Step::Ended,
            // The caller takes text of strings, and tokens, in one go.
            At::Text => Step::Again,
            _ if byte.is_ascii_whitespace() || byte == 0x0b => Step::Taken,
            _ => self.structure(byte, out),
        }
    }

    fn go(&mut self, at: At) -> Step {
        self.at = at;
        Step::Taken
    }

    fn again(&mut self, at: At) -> Step {
        self.at = at;
        Step::Again
    }

    /// A byte between values.
    fn structure(&mut self, byte: u8, out: &mut Vec<u8>) -> Step {
        let begins = matches!(byte, b'{' | b'[' | b'(' | b'"' | b'\'') || is_token(byte);
        let closes = matches!(byte, b'}' | b']' | b')');
        match self.at {
            At::Before if !begins => {
                self.malformed = true;
                self.at = At::Done;
                Step::Ended
            }
            At::Before | At::Value if begins => self.value(byte, out),
            At::Item if begins => {
                self.separate(out);
                self.value(byte, out)
            }
            At::Key if begins => self.key(byte, out),
            At::Colon if byte == b':' => {
                out.extend_from_slice(b": ");
                self.go(At::Value)
            }
            At::Item | At::Key | At::After if closes => self.close(byte, out),
            At::After if byte == b',' => self.go(self.next_item()),
            // From here on it is not valid Python.
            At::After if begins => {
                self.malformed = true;
                self.again(self.next_item())
            }
            At::Colon if begins || closes || byte == b',' => {
                self.malformed = true;
                out.extend_from_slice(b": ");
                self.again(At::Value)
            }
            At::Value if closes || byte == b',' => {
                self.malformed = true;
                out.extend_from_slice(b"null");
                self.again(At::After)
            }
            _ => {
                self.malformed = true;
                Step::Taken
            }
        }
    }

    fn next_item(&self) -> At {
        if self.nesting.last() == Some(DICT) { At::Key } else { At::Item }
    }

    fn separate(&mut self, out: &mut Vec<u8>) {
        if self.has_items {
            out.extend_from_slice(b", ");
        }
        self.has_items = true;
    }

    /// The first byte of a dict's key.
    fn key(&mut self, byte: u8, out: &mut Vec<u8>) -> Step {
        self.separate(out);
        if matches!(byte, b'{' | b'[' | b'(') {
            // JSON has no such keys.
            self.malformed = true;
            out.extend_from_slice(b"\"\": ");
            return self.again(At::Value);
        }
        let step = self.value(byte, out);
        self.in_key = true;
        step
    }

    /// The first byte of a value.
    fn value(&mut self, byte: u8, out: &mut Vec<u8>) -> Step {
        self.in_key = false;
        let (kind, open, at) = match byte {
            b'{' => (DICT, b'{', At::Key),
            b'[' => (LIST, b'[', At::Item),
            b'(' => (TUPLE, b'[', At::Item),
            b'"' | b'\'' => {
                self.string = StringForm { quote: byte, ..StringForm::default() };
                out.push(b'"');
                return self.go(At::Quote);
            }
            _ => {
                self.token.clear();
                self.token.push(byte);
                return self.go(At::Token);
            }
        };
        self.malformed |= self.nesting.len() >= MAX_DEPTH;
        self.nesting.push(kind);
        self.has_items = false;
        out.push(open);
        self.go(at)
    }

    fn close(&mut self, byte: u8, out: &mut Vec<u8>) -> Step {
        let kind = self.nesting.pop();
        self.malformed |= kind
            != Some(match byte {
                b'}' => DICT,
                b']' => LIST,
                _ => TUPLE,
            });
        out.push(if kind == Some(DICT) { b'}' } else { b']' });
        self.has_items = true;
        self.in_key = false;
        self.end_value();
        if self.at == At::Done { Step::Last } else { Step::Taken }
    }

    fn end_value(&mut self) {
        self.at = match self.nesting.len() {
            0 => At::Done,
            _ if self.in_key => At::Colon,
            _ => At::After,
        };
    }

    /// Takes bytes of a number or word.
    fn token_text(&mut self, bytes: &[u8]) -> usize {
        let count = bytes.iter().take_while(|&&byte| is_token(byte)).count();
        let from = self.token.len();
        self.token.extend_from_slice(&bytes[..count]);
        self.malformed |= number::is_lost(&self.token, from);
        count
    }

    /// The byte after a number or word.
    fn token(&mut self, byte: u8, out: &mut Vec<u8>) -> Step {
        if matches!(byte, b'"' | b'\'') && self.token.len() <= 2 {
            let is = |letter: u8| self.token.iter().any(|byte| byte.to_ascii_lowercase() == letter);
            if self.token.iter().all(|byte| b"rbufRBUF".contains(byte)) {
                self.string = StringForm { quote: byte, triple: false, raw: is(b'r') };
                // The value of a formatted string cannot be known.
                self.malformed |= is(b'f');
                out.push(b'"');
                return self.go(At::Quote);
            }
        }
        self.end_token(out);
        if self.at == At::Done { Step::Ended } else { Step::Again }
    }

    fn end_token(&mut self, out: &mut Vec<u8>) {
        if self.in_key {
            out.push(b'"');
        }
        let from = out.len();
        let fits = number::write(&self.token, out);
        self.malformed |= !fits;
        if self.in_key {
            if out.get(from) == Some(&b'"') {
                // A bare word was already written as a string.
                out.remove(from);
            } else {
                out.push(b'"');
            }
        }
        self.token.clear();
        self.end_value();
    }

    /// Takes text of a string, up to a quote or backslash, which it takes too.
    fn text(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> usize {
        if let Some(taken) = fast_paths::attempt(|| self.plain_text(bytes, out)) {
            return taken;
        }
        let quote = self.string.quote;
        let plain = memchr2(quote, b'\\', bytes).unwrap_or(bytes.len());
        if plain > 0 || bytes[0] == quote {
            self.settle(out);
        }
        let stretch = &bytes[..plain];
        self.malformed |= !self.string.triple && memchr2(b'\n', b'\r', stretch).is_some();
        escape_bytes_into(stretch, out);
        match bytes.get(plain) {
            None => return plain,
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
                Some(byte) if byte == quote => {
                    self.end_string(out);
                    return Some(at + 1);
                }
                Some(b'\\') => {
                    self.at = At::Escape;
                    return Some(at + 1);
                }
                Some(byte) => {
                    self.malformed |= matches!(byte, b'\n' | b'\r');
                    escape_byte_into(byte, out);
                }
            }
            at += 1;
            from = at;
        }
    }

    fn end_string(&mut self, out: &mut Vec<u8>) {
        self.settle(out);
        out.push(b'"');
        self.token.clear();
        self.end_value();
    }

    /// Half a surrogate pair that waits for the other half stays alone.
    fn settle(&mut self, out: &mut Vec<u8>) {
        if let Some(char) = self.surrogates.settle() {
            self.malformed = true;
            push_char(char, out);
        }
    }

    fn escape(&mut self, byte: u8, out: &mut Vec<u8>) -> Step {
        let at = match byte {
            b'x' => At::Hex { left: 2, value: 0 },
            b'u' => return self.go(At::Hex { left: 4, value: 0 }),
            b'U' => At::Hex { left: 8, value: 0 },
            b'0'..=b'7' => At::Octal { left: 2, value: u32::from(byte - b'0') },
            _ => At::Text,
        };
        self.settle(out);
        let plain = match byte {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 0x08,
            b'f' => 0x0c,
            b'a' => 0x07,
            b'v' => 0x0b,
            b'\\' | b'\'' | b'"' => byte,
            // An escape of JSON. Python would keep the backslash, but never writes this.
            b'/' if self.string.quote == b'"' => byte,
            // A backslash before a newline: the string goes on in the next line.
            b'\n' => return self.go(at),
            _ if at != At::Text => return self.go(at),
            _ => {
                // Python keeps the backslash of an unknown escape. `\N{name}` is known to Python, but not supported
                // here.
                self.malformed |= byte == b'N';
                escape_byte_into(b'\\', out);
                return self.again(at);
            }
        };
        escape_byte_into(plain, out);
        self.go(at)
    }

    fn hex(&mut self, left: u8, value: u32, byte: u8, out: &mut Vec<u8>) -> Step {
        let Some(digit) = char::from(byte).to_digit(16) else {
            self.settle(out);
            self.malformed = true;
            push_char(char::REPLACEMENT_CHARACTER, out);
            return self.again(At::Text);
        };
        // Eight digits fill the 32 bits.
        let value = value << 4 | digit;
        if left > 1 {
            return self.go(At::Hex { left: left - 1, value });
        }
        self.point(value, out);
        self.go(At::Text)
    }

    fn octal(&mut self, left: u8, value: u32, byte: u8, out: &mut Vec<u8>) -> Step {
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
            Err(_) => (self.surrogates.settle(), Some(char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER))),
        };
        let lone = matches!(value, 0xdc00..=0xdfff) && chars.1 == Some(char::REPLACEMENT_CHARACTER);
        self.malformed |= chars.0.is_some() || lone || value > 0x10_ffff;
        for char in chars.0.into_iter().chain(chars.1) {
            match u8::try_from(char) {
                Ok(byte) if byte.is_ascii() => escape_byte_into(byte, out),
                _ => push_char(char, out),
            }
        }
    }
}

#[cfg(test)]
mod tests;
