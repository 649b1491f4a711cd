//! Values with quote tokens: a special token is on both sides of each string, keys are bare, and nothing is escaped.
//! Translates one value to JSON while it arrives.
//!
//! Whatever the bytes are, the JSON is well-formed once the value is complete. What breaks the rules is flagged and
//! corrected in the simplest way.

mod asks;
mod unquoted;

use memchr::{memchr, memchr3};

use crate::readers::json::{Progress, Unescaper, escape_bytes_into};
use crate::readers::number::NumberPrefix;
use crate::readers::structure::{Act, Container, Expect, Sign, StringEnd, Structure};
use crate::readers::words::Word;
use crate::utf8::Utf8Carry;
use asks::Asks;
pub(crate) use asks::OpenString;

/// The longest number, in bytes. Longer text is a word. A number waits for its end, so its length must be bounded.
const MAX_NUMBER: usize = 4300;

/// The longest white space within a bare key, in bytes. The rest of it is dropped.
const MAX_KEY_SPACE: usize = 64;

/// Translates one value with quote tokens into JSON.
///
/// * A string is everything between two quote tokens, whatever it is.
/// * An object is `{key:value,key:value}`. A bare key is all up to the colon (or to a closing brace, which it must not
///   hold), without the white space around it; a key may also be a string.
/// * An array is `[value,value]`.
/// * Numbers are JSON's; `true`, `false` and `null` are read as JSON and as Python spells them.
/// * JSON's own strings are strings too.
/// * What models write and templates do not is malformed: any other text, which is a string up to the next key or the closing
///   bracket; strings in single quotes; `=` before a quote token for a colon.
///
/// White space and a comma too many before a closing bracket do not matter. Separators are written as `", "` and
/// `": "`. Bytes that are not UTF-8 become U+FFFD, and are malformed; every call writes whole characters. Strings and
/// keys are written as they come, but for what may be the beginning of the token that ends them; only a number or
/// literal waits for its end.
///
/// The quote token is the same in all calls. It begins with none of `{},:` and no white space. Where it begins with a square
/// bracket, the bytes after that tell the token from a list; where it begins with what numbers and words have, that ends
/// them. The empty one never occurs. If it begins as JSON's strings do, there are none of those.
#[derive(Debug, Clone, Default)]
pub(crate) struct Translator {
    at: At,
    structure: Structure,
    /// This many bytes of a quote token were read and are held back.
    matched: usize,
    scalar: Scalar,
    /// The end of a string without quote tokens, held back because it may not belong to it: white space; in a word also a
    /// comma and what may be the next key; the closing single quote. It is text of the string if the string continues.
    tail: Vec<u8>,
    /// Round brackets that are open in the word.
    brackets: usize,
    /// The last value was in single quotes.
    single: bool,
    /// Reads JSON's strings.
    unescaper: Unescaper,
    /// What `unescaper` wrote for the last bytes.
    unescaped: Vec<u8>,
    carry: Utf8Carry,
    /// The current bytes are known to be UTF-8.
    valid: bool,
    asks: Asks,
}

/// A number or word, which waits for its end.
#[derive(Debug, Clone, Default)]
struct Scalar {
    text: Vec<u8>,
    /// The text is this prefix of a number; `None` if no number begins with it.
    number: Option<NumberPrefix>,
}

impl Scalar {
    fn begin(&mut self) {
        self.text.clear();
        self.number = Some(NumberPrefix::Start);
    }

    /// Adds bytes. Returns whether a number or word may still begin with the text.
    fn push(&mut self, bytes: &[u8]) -> bool {
        self.number = self.number.and_then(|number| bytes.iter().copied().try_fold(number, NumberPrefix::next));
        self.text.extend_from_slice(bytes);
        (self.number.is_some() && self.text.len() <= MAX_NUMBER) || Word::begun(&self.text).is_some()
    }

    /// Its JSON, if it is complete.
    fn json(&self) -> Option<&[u8]> {
        match self.number {
            Some(number) => number.is_whole().then_some(&self.text),
            None => Word::of(&self.text).map(|word| word.json().as_bytes()),
        }
    }
}

/// What the next byte belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Between(Expect),
    BareKey,
    /// After an equals sign in a bare key.
    Equals,
    /// What may be a number or word.
    Scalar,
    /// Text that is neither.
    Word,
    /// After white space or a comma in such text: perhaps in the next key.
    Gap,
    Single,
    /// After what may be the closing single quote.
    SingleEnd,
    Text,
    Json,
    Done,
}

impl Default for At {
    fn default() -> Self {
        Self::Between(Expect::default())
    }
}

impl From<Option<Expect>> for At {
    fn from(next: Option<Expect>) -> Self {
        next.map_or(Self::Done, Self::Between)
    }
}

/// What is read between values: a quote token or a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Quote,
    Byte(u8),
}

impl Translator {
    /// Whether a value may start with these bytes; `None` if more are needed. It does not start with the beginning of a quote token
    /// that continues in another way, such as that of a marker, unless this is a list's bracket.
    pub(crate) fn starts(quote: &[u8], rest: &[u8]) -> Option<bool> {
        let same = quote.iter().zip(rest).take_while(|(wanted, byte)| wanted == byte).count();
        match quote.first() {
            None | Some(b'[') => Some(true),
            Some(_) if same == 0 || same == quote.len() => Some(true),
            Some(_) if same == rest.len() => None,
            Some(_) => Some(false),
        }
    }

    /// Takes the next bytes and appends their JSON. `More`: all were taken. `Done(n)`: the value is complete, and `n`
    /// of the bytes belong to it. A number and a word end before the first byte that is not part of them. If no value
    /// begins at all, it is `Done` before the first wrong byte, malformed, and nothing is written.
    pub(crate) fn feed(&mut self, quote: &[u8], bytes: &[u8], out: &mut Vec<u8>) -> Progress {
        self.matched = self.matched.min(quote.len().saturating_sub(1));
        let mut taken = 0;
        while self.at != At::Done {
            let rest = &bytes[taken..];
            let Some(&byte) = rest.first() else { return Progress::More };
            taken += self.step(quote, byte, rest, out);
            if std::mem::take(&mut self.asks.now) {
                return Progress::Stop(taken);
            }
        }
        Progress::Done(taken)
    }

    /// The same for whole characters.
    pub(crate) fn feed_text(&mut self, quote: &[u8], text: &str, out: &mut Vec<u8>) -> Progress {
        self.valid = true;
        let progress = self.feed(quote, text.as_bytes(), out);
        self.valid = false;
        progress
    }

    /// The input ends here: writes what was held back. Returns whether the value is complete. If it is not, the output
    /// is the beginning of its JSON.
    pub(crate) fn finish(&mut self, quote: &[u8], out: &mut Vec<u8>) -> bool {
        let outermost = self.structure.is_outermost();
        let held = &quote[..self.matched.min(quote.len())];
        self.matched = 0;
        match self.at {
            At::Scalar if outermost && self.scalar.json().is_some() => self.end_scalar(out),
            At::Scalar => {
                let text = &self.scalar.text;
                out.extend_from_slice(Word::begun_json(text).unwrap_or(text));
                self.scalar.begin();
            }
            At::Word | At::Gap if outermost => {
                if self.tail_has_text() {
                    self.write_tail(out);
                }
                self.tail.clear();
                self.end_string(out);
            }
            At::Gap | At::SingleEnd => {
                self.write_tail(out);
                self.end_text(out);
            }
            At::Equals => {
                self.key_text(b"=", out);
                self.end_text(out);
            }
            At::Text => {
                self.text(held, out);
                self.end_text(out);
            }
            At::Word | At::Json | At::BareKey | At::Single => self.end_text(out),
            _ => {}
        }
        self.at == At::Done
    }

    /// Whether the value broke a rule until here.
    pub(crate) fn malformed(&self) -> bool {
        self.structure.malformed
    }

    /// Makes the translator new. Its buffers are kept.
    pub(crate) fn reset(&mut self) {
        let mut old = std::mem::take(self);
        old.structure.reset();
        old.tail.clear();
        old.unescaped.clear();
        self.structure = old.structure;
        self.scalar = old.scalar;
        self.tail = old.tail;
        self.unescaped = old.unescaped;
    }

    /// Between quote tokens: the beginning of the closing token. `None` elsewhere.
    #[inline]
    pub(crate) fn string_end(&self, quote: &[u8]) -> Option<StringEnd> {
        if self.at != At::Text || self.matched > 0 || !self.carry.is_empty() {
            return None;
        }
        let other = self.asks.at_end.filter(|_| self.structure.is_outermost());
        quote.first().map(|&first| StringEnd::Token(first, quote.get(1).copied(), other))
    }

    /// Takes bytes at the start of `rest`, whose first byte is `byte`. Returns how many; 0 if the state has changed and
    /// looks at the byte again.
    fn step(&mut self, quote: &[u8], byte: u8, rest: &[u8], out: &mut Vec<u8>) -> usize {
        match self.at {
            _ if self.matched > 0 => self.quote(quote, rest, out),
            At::Text => {
                let plain = self.plain_text(quote, rest);
                self.text(&rest[..plain], out);
                if plain < rest.len() && !self.asks.now {
                    plain + self.quote(quote, &rest[plain..], out)
                } else {
                    plain
                }
            }
            At::Json => self.json(rest, out),
            At::BareKey => self.bare_key(rest, out),
            At::Scalar => {
                let count = rest.iter().take_while(|&&byte| is_scalar(quote, byte)).count();
                if count == 0 {
                    self.end_scalar(out);
                } else if !self.scalar.push(&rest[..count]) {
                    self.begin_word(out);
                }
                count
            }
            At::Word => self.word(quote, rest, out),
            At::Gap => self.gap(quote, byte, out),
            At::Single => {
                let plain = memchr(b'\'', rest).unwrap_or(rest.len());
                self.text(&rest[..plain], out);
                if plain < rest.len() {
                    self.tail.push(b'\'');
                    self.at = At::SingleEnd;
                }
                (plain + 1).min(rest.len())
            }
            At::SingleEnd => self.single_end(quote, byte, out),
            At::Equals => {
                self.at = At::BareKey;
                if quote.first() == Some(&byte) {
                    self.structure.malformed = true;
                    self.tail.clear();
                    self.end_string(out);
                    self.between(Expect::Colon, Unit::Byte(b':'), out);
                } else {
                    self.key_text(b"=", out);
                }
                0
            }
            At::Done => 0,
            // After a value no string begins: a bracket there closes, even if the token begins like it.
            At::Between(expect) if quote.first() == Some(&byte) && (expect != Expect::Comma || byte != b']') => {
                self.quote(quote, rest, out)
            }
            At::Between(_) if byte.is_ascii_whitespace() => 1,
            At::Between(expect) => self.between(expect, Unit::Byte(byte), out),
        }
    }

    fn go(&mut self, at: At) -> usize {
        self.at = at;
        1
    }

    fn again(&mut self, at: At) -> usize {
        self.at = at;
        0
    }

    /// Bytes of a quote token, or the byte after the beginning of one.
    fn quote(&mut self, quote: &[u8], rest: &[u8], out: &mut Vec<u8>) -> usize {
        let fitting = quote[self.matched..].iter().zip(rest).take_while(|(wanted, byte)| wanted == byte).count();
        if fitting > 0 {
            self.matched += fitting;
            if self.matched == quote.len() {
                self.matched = 0;
                self.end_quote(out);
            }
            return fitting;
        }
        // It is not the token. The token may still begin at a later byte of those that are held back.
        let held = &quote[..self.matched];
        let lost = (1..held.len()).find(|&start| held.starts_with(&held[start..])).unwrap_or(held.len());
        self.matched -= lost;
        match self.at {
            At::Text => self.text(&held[..lost], out),
            At::Between(Expect::Key) => {
                self.matched = 0;
                self.begin_bare_key(out);
                self.key_text(held, out);
            }
            // The token begins with a bracket, and what was read is one.
            _ if matches!(held[0], b'[' | b']') => {
                self.matched = 0;
                self.unit(Unit::Byte(held[0]), out);
                self.again_from(quote, &held[1..], out);
            }
            // No value begins here. Who needs the bytes that were held back asks `starts` first.
            At::Between(Expect::Literal) => {
                self.matched = 0;
                self.structure.malformed = true;
                self.at = At::Done;
            }
            At::Between(expect) => {
                self.matched = 0;
                self.stray(expect, &held[..lost], out);
                self.again_from(quote, &held[lost..], out);
            }
            // Nowhere else does a token begin.
            _ => {}
        }
        0
    }

    fn end_quote(&mut self, out: &mut Vec<u8>) {
        match self.at {
            At::Text => self.end_string(out),
            _ => self.unit(Unit::Quote, out),
        }
    }

    fn unit(&mut self, unit: Unit, out: &mut Vec<u8>) {
        while let At::Between(expect) = self.at
            && self.between(expect, unit, out) == 0
        {}
    }

    /// Reads bytes that were held back as the beginning of a quote token, and are not one.
    fn again_from(&mut self, quote: &[u8], mut held: &[u8], out: &mut Vec<u8>) {
        while let Some(&byte) = held.first().filter(|_| self.at != At::Done) {
            held = &held[self.step(quote, byte, held, out)..];
        }
        // The value has ended, so what follows it cannot be given back.
        self.structure.malformed |= !held.is_empty();
    }

    /// A unit between values. Returns whether it was taken, as the number of its bytes.
    fn between(&mut self, expect: Expect, unit: Unit, out: &mut Vec<u8>) -> usize {
        let mut sign = match unit {
            Unit::Quote | Unit::Byte(b'{' | b'[' | b'"') => Sign::Begins,
            Unit::Byte(b'}' | b']') => Sign::Closes,
            Unit::Byte(b',') => Sign::Comma,
            Unit::Byte(b':') => Sign::Colon,
            Unit::Byte(b'=') if expect == Expect::Colon => {
                self.structure.malformed = true;
                Sign::Colon
            }
            Unit::Byte(byte) if is_word(byte) => Sign::Begins,
            Unit::Byte(_) => Sign::Other,
        };
        // A key may begin with anything.
        if expect == Expect::Key && !matches!(sign, Sign::Closes | Sign::Comma) {
            sign = Sign::Begins;
        }
        // A quote token that closes what a single quote has closed.
        if std::mem::take(&mut self.single) && expect == Expect::Comma && unit == Unit::Quote {
            return 1;
        }
        match self.structure.act(expect, sign, out) {
            Act::Value => self.value(unit, out),
            Act::Key => self.key(unit, out),
            Act::Close => {
                let Unit::Byte(bracket) = unit else { return 1 };
                self.at = self.structure.close(bracket, out).into();
                1
            }
            Act::Take(expect) => self.go(At::Between(expect)),
            Act::Again(expect) => self.again(At::Between(expect)),
            Act::End => self.again(At::Done),
            Act::Drop => {
                // The beginning of a tag, where it is not that of a quote token.
                if unit == Unit::Byte(b'<') {
                    self.stray(expect, b"<", out);
                }
                1
            }
        }
    }

    fn key(&mut self, unit: Unit, out: &mut Vec<u8>) -> usize {
        if matches!(unit, Unit::Quote | Unit::Byte(b'"')) {
            self.structure.separate(out);
            self.structure.in_key = true;
            return self.string(unit, out);
        }
        self.structure.malformed |= matches!(unit, Unit::Byte(b'{' | b'['));
        self.begin_bare_key(out);
        0
    }

    fn value(&mut self, unit: Unit, out: &mut Vec<u8>) -> usize {
        self.structure.in_key = false;
        let container = match unit {
            Unit::Quote | Unit::Byte(b'"') => return self.string(unit, out),
            Unit::Byte(b'{') => Container::Object,
            Unit::Byte(b'[') => Container::Array,
            Unit::Byte(b'\'') => {
                self.structure.malformed = true;
                self.tail.clear();
                out.push(b'"');
                return self.go(At::Single);
            }
            Unit::Byte(_) => {
                self.scalar.begin();
                return self.again(At::Scalar);
            }
        };
        let expect = self.structure.open(container, out);
        self.go(At::Between(expect))
    }

    fn end_scalar(&mut self, out: &mut Vec<u8>) {
        if let Some(json) = self.scalar.json() {
            out.extend_from_slice(json);
            self.at = self.structure.end_value().into();
        } else {
            self.begin_word(out);
            self.end_string(out);
        }
    }

    /// The text of the scalar is neither a number nor a word, so it is the beginning of a string.
    fn begin_word(&mut self, out: &mut Vec<u8>) {
        self.structure.malformed = true;
        self.at = At::Word;
        self.brackets = 0;
        self.tail.clear();
        out.push(b'"');
        let text = std::mem::take(&mut self.scalar.text);
        self.text(&text, out);
        self.scalar.text = text;
    }

    fn begin_bare_key(&mut self, out: &mut Vec<u8>) {
        self.structure.separate(out);
        self.structure.in_key = true;
        self.tail.clear();
        self.at = At::BareKey;
        out.push(b'"');
    }

    /// Takes text of a bare key, up to the byte that ends it. Most keys are names, which are copied.
    fn bare_key(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> usize {
        let name = bytes.iter().take_while(|&&byte| is_name(byte)).count();
        if name > 0 && self.carry.is_empty() {
            self.write_tail(out);
            out.extend_from_slice(&bytes[..name]);
            return name;
        }
        let end = memchr3(b':', b'}', b'=', bytes);
        let stretch = &bytes[..end.unwrap_or(bytes.len())];
        self.key_text(stretch, out);
        if end.is_some_and(|end| bytes[end] == b'=') {
            self.at = At::Equals;
            return stretch.len() + 1;
        }
        if end.is_some() {
            self.tail.clear();
            self.end_string(out);
        }
        stretch.len()
    }

    /// Writes text of a bare key. White space that may be its end is held back.
    fn key_text(&mut self, mut text: &[u8], out: &mut Vec<u8>) {
        while !text.is_empty() {
            let solid = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
            if solid > 0 {
                self.write_tail(out);
                self.text(&text[..solid], out);
            }
            text = &text[solid..];
            let space = text.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let room = MAX_KEY_SPACE - self.tail.len();
            self.structure.malformed |= space > room;
            self.tail.extend_from_slice(&text[..space.min(room)]);
            text = &text[space..];
        }
    }

    fn string(&mut self, unit: Unit, out: &mut Vec<u8>) -> usize {
        out.push(b'"');
        if unit == Unit::Quote {
            return self.go(At::Text);
        }
        self.unescaper = Unescaper::new();
        self.again(At::Json)
    }

    /// Takes text of a JSON string, quotes included.
    fn json(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> usize {
        let mut text = std::mem::take(&mut self.unescaped);
        text.clear();
        let progress = self.unescaper.feed(bytes, &mut text);
        self.structure.malformed |= self.unescaper.malformed();
        self.text(&text, out);
        self.unescaped = text;
        let Progress::Done(taken) = progress else { return bytes.len() };
        self.end_string(out);
        taken
    }

    fn end_string(&mut self, out: &mut Vec<u8>) {
        self.end_text(out);
        out.push(b'"');
        self.at = self.structure.end_value().into();
    }

    /// The string continues after what was held back as its end.
    fn write_tail(&mut self, out: &mut Vec<u8>) {
        if self.tail.is_empty() {
            return;
        }
        let mut tail = std::mem::take(&mut self.tail);
        self.text(&tail, out);
        tail.clear();
        self.tail = tail;
    }

    fn text(&mut self, text: &[u8], out: &mut Vec<u8>) {
        if self.valid && self.carry.is_empty() {
            return escape_bytes_into(text, out);
        }
        self.structure.malformed |= self.carry.feed(text, &mut |text| escape_bytes_into(text.as_bytes(), out));
    }

    fn end_text(&mut self, out: &mut Vec<u8>) {
        self.structure.malformed |= self.carry.finish(&mut |text| escape_bytes_into(text.as_bytes(), out));
    }
}

fn is_word(byte: u8) -> bool {
    !matches!(byte, 0..=b' ' | b',' | b'{' | b'}' | b'[' | b']' | b'(' | b')' | b'<' | 0x7f)
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

fn is_scalar(quote: &[u8], byte: u8) -> bool {
    is_word(byte) && quote.first() != Some(&byte)
}

#[cfg(test)]
mod tests;
