//! Python literals: translates one literal to JSON while it arrives. Templates write such literals with `str()` or
//! `repr()` of a dict or a list, and models write them likewise.
//!
//! Whatever the bytes are, the JSON is well-formed once the literal is complete; only bytes that are not UTF-8 are
//! passed on unchanged. What breaks Python's rules is flagged and corrected in the simplest way.

mod number;
mod quote;
mod raw;
mod string;

use crate::limits::MAX_NAME;
use crate::readers::json::{HexDigits, Progress, Step, Surrogates, escape_byte_into, is_token};
use crate::readers::structure::{Act, Container, Expect, Sign, StringEnd, Structure};

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
    structure: Structure,
    /// The number, word or string prefix being read.
    token: Vec<u8>,
    string: StringForm,
    surrogates: Surrogates,
    /// The literal is an argument of a call expression.
    argument: Option<ArgumentRules>,
    /// A name may follow a number or word without a separator.
    tight: bool,
    /// The innermost brace is open, and may be that of a dict or of a set: its offset in the output.
    brace: Option<usize>,
    /// What was written since that brace, until it is known what it opens.
    held: Vec<u8>,
    /// The quotes around the first key after that brace are not in the literal.
    added_quotes: bool,
    /// Brackets that are open in text without quotes.
    brackets: u32,
}

/// What the next byte belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Between(Expect),
    Token,
    /// One quote was read. It may open a string, be the first of two quotes of an empty string, or the first of three.
    Quote,
    TwoQuotes,
    Text,
    /// Text without quotes.
    Raw,
    /// This many of the three quotes that close the string were read.
    Closing(u8),
    Escape,
    /// After a backslash in a raw string.
    RawEscape,
    Hex(HexDigits),
    Octal {
        left: u8,
        value: u32,
    },
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

/// What is read in an argument of a call expression only. Pointers, because only programs with such calls link it.
#[derive(Debug, Clone, Copy)]
struct ArgumentRules {
    /// Whether a quote ends its string: there may be quotes in it that are not escaped.
    ends_string: fn(&[u8], bool) -> Option<bool>,
    /// Whether the value is text without quotes.
    is_raw: fn(&Translator, &[u8], bool) -> Option<bool>,
    /// Takes such text.
    raw: TakeRaw,
}

/// Takes bytes, the last of the input or not, and writes JSON. Returns how many, and whether more are needed.
type TakeRaw = fn(&mut Translator, &[u8], bool, &mut Vec<u8>) -> (usize, bool);

/// How the string being read was opened.
#[derive(Debug, Clone, Copy, Default)]
struct StringForm {
    quote: u8,
    triple: bool,
    raw: bool,
    /// There was a quote in it that is not escaped.
    broken: bool,
}

impl Translator {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes and appends their JSON. `More`: all were taken. `Done(n)`: the literal is complete, and `n`
    /// of the bytes belong to it. A number, a word and an empty string end before the first byte that is not part of
    /// them. If no literal begins at all, it is `Done` before the first wrong byte, malformed, and nothing is written.
    pub(crate) fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Progress {
        self.feed_part(bytes, true, out)
    }

    /// The same, where `last` says that the input ends after the bytes. If not, it gives `Wait(n)` before a quote of a call
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
                if let Some(rules) = self.may_end(rest[0]) {
                    match (rules.ends_string)(&rest[1..], self.string.broken) {
                        None if !last => return Progress::Wait(taken),
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
            if let (At::Raw, Some(rules)) = (self.at, self.argument) {
                let (count, waits) = (rules.raw)(self, &bytes[taken..], last, out);
                taken += count;
                match self.at {
                    At::Done => return Progress::Done(taken),
                    _ if waits => return Progress::Wait(taken),
                    _ => continue,
                }
            }
            let begins = self.at == At::Between(Expect::Literal) && !byte.is_ascii_whitespace() && !begins_value(byte);
            if let Some(rules) = self.argument
                && (begins || (self.at == At::Token && !is_token(byte)))
            {
                match (rules.is_raw)(self, &bytes[taken..], last) {
                    None if !last => return Progress::Wait(taken),
                    Some(true) => {
                        self.begin_raw(out);
                        continue;
                    }
                    _ => {}
                }
            }
            if self.at == At::Token && is_token(byte) {
                if self.tight && self.structure.is_outermost() {
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
        let outermost = self.structure.is_outermost();
        out.append(&mut self.held);
        self.brace = None;
        match self.at {
            At::Done => {}
            At::Token if outermost && !number::is_cut(&self.token) => self.end_token(out),
            At::Token if !self.structure.in_key => {
                number::write_cut(&self.token, out);
                self.token.clear();
            }
            At::TwoQuotes => self.end_string(out),
            At::Raw if outermost => self.end_string(out),
            At::Closing(quotes) => (0..quotes).for_each(|_| escape_byte_into(self.string.quote, out)),
            _ => {}
        }
        self.at == At::Done
    }

    /// Makes the translator new. Its buffers are kept.
    pub(crate) fn reset(&mut self) {
        let mut structure = std::mem::take(&mut self.structure);
        let mut token = std::mem::take(&mut self.token);
        let mut held = std::mem::take(&mut self.held);
        structure.reset();
        token.clear();
        held.clear();
        *self = Self { structure, token, held, argument: self.argument, tight: self.tight, ..Self::default() };
    }

    /// From now on literals are arguments of a call expression: a quote ends a string only before something that may follow
    /// it there. If they are `tight`, a name may follow a number or word without a separator: `1` ends before `b` in `a=1b=2`.
    pub(crate) fn read_arguments(&mut self, tight: bool) {
        self.argument = Some(ArgumentRules { ends_string: quote::ends_string, is_raw: Self::is_raw, raw: Self::raw });
        self.tight = tight;
    }

    /// Whether the literal broke a rule until here.
    pub(crate) fn malformed(&self) -> bool {
        self.structure.malformed || self.surrogates.broken()
    }

    /// What may end the string that the literal is in. `None` outside of strings.
    #[inline]
    pub(crate) fn string_end(&self) -> Option<StringEnd> {
        (self.at == At::Text && !self.surrogates.waits() && self.brace.is_none())
            .then_some(StringEnd::Quote(self.string.quote))
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
            At::Hex(digits) => self.hex(digits, byte, out),
            At::Octal { left, value } => self.octal(left, value, byte, out),
            At::Done => Step::Ended,
            // The caller takes text of strings, and tokens, in one go.
            At::Text | At::Raw => Step::Again,
            At::Between(_) if byte.is_ascii_whitespace() || byte == 0x0b => Step::Taken,
            At::Between(expect) => self.between(expect, byte, out),
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

    fn between(&mut self, expect: Expect, byte: u8, out: &mut Vec<u8>) -> Step {
        let sign = match byte {
            b'{' | b'[' | b'(' | b'"' | b'\'' => Sign::Begins,
            b'}' | b']' | b')' => Sign::Closes,
            b',' => Sign::Comma,
            b':' => Sign::Colon,
            _ if is_token(byte) => Sign::Begins,
            _ => Sign::Other,
        };
        if expect == Expect::Colon
            && sign != Sign::Other
            && let Some(brace) = self.brace.take()
            && matches!(sign, Sign::Closes | Sign::Comma)
        {
            // JSON has no sets.
            self.structure.malformed = true;
            self.begin_set(brace, out);
            return self.again(At::Between(Expect::Comma));
        }
        match self.structure.act(expect, sign, out) {
            Act::Value => self.value(byte, out),
            Act::Key => self.key(byte, out),
            Act::Close => self.close(byte, out),
            Act::Take(expect) => self.go(At::Between(expect)),
            Act::Again(expect) => self.again(At::Between(expect)),
            Act::Drop => Step::Taken,
            Act::End => {
                self.at = At::Done;
                Step::Ended
            }
        }
    }

    fn key(&mut self, byte: u8, out: &mut Vec<u8>) -> Step {
        self.structure.separate(out);
        if matches!(byte, b'{' | b'[' | b'(') {
            // JSON has no such keys.
            self.structure.malformed = true;
            self.brace = None;
            out.extend_from_slice(b"\"\": ");
            return self.again(At::Between(Expect::Value));
        }
        let step = self.value(byte, out);
        self.structure.in_key = true;
        step
    }

    fn value(&mut self, byte: u8, out: &mut Vec<u8>) -> Step {
        self.structure.in_key = false;
        let container = match byte {
            b'{' => Container::Object,
            b'[' => Container::Array,
            b'(' => Container::Tuple,
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
        self.added_quotes = false;
        self.brace = (container == Container::Object).then_some(out.len());
        let expect = self.structure.open(container, out);
        self.go(At::Between(expect))
    }

    /// The brace at this offset opens a set, as what follows its first item shows.
    #[inline(never)]
    fn begin_set(&mut self, brace: usize, out: &mut Vec<u8>) {
        self.structure.reopen(Container::Set);
        out[brace] = b'[';
        if self.added_quotes {
            out.pop();
            out.remove(brace + 1);
        }
    }

    fn close(&mut self, bracket: u8, out: &mut Vec<u8>) -> Step {
        self.brace = None;
        self.at = self.structure.close(bracket, out).into();
        if self.at == At::Done { Step::Last } else { Step::Taken }
    }

    #[inline(never)]
    fn token_text(&mut self, bytes: &[u8]) -> usize {
        let count = bytes.iter().take_while(|&&byte| is_token(byte)).count();
        let from = self.token.len();
        self.token.extend_from_slice(&bytes[..count]);
        self.structure.malformed |= number::is_lost(&self.token, from);
        count
    }

    #[inline(never)]
    fn token(&mut self, byte: u8, out: &mut Vec<u8>) -> Step {
        if matches!(byte, b'"' | b'\'') && self.token.len() <= 2 {
            let is = |letter: u8| self.token.iter().any(|byte| byte.to_ascii_lowercase() == letter);
            if self.token.iter().all(|byte| b"rbufRBUF".contains(byte)) {
                self.string = StringForm { quote: byte, raw: is(b'r'), ..StringForm::default() };
                // The value of a formatted string cannot be known.
                self.structure.malformed |= is(b'f');
                out.push(b'"');
                return self.go(At::Quote);
            }
        }
        self.end_token(out);
        if self.at == At::Done { Step::Ended } else { Step::Again }
    }

    #[inline(never)]
    fn end_token(&mut self, out: &mut Vec<u8>) {
        if self.structure.in_key {
            out.push(b'"');
        }
        let from = out.len();
        let fits = number::write(&self.token, out);
        self.structure.malformed |= !fits;
        if self.structure.in_key {
            if out.get(from) == Some(&b'"') {
                // A bare word was already written as a string.
                out.remove(from);
            } else {
                self.added_quotes = true;
                out.push(b'"');
            }
        }
        self.token.clear();
        self.at = self.structure.end_value().into();
    }
}

fn begins_value(byte: u8) -> bool {
    matches!(byte, b'{' | b'[' | b'(' | b'"' | b'\'') || is_token(byte)
}

#[cfg(test)]
mod tests;
