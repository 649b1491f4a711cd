//! Arguments that may be cut short or malformed, on their way into a stream in which nothing can be taken back.
//!
//! What a client assembles must be what [`Ending`] says of the whole text. So a piece is sent only as far as the ending cannot
//! change it: up to the last place at which the text can be closed.

use serde_json::{Map, Value};
use unjinja_runtime::close_json;

/// What is done with arguments that are not a complete JSON object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Those of a call that was cut short are closed. All others stay as they are.
    CloseIncomplete,
    /// They become an object in any case. Text that is not JSON goes into a member [`UNPARSED`].
    Object,
}

/// The member that holds the text of malformed arguments where an object is demanded.
pub(crate) const UNPARSED: &str = "unparsed";

/// How deep arguments may nest. Readers of JSON refuse what nests deeper than about 128.
const DEEPEST: usize = 100;

impl Ending {
    /// The arguments as the client gets them.
    pub(crate) fn whole(self, arguments: &str, complete: bool) -> String {
        match self {
            Self::CloseIncomplete if complete => arguments.to_owned(),
            Self::CloseIncomplete => close_json(arguments),
            Self::Object => object(arguments),
        }
    }
}

/// The arguments as an object.
fn object(arguments: &str) -> String {
    if serde_json::from_str::<Map<String, Value>>(arguments).is_ok() {
        return arguments.to_owned();
    }
    let mut scanner = Stable::default();
    scanner.scan(arguments);
    if !scanner.lost {
        return close_json(arguments);
    }
    let (kept, rest) = arguments.split_at(scanner.stable);
    let closed = close_json(kept);
    let start = closed.strip_suffix('}').unwrap_or("{");
    let comma = if start.trim() == "{" { "" } else { ", " };
    format!("{start}{comma}\"{UNPARSED}\": {}}}", Value::from(rest))
}

/// The arguments of a call that is being streamed.
#[derive(Debug, Clone)]
pub(crate) struct ArgumentStream {
    ending: Ending,
    /// All of the text.
    text: String,
    /// How much of it was sent.
    sent: usize,
    scanner: Stable,
}

impl ArgumentStream {
    pub(crate) fn new(ending: Ending) -> Self {
        Self { ending, text: String::new(), sent: 0, scanner: Stable::default() }
    }

    /// Takes the next piece and returns what can be sent.
    pub(crate) fn push(&mut self, piece: &str) -> &str {
        self.text.push_str(piece);
        self.scanner.scan(piece);
        let ready = self.sent..self.scanner.stable;
        self.sent = self.scanner.stable;
        self.text.get(ready).unwrap_or_default()
    }

    /// The call is over. Returns what is still to be sent.
    pub(crate) fn finish(self, complete: bool) -> String {
        let whole = self.ending.whole(&self.text, complete);
        let sent = self.text.get(..self.sent).unwrap_or_default();
        whole.strip_prefix(sent).unwrap_or_default().to_owned()
    }
}

/// Finds how much of a JSON object stays as it is if the text is closed after it, as [`close_json`] does.
#[derive(Debug, Clone, Default)]
struct Stable {
    at: At,
    /// The open brackets.
    nesting: Vec<u8>,
    /// How many bytes were read.
    read: usize,
    /// How many of them stay.
    stable: usize,
    /// The text is not a JSON object from here on, or its end was reached.
    lost: bool,
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum At {
    #[default]
    Root,
    KeyOrClose,
    Key,
    Colon,
    Value,
    ValueOrClose,
    Comma,
    /// In a string.
    Text {
        key: bool,
    },
    /// After a backslash.
    Escape {
        key: bool,
    },
    /// In `\uXXXX`.
    Hex {
        key: bool,
        left: u8,
        unit: u16,
        low: bool,
    },
    /// After the first half of a surrogate pair, before `\` or `u`.
    Low {
        key: bool,
        backslash: bool,
    },
    Number(Number),
    Word {
        word: &'static [u8],
        read: usize,
    },
    /// After the object. Its last bracket is not stable, because something may follow it.
    Done,
}

/// How far a number was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Number {
    Minus,
    Zero,
    Digits,
    Point,
    Fraction,
    E,
    Sign,
    Exponent,
}

impl Stable {
    /// Reads a piece of whole characters.
    fn scan(&mut self, piece: &str) {
        for &byte in piece.as_bytes() {
            if self.lost {
                return;
            }
            match self.step(byte) {
                Some(true) => {
                    self.read += 1;
                    self.stable = self.read;
                }
                Some(false) => self.read += 1,
                None => self.lost = true,
            }
        }
    }

    /// Reads a byte. Returns whether the text up to it is stable; `None` if it is not JSON. Numbers and words are stable once they
    /// are complete: what looks like one may be something else.
    fn step(&mut self, byte: u8) -> Option<bool> {
        let space = matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
        match self.at {
            At::Root if space => Some(false),
            At::Root if byte == b'{' => self.open(byte),
            At::Root => None,
            At::KeyOrClose | At::Key | At::ValueOrClose if space => Some(false),
            At::Value if space => Some(self.nesting.last() == Some(&b'{')),
            At::Colon | At::Comma if space => Some(true),
            At::Done => space.then_some(false),
            At::KeyOrClose if byte == b'}' => Some(self.close()),
            At::KeyOrClose | At::Key => (byte == b'"').then(|| self.go(At::Text { key: true }, false)),
            At::Colon => (byte == b':').then(|| self.go(At::Value, true)),
            At::ValueOrClose if byte == b']' => Some(self.close()),
            At::Value | At::ValueOrClose => self.value(byte),
            At::Comma => self.comma(byte),
            At::Text { key } => match byte {
                b'"' if key => Some(self.go(At::Colon, true)),
                b'"' => Some(self.go(At::Comma, true)),
                b'\\' => Some(self.go(At::Escape { key }, false)),
                0..0x20 => None,
                _ => Some(!key),
            },
            At::Escape { key } => match byte {
                b'u' => Some(self.go(At::Hex { key, left: 4, unit: 0, low: false }, false)),
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(self.go(At::Text { key }, !key)),
                _ => None,
            },
            At::Hex { key, left, unit, low } => self.hex(key, left, unit, low, byte),
            At::Low { key, backslash: false } => {
                (byte == b'\\').then(|| self.go(At::Low { key, backslash: true }, false))
            }
            At::Low { key, backslash: true } => {
                (byte == b'u').then(|| self.go(At::Hex { key, left: 4, unit: 0, low: true }, false))
            }
            At::Number(number) => match number.next(byte) {
                Some(next) => Some(self.go(At::Number(next), false)),
                None if !number.may_end() => None,
                None if space => Some(self.go(At::Comma, true)),
                None => {
                    let before = std::mem::replace(&mut self.stable, self.read);
                    let follows = self.comma(byte);
                    if follows.is_none() {
                        self.stable = before;
                    }
                    follows
                }
            },
            At::Word { word, read } => {
                (word.get(read) == Some(&byte)).then_some(())?;
                let whole = read + 1 == word.len();
                Some(self.go(if whole { At::Comma } else { At::Word { word, read: read + 1 } }, whole))
            }
        }
    }

    fn go(&mut self, at: At, stable: bool) -> bool {
        self.at = at;
        stable
    }

    fn open(&mut self, bracket: u8) -> Option<bool> {
        self.nesting.push(bracket);
        let next = if bracket == b'{' { At::KeyOrClose } else { At::ValueOrClose };
        (self.nesting.len() <= DEEPEST).then(|| self.go(next, true))
    }

    fn close(&mut self) -> bool {
        self.nesting.pop();
        let done = self.nesting.is_empty();
        self.go(if done { At::Done } else { At::Comma }, !done)
    }

    fn value(&mut self, byte: u8) -> Option<bool> {
        let word: &'static [u8] = match byte {
            b'{' | b'[' => return self.open(byte),
            b'"' => return Some(self.go(At::Text { key: false }, true)),
            b'-' => return Some(self.go(At::Number(Number::Minus), false)),
            b'0' => return Some(self.go(At::Number(Number::Zero), false)),
            b'1'..=b'9' => return Some(self.go(At::Number(Number::Digits), false)),
            b't' => b"true",
            b'f' => b"false",
            b'n' => b"null",
            _ => return None,
        };
        Some(self.go(At::Word { word, read: 1 }, false))
    }

    /// After a value.
    fn comma(&mut self, byte: u8) -> Option<bool> {
        match (byte, self.nesting.last()) {
            (b',', Some(b'{')) => Some(self.go(At::Key, false)),
            (b',', _) => Some(self.go(At::Value, false)),
            (b'}', Some(b'{')) | (b']', Some(b'[')) => Some(self.close()),
            _ => None,
        }
    }

    fn hex(&mut self, key: bool, left: u8, unit: u16, low: bool, byte: u8) -> Option<bool> {
        let unit = unit << 4 | u16::try_from(char::from(byte).to_digit(16)?).ok()?;
        if left > 1 {
            return Some(self.go(At::Hex { key, left: left - 1, unit, low }, false));
        }
        match unit {
            0xd800..=0xdbff if !low => Some(self.go(At::Low { key, backslash: false }, false)),
            0xdc00..=0xdfff if low => Some(self.go(At::Text { key }, !key)),
            0xd800..=0xdfff => None,
            _ if low => None,
            _ => Some(self.go(At::Text { key }, !key)),
        }
    }
}

impl Number {
    fn next(self, byte: u8) -> Option<Self> {
        match (self, byte) {
            (Self::Minus, b'0') => Some(Self::Zero),
            (Self::Minus, b'1'..=b'9') | (Self::Digits, b'0'..=b'9') => Some(Self::Digits),
            (Self::Zero | Self::Digits, b'.') => Some(Self::Point),
            (Self::Point | Self::Fraction, b'0'..=b'9') => Some(Self::Fraction),
            (Self::Zero | Self::Digits | Self::Fraction, b'e' | b'E') => Some(Self::E),
            (Self::E, b'+' | b'-') => Some(Self::Sign),
            (Self::E | Self::Sign | Self::Exponent, b'0'..=b'9') => Some(Self::Exponent),
            _ => None,
        }
    }

    fn may_end(self) -> bool {
        matches!(self, Self::Zero | Self::Digits | Self::Fraction | Self::Exponent)
    }
}

#[cfg(test)]
mod tests {
    use unjinja_testkit::random::Random;

    use super::*;

    const TEXTS: [&str; 14] = [
        r#"{"city": "Paris", "days": [1, -2.50e+3, true], "deep": {"a": {"b": [null, {}]}}}"#,
        r#"{"text": "a\"b\\c\u00e9\ud83d\ude00 日本 😀", "": ""}"#,
        "{\n  \"a\" : 1 ,\n  \"b\" : [ ]\n}\n",
        "{}",
        "",
        "  ",
        r#"{"a": 01}"#,
        r#"{"a": flase, "b": 1}"#,
        "{\"a\": \"line\nbreak\"}",
        r#"{"a": "\ud83d x", "b": "\q"}"#,
        r#"{"a": 1} and more"#,
        r#"[1, 2]"#,
        "Paris",
        r#"{"a": 1]"#,
    ];

    /// Sends a text in random pieces.
    fn streamed(text: &str, complete: bool, ending: Ending, random: &mut Random) -> String {
        let mut stream = ArgumentStream::new(ending);
        let mut out = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            let at = (1 + random.below(7)..rest.len()).find(|&at| rest.is_char_boundary(at)).unwrap_or(rest.len());
            let (piece, tail) = rest.split_at(at);
            out.push_str(stream.push(piece));
            rest = tail;
        }
        out + &stream.finish(complete)
    }

    #[test]
    fn what_is_sent_in_pieces_is_what_the_ending_says() {
        let mut random = Random::new(7);
        for text in TEXTS {
            for end in (0..=text.len()).filter(|&end| text.is_char_boundary(end)) {
                let cut = &text[..end];
                for (ending, complete) in
                    [(Ending::CloseIncomplete, false), (Ending::CloseIncomplete, true), (Ending::Object, false)]
                {
                    let whole = ending.whole(cut, complete);
                    assert_eq!(streamed(cut, complete, ending, &mut random), whole, "{cut:?} {ending:?} {complete}");
                    if ending == Ending::Object {
                        let value: Value = serde_json::from_str(&whole).unwrap();
                        assert!(value.is_object(), "{cut:?} -> {whole}");
                    }
                }
            }
        }
    }

    #[test]
    fn malformed_arguments_keep_their_text() {
        for (text, object) in [
            (r#"{"path": "/tmp", "all": flase}"#, r#"{"path": "/tmp", "all": null, "unparsed": "flase}"}"#),
            (r#"{"a": {"b": x}}"#, r#"{"a": {"b": null}, "unparsed": "x}}"}"#),
            (r#"{"a": 1} and"#, r#"{"a": 1, "unparsed": "} and"}"#),
            ("Paris", r#"{"unparsed": "Paris"}"#),
            ("[1]", r#"{"unparsed": "[1]"}"#),
            ("", "{}"),
            (r#"{"a": "b"#, r#"{"a": "b"}"#),
        ] {
            assert_eq!(Ending::Object.whole(text, true), object, "{text}");
        }
    }

    #[test]
    fn arguments_that_nest_too_deep_keep_their_text() {
        let text = format!("{{\"a\": {}{}}}", "[".repeat(500), "]".repeat(500));
        let mut random = Random::new(1);
        let whole = Ending::Object.whole(&text, true);
        assert_eq!(streamed(&text, true, Ending::Object, &mut random), whole);
        let value: Map<String, Value> = serde_json::from_str(&whole).unwrap();
        assert_eq!(value[UNPARSED].as_str().map(str::len), Some(1000 + 1 - (DEEPEST - 1)));
    }

    #[test]
    fn arguments_stream() {
        let mut stream = ArgumentStream::new(Ending::Object);
        assert_eq!(stream.push(r#"{"city": "Par"#), r#"{"city": "Par"#);
        assert_eq!(stream.push(r#"is", "da"#), r#"is""#);
        assert_eq!(stream.push(r#"ys": 2}"#), r#", "days": 2"#);
        assert_eq!(stream.finish(true), "}");
    }
}
