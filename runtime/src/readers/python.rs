//! Python literals: translates one literal to JSON while it arrives. Templates write such literals with `str()` or
//! `repr()` of a dict or a list, and models write them likewise.
//!
//! Whatever the bytes are, the JSON is well-formed once the literal is complete; only bytes that are not UTF-8 are
//! passed on unchanged. What breaks Python's rules is flagged and corrected in the simplest way.

mod number;
mod quote;
mod string;

use crate::byte_set::ByteSet;
use crate::limits::MAX_NAME;
use crate::readers::json::{MAX_DEPTH, Nesting, Progress, Surrogates, escape_byte_into, is_token};

const DICT: u8 = 0;
const LIST: u8 = 1;
const TUPLE: u8 = 2;
const SET: u8 = 3;

/// The longest first key of a dict that is held back, in bytes, until it shows whether this is a set.
const LONGEST_HELD: usize = MAX_NAME;

/// Translates one Python literal into JSON.
///
/// Dicts become objects, lists, tuples and sets become arrays, and strings with either quote become JSON strings. `True`,
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
    /// The literal is an argument of a call expression. A string may have quotes in it that are not escaped.
    argument: bool,
    /// A name may follow a number or word without a separator.
    tight: bool,
    /// The innermost brace is open, and may be that of a dict or of a set: its offset in the output.
    brace: Option<usize>,
    /// What was written since that brace, until it is known what it opens.
    held: Vec<u8>,
    /// The quotes around the first key behind that brace are not in the literal.
    added_quotes: bool,
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
    /// There was a quote in it that is not escaped.
    broken: bool,
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
        self.feed_part(bytes, true, out)
    }

    /// The same, where `last` says that the input ends behind the bytes. If not, it gives `Stop(n)` before a quote of a call
    /// expression if it takes more than these bytes to tell whether the quote ends its string.
    pub(crate) fn feed_part(&mut self, bytes: &[u8], last: bool, out: &mut Vec<u8>) -> Progress {
        if self.brace.is_some() {
            self.brace = Some(out.len());
            out.append(&mut self.held);
        }
        let progress = self.feed_on(bytes, last, out);
        if let Some(brace) = self.brace {
            if out.len() - brace > LONGEST_HELD {
                self.brace = None;
            } else {
                self.held.extend(out.drain(brace..));
            }
        }
        progress
    }

    fn feed_on(&mut self, bytes: &[u8], last: bool, out: &mut Vec<u8>) -> Progress {
        let mut taken = 0;
        while let Some(&byte) = bytes.get(taken) {
            if self.at == At::Text {
                let rest = &bytes[taken..];
                if self.may_end(rest[0]) {
                    match quote::ends_string(&rest[1..], self.string.broken) {
                        None if !last => return Progress::Stop(taken),
                        Some(false) => {
                            self.keep_quote(out);
                            taken += 1;
                            continue;
                        }
                        _ => {}
                    }
                }
                taken += self.text(rest, out);
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
        out.append(&mut self.held);
        self.brace = None;
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
        let mut held = std::mem::take(&mut self.held);
        nesting.clear();
        token.clear();
        held.clear();
        *self = Self { nesting, token, held, argument: self.argument, tight: self.tight, ..Self::default() };
    }

    /// From now on literals are arguments of a call expression: a quote ends a string only before something that may follow
    /// it there. If they are `tight`, a name may follow a number or word without a separator: `1` ends before `b` in `a=1b=2`.
    pub(crate) fn read_arguments(&mut self, tight: bool) {
        self.argument = true;
        self.tight = tight;
    }

    /// Whether the literal broke a rule so far.
    pub(crate) fn malformed(&self) -> bool {
        self.malformed
    }

    /// Inside a string: the bytes that may end it, and those that JSON would escape in another way. `None` outside of
    /// strings.
    #[inline]
    pub(crate) fn string_ends(&self) -> Option<ByteSet> {
        (self.at == At::Text && !self.surrogates.waits() && self.brace.is_none())
            .then(|| ByteSet::of(b"\\\n\r").with(self.string.quote))
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
                self.brace = None;
                out.extend_from_slice(b": ");
                self.go(At::Value)
            }
            At::Item | At::Key | At::After if closes => self.close(byte, out),
            At::After if byte == b',' => self.go(self.next_item()),
            // From here on it is not valid Python, or has no place in JSON.
            At::Colon if closes || byte == b',' => {
                self.malformed = true;
                if let Some(brace) = self.brace.take() {
                    self.begin_set(brace, out);
                    return self.again(At::After);
                }
                out.extend_from_slice(b": ");
                self.again(At::Value)
            }
            At::After if begins => {
                self.malformed = true;
                self.again(self.next_item())
            }
            At::Colon if begins => {
                self.malformed = true;
                self.brace = None;
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
            self.brace = None;
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
        self.added_quotes = false;
        self.brace = (kind == DICT).then_some(out.len());
        out.push(open);
        self.go(at)
    }

    /// The brace at this offset opens a set, as what follows its first item shows.
    fn begin_set(&mut self, brace: usize, out: &mut Vec<u8>) {
        self.nesting.pop();
        self.nesting.push(SET);
        self.in_key = false;
        out[brace] = b'[';
        if self.added_quotes {
            out.pop();
            out.remove(brace + 1);
        }
    }

    fn close(&mut self, byte: u8, out: &mut Vec<u8>) -> Step {
        let kind = self.nesting.pop();
        self.brace = None;
        self.malformed |= match byte {
            b'}' => !matches!(kind, Some(DICT | SET)),
            b']' => kind != Some(LIST),
            _ => kind != Some(TUPLE),
        };
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
                self.string = StringForm { quote: byte, raw: is(b'r'), ..StringForm::default() };
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
                self.added_quotes = true;
                out.push(b'"');
            }
        }
        self.token.clear();
        self.end_value();
    }
}

#[cfg(test)]
mod tests;
