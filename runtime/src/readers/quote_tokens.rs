//! Values with quote tokens: a special token stands on both sides of each string, keys are bare, and nothing is
//! escaped. Translates one value to JSON while it arrives.
//!
//! Whatever the bytes are, the JSON is well-formed once the value is complete. What breaks the rules is flagged and
//! corrected in the simplest way.

mod unquoted;

use memchr::{memchr, memchr3};

use crate::byte_set::ByteSet;
use crate::readers::json::{MAX_DEPTH, Nesting, Progress, Scanner, Unescaper, escape_bytes_into};
use crate::readers::number::NumberPrefix;
use crate::readers::words::Word;
use crate::utf8::Utf8Carry;

const OBJECT: u8 = 0;
const ARRAY: u8 = 1;

/// The longest number, in bytes. Longer text is a word. A number waits for its end, so its length must be bounded.
const MAX_NUMBER: usize = 4300;

/// The longest white space within a bare key, in bytes. The rest of it is dropped.
const MAX_KEY_SPACE: usize = 64;

/// Translates one value with quote tokens into JSON.
///
/// * A string is all that stands between two quote tokens, whatever it is.
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
    nesting: Nesting,
    /// This many bytes of a quote token were read and are held back.
    matched: usize,
    /// The number or literal that is being read. In a bare key: white space that may be its end. In a word: the white space or
    /// comma behind it, and what may be the next key. Between single quotes: the quote that may be the last one.
    token: Vec<u8>,
    /// Round brackets that are open in the word.
    brackets: usize,
    /// The last value stood between single quotes.
    single: bool,
    /// `token` is this prefix of a number; `None` if no number begins with it.
    number: Option<NumberPrefix>,
    /// Reads JSON's strings.
    scanner: Scanner,
    unescaper: Unescaper,
    /// What `unescaper` wrote for the last bytes.
    unescaped: Vec<u8>,
    carry: Utf8Carry,
    malformed: bool,
    /// The string being read is an object's key.
    in_key: bool,
    /// The innermost container has an item already.
    has_items: bool,
    /// The current bytes are known to be UTF-8.
    valid: bool,
}

/// What the grammar expects next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum At {
    #[default]
    Before,
    /// An item of an array or its closing bracket.
    Item,
    /// A key or the closing brace.
    Key,
    BareKey,
    Colon,
    Value,
    /// A comma or a closing bracket.
    After,
    /// What may be a number or literal.
    Token,
    /// Text that is neither.
    Word,
    /// Behind white space or a comma in such text: perhaps in the next key.
    Gap,
    /// Between single quotes.
    Single,
    /// Behind what may be the last single quote.
    SingleEnd,
    /// Behind an equals sign in a bare key.
    Equals,
    /// Between quote tokens.
    Text,
    /// In a JSON string.
    Json,
    Done,
}

/// A byte between values, or the first byte of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Quote,
    Byte(u8),
}

impl Translator {
    /// Whether a value may start with these bytes; `None` if more are needed. It does not start with the beginning of a quote token
    /// that goes on in another way, such as that of a marker, unless this is a list's bracket.
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
        let outermost = self.nesting.len() == 0;
        let whole = outermost && self.at == At::Token && self.literal().is_some();
        let held = &quote[..self.matched.min(quote.len())];
        self.matched = 0;
        match self.at {
            At::Token if whole => self.end_token(out),
            At::Token => {
                out.extend_from_slice(Word::begun_json(&self.token).unwrap_or(&self.token));
                self.token.clear();
            }
            At::Word | At::Gap if outermost => {
                if self.gap_has_text() {
                    self.held_text(out);
                }
                self.token.clear();
                self.end_string(out);
            }
            At::Gap | At::SingleEnd => {
                self.held_text(out);
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

    /// Whether the value broke a rule so far.
    pub(crate) fn malformed(&self) -> bool {
        self.malformed
    }

    /// Makes the translator new. Its buffers are kept.
    pub(crate) fn reset(&mut self) {
        let mut old = std::mem::take(self);
        old.nesting.clear();
        old.token.clear();
        old.scanner.reset();
        old.unescaped.clear();
        self.nesting = old.nesting;
        self.token = old.token;
        self.scanner = old.scanner;
        self.unescaped = old.unescaped;
    }

    /// Between quote tokens: the byte with which the closing token begins. `None` elsewhere.
    pub(crate) fn string_ends(&self, quote: &[u8]) -> Option<ByteSet> {
        let text = self.at == At::Text && self.matched == 0 && self.carry.is_empty();
        let first = quote.first()?;
        text.then(|| ByteSet::EMPTY.with(*first))
    }

    /// Takes bytes at the start of `rest`, whose first byte is `byte`. Returns how many; 0 if the state has changed and
    /// looks at the byte again.
    fn step(&mut self, quote: &[u8], byte: u8, rest: &[u8], out: &mut Vec<u8>) -> usize {
        match self.at {
            _ if self.matched > 0 => self.quote(quote, rest, out),
            At::Text => {
                let plain = quote.first().and_then(|&first| memchr(first, rest)).unwrap_or(rest.len());
                self.text(&rest[..plain], out);
                if plain < rest.len() { plain + self.quote(quote, &rest[plain..], out) } else { plain }
            }
            At::Json => self.json(rest, out),
            At::BareKey => self.bare_key(rest, out),
            At::Token => {
                let count = rest.iter().take_while(|&&byte| goes_on(quote, byte)).count();
                match count {
                    0 => self.end_token(out),
                    _ => self.token(&rest[..count], out),
                }
                count
            }
            At::Word => self.word(quote, rest, out),
            At::Gap => self.gap(quote, byte, out),
            At::Single => {
                let plain = memchr(b'\'', rest).unwrap_or(rest.len());
                self.text(&rest[..plain], out);
                if plain < rest.len() {
                    self.token.push(b'\'');
                    self.at = At::SingleEnd;
                }
                (plain + 1).min(rest.len())
            }
            At::SingleEnd => self.single_end(quote, byte, out),
            At::Equals => {
                self.at = At::BareKey;
                if quote.first() == Some(&byte) {
                    self.malformed = true;
                    self.token.clear();
                    self.end_string(out);
                    self.structure(Sign::Byte(b':'), out);
                } else {
                    self.key_text(b"=", out);
                }
                0
            }
            At::Done => 0,
            // Between values no string begins: a bracket there closes, even if the token begins like it.
            _ if quote.first() == Some(&byte) && (self.at != At::After || byte != b']') => self.quote(quote, rest, out),
            _ if byte.is_ascii_whitespace() => 1,
            _ => self.structure(Sign::Byte(byte), out),
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
                if self.at == At::Text {
                    self.end_string(out);
                } else {
                    while self.structure(Sign::Quote, out) == 0 {}
                }
            }
            return fitting;
        }
        // It is not the token. The token may still begin at a later byte of those that are held back.
        let held = &quote[..self.matched];
        let lost = (1..held.len()).find(|&start| held.starts_with(&held[start..])).unwrap_or(held.len());
        self.matched -= lost;
        match self.at {
            At::Text => self.text(&held[..lost], out),
            At::Key => {
                self.matched = 0;
                self.begin_bare_key(out);
                self.key_text(held, out);
            }
            // The token begins with a bracket, and what was read is one.
            _ if matches!(held[0], b'[' | b']') => {
                self.matched = 0;
                while self.structure(Sign::Byte(held[0]), out) == 0 {}
                self.again_from(quote, &held[1..], out);
            }
            // No value begins here. Who needs the bytes that were held back asks `starts` first.
            At::Before => {
                self.matched = 0;
                self.malformed = true;
                self.at = At::Done;
            }
            _ => {
                self.matched = 0;
                self.stray(&held[..lost], out);
                self.again_from(quote, &held[lost..], out);
            }
        }
        0
    }

    /// Reads bytes that were held back as the beginning of a quote token, and are none.
    fn again_from(&mut self, quote: &[u8], mut held: &[u8], out: &mut Vec<u8>) {
        while let Some(&byte) = held.first().filter(|_| self.at != At::Done) {
            held = &held[self.step(quote, byte, held, out)..];
        }
        // The value has ended, so what follows it cannot be given back.
        self.malformed |= !held.is_empty();
    }

    /// A byte between values.
    fn structure(&mut self, sign: Sign, out: &mut Vec<u8>) -> usize {
        let (begins, closes) = match sign {
            Sign::Quote => (true, false),
            Sign::Byte(b'{' | b'[' | b'"') => (true, false),
            Sign::Byte(byte) => (is_word(byte) && byte != b':', matches!(byte, b'}' | b']')),
        };
        let comma = sign == Sign::Byte(b',');
        let behind_single = std::mem::take(&mut self.single);
        match self.at {
            // A quote token that closes what a single quote has closed.
            At::After if behind_single && sign == Sign::Quote => 1,
            At::Before if !begins => {
                self.malformed = true;
                self.again(At::Done)
            }
            At::Before | At::Value if begins => self.value(sign, out),
            At::Item if begins => {
                self.separate(out);
                self.value(sign, out)
            }
            At::Key if !closes && !comma => self.key(sign, out),
            At::Colon if matches!(sign, Sign::Byte(b':' | b'=')) => {
                self.malformed |= sign == Sign::Byte(b'=');
                out.extend_from_slice(b": ");
                self.go(At::Value)
            }
            At::Item | At::Key | At::After if closes => self.close(sign, out),
            At::After if comma => self.go(self.next_item()),
            // From here on it is malformed.
            At::After if begins => {
                self.malformed = true;
                self.again(self.next_item())
            }
            At::Colon if begins || closes || comma => {
                self.malformed = true;
                out.extend_from_slice(b": ");
                self.again(At::Value)
            }
            At::Value if closes || comma => {
                self.malformed = true;
                out.extend_from_slice(b"null");
                self.again(At::After)
            }
            // The beginning of a tag, where it is not that of a quote token.
            _ if sign == Sign::Byte(b'<') => {
                self.stray(b"<", out);
                1
            }
            _ => {
                self.malformed = true;
                1
            }
        }
    }

    fn next_item(&self) -> At {
        if self.nesting.last() == Some(OBJECT) { At::Key } else { At::Item }
    }

    fn separate(&mut self, out: &mut Vec<u8>) {
        if self.has_items {
            out.extend_from_slice(b", ");
        }
        self.has_items = true;
    }

    /// The start of an object's key.
    fn key(&mut self, sign: Sign, out: &mut Vec<u8>) -> usize {
        if matches!(sign, Sign::Quote | Sign::Byte(b'"')) {
            self.separate(out);
            self.in_key = true;
            return self.string(sign, out);
        }
        self.malformed |= matches!(sign, Sign::Byte(b'{' | b'['));
        self.begin_bare_key(out);
        0
    }

    /// The start of a value.
    fn value(&mut self, sign: Sign, out: &mut Vec<u8>) -> usize {
        self.in_key = false;
        let (kind, open, at) = match sign {
            Sign::Quote | Sign::Byte(b'"') => return self.string(sign, out),
            Sign::Byte(b'{') => (OBJECT, b'{', At::Key),
            Sign::Byte(b'[') => (ARRAY, b'[', At::Item),
            Sign::Byte(b'\'') => {
                self.malformed = true;
                self.token.clear();
                out.push(b'"');
                return self.go(At::Single);
            }
            Sign::Byte(_) => {
                self.token.clear();
                self.number = Some(NumberPrefix::Start);
                return self.again(At::Token);
            }
        };
        self.malformed |= self.nesting.len() >= MAX_DEPTH;
        self.nesting.push(kind);
        self.has_items = false;
        out.push(open);
        self.go(at)
    }

    fn close(&mut self, sign: Sign, out: &mut Vec<u8>) -> usize {
        let kind = self.nesting.pop();
        let (fitting, close) = if kind == Some(OBJECT) { (b'}', b'}') } else { (b']', b']') };
        self.malformed |= sign != Sign::Byte(fitting);
        out.push(close);
        self.has_items = true;
        self.in_key = false;
        self.end_value();
        1
    }

    fn end_value(&mut self) {
        self.at = match self.nesting.len() {
            0 => At::Done,
            _ if self.in_key => At::Colon,
            _ => At::After,
        };
    }

    /// Takes bytes of what may be a number or literal.
    fn token(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.number = self.number.and_then(|number| bytes.iter().copied().try_fold(number, NumberPrefix::next));
        self.token.extend_from_slice(bytes);
        let number = self.number.is_some() && self.token.len() <= MAX_NUMBER;
        if !number && Word::begun(&self.token).is_none() {
            self.begin_word(out);
        }
    }

    /// The JSON of the number or literal that was read, if it is complete.
    fn literal(&mut self) -> Option<&[u8]> {
        match self.number {
            Some(number) => number.is_whole().then_some(&self.token),
            None => Word::of(&self.token).map(|word| word.json().as_bytes()),
        }
    }

    fn end_token(&mut self, out: &mut Vec<u8>) {
        if let Some(json) = self.literal() {
            out.extend_from_slice(json);
            self.token.clear();
            self.end_value();
        } else {
            self.begin_word(out);
            self.end_string(out);
        }
    }

    /// The text that was read is neither number nor literal.
    fn begin_word(&mut self, out: &mut Vec<u8>) {
        self.malformed = true;
        self.at = At::Word;
        self.brackets = 0;
        out.push(b'"');
        self.held_text(out);
    }

    fn begin_bare_key(&mut self, out: &mut Vec<u8>) {
        self.separate(out);
        self.in_key = true;
        self.token.clear();
        self.at = At::BareKey;
        out.push(b'"');
    }

    /// Takes text of a bare key, up to the byte that ends it.
    fn bare_key(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> usize {
        let end = memchr3(b':', b'}', b'=', bytes);
        let stretch = &bytes[..end.unwrap_or(bytes.len())];
        self.key_text(stretch, out);
        if end.is_some_and(|end| bytes[end] == b'=') {
            self.at = At::Equals;
            return stretch.len() + 1;
        }
        if end.is_some() {
            self.token.clear();
            self.end_string(out);
        }
        stretch.len()
    }

    /// Writes text of a bare key. White space that may be its end is held back.
    fn key_text(&mut self, mut text: &[u8], out: &mut Vec<u8>) {
        while !text.is_empty() {
            let solid = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
            if solid > 0 {
                self.held_text(out);
                self.text(&text[..solid], out);
            }
            let space = text.len() - solid - text[solid..].trim_ascii_start().len();
            let room = MAX_KEY_SPACE - self.token.len();
            self.malformed |= space > room;
            self.token.extend_from_slice(&text[solid..solid + space.min(room)]);
            text = &text[solid + space..];
        }
    }

    /// The start of a string.
    fn string(&mut self, sign: Sign, out: &mut Vec<u8>) -> usize {
        out.push(b'"');
        if sign == Sign::Quote {
            return self.go(At::Text);
        }
        self.scanner.reset();
        self.unescaper = Unescaper::new();
        self.again(At::Json)
    }

    /// Takes text of a JSON string, quotes included.
    fn json(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> usize {
        let progress = self.scanner.feed(bytes);
        let taken = if let Progress::Done(taken) = progress { taken } else { bytes.len() };
        self.malformed |= self.scanner.malformed();
        let mut text = std::mem::take(&mut self.unescaped);
        text.clear();
        self.unescaper.feed(&bytes[..taken], &mut text);
        self.text(&text, out);
        self.unescaped = text;
        if progress != Progress::More {
            self.end_string(out);
        }
        taken
    }

    fn end_string(&mut self, out: &mut Vec<u8>) {
        self.end_text(out);
        out.push(b'"');
        self.end_value();
    }

    /// Writes the bytes of a quote token that were held back as text.
    fn held_text(&mut self, out: &mut Vec<u8>) {
        let mut token = std::mem::take(&mut self.token);
        self.text(&token, out);
        token.clear();
        self.token = token;
    }

    fn text(&mut self, text: &[u8], out: &mut Vec<u8>) {
        if self.valid && self.carry.is_empty() {
            return escape_bytes_into(text, out);
        }
        self.malformed |= self.carry.feed(text, &mut |text| escape_bytes_into(text.as_bytes(), out));
    }

    fn end_text(&mut self, out: &mut Vec<u8>) {
        self.malformed |= self.carry.finish(&mut |text| escape_bytes_into(text.as_bytes(), out));
    }
}

/// Whether a byte can be part of a word.
fn is_word(byte: u8) -> bool {
    !matches!(byte, 0..=b' ' | b',' | b'{' | b'}' | b'[' | b']' | b'(' | b')' | b'<' | 0x7f)
}

/// Whether a word that was begun goes on with this byte.
fn goes_on(quote: &[u8], byte: u8) -> bool {
    is_word(byte) && quote.first() != Some(&byte)
}

#[cfg(test)]
mod tests;
