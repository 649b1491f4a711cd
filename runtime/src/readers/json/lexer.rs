//! Reads a JSON text that arrives in pieces, and gives its tokens. The [`Scanner`] checks the structure; this file says what its
//! steps mean.
//!
//! It holds two bits for each open array or object, and nothing of the text. It must not recurse on the depth of its input, and
//! allocates only where brackets nest deeply.

use super::text::plain_len;
use super::{At, HexDigits, Scanner, Surrogates, escaped, is_space};
use crate::readers::number::NumberPrefix;
use crate::readers::words::Word;

/// What a value is, as its first byte says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean(bool),
    /// A number.
    Number,
    /// `"…"`
    String,
    /// `[…]`
    Array,
    /// `{…}`
    Object,
}

/// A part of a JSON text. White space, colons and commas are not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'t> {
    /// A value begins.
    Begin(Start),
    /// The name of a member begins.
    Name,
    /// A part of a string or name, without escapes.
    Text(&'t str),
    /// A character of a string or name that was written with an escape. Half a surrogate pair is U+FFFD.
    Escaped(char),
    /// A byte of a number.
    Number(u8),
    /// The name is complete.
    NameEnd,
    /// The value is complete.
    End,
}

/// Why a text is not read any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It is not JSON.
    Malformed {
        /// What was expected.
        expected: &'static str,
        /// The character that is there instead, and its offset in the piece; `None` if the text ended.
        found: Option<(usize, char)>,
    },
    /// Arrays and objects are nested too deep.
    Deep,
}

/// A reader of one JSON text.
///
/// It accepts what RFC 8259 does, and half surrogate pairs in strings. After a [`Stop`] there is nothing more to read.
///
/// ```
/// use unjinja_runtime::literals::{Lexer, Start, Stop, Token};
///
/// let mut lexer = Lexer::new(100);
/// let mut tokens = Vec::new();
/// lexer.read(r#"{"a": 1"#, |token| {
///     tokens.push(format!("{token:?}"));
///     true
/// })?;
/// assert_eq!(tokens, ["Begin(Object)", "Name", "Text(\"a\")", "NameEnd", "Begin(Number)", "Number(49)"]);
/// let stop = lexer.read("]", |_| true);
/// assert_eq!(stop, Err(Stop::Malformed { expected: "a comma or `}`", found: Some((0, ']')) }));
/// # Ok::<(), Stop>(())
/// ```
#[derive(Clone, Debug)]
pub struct Lexer {
    scanner: Scanner,
    surrogates: Surrogates,
    /// The maximum number of open arrays and objects.
    deepest: usize,
    /// Whether `NaN` and `Infinity` are numbers.
    is_python: bool,
    /// The rest of `NaN` or `Infinity`.
    not_finite: &'static [u8],
}

impl Lexer {
    /// A reader before its text. Arrays and objects may be nested this deep.
    pub fn new(deepest: usize) -> Self {
        Self { scanner: Scanner::new(), surrogates: Surrogates::default(), deepest, is_python: false, not_finite: &[] }
    }

    /// A reader of what Python's `json.loads` accepts: `NaN`, `Infinity` and `-Infinity` are numbers too.
    pub fn of_python(deepest: usize) -> Self {
        Self { is_python: true, ..Self::new(deepest) }
    }

    /// Whether nothing but white space was read.
    pub fn is_empty(&self) -> bool {
        self.scanner.at == At::Before
    }

    /// Reads a piece of the text, of whole characters. The function gets each token, and says whether it wants more.
    pub fn read(&mut self, text: &str, mut take: impl FnMut(Token<'_>) -> bool) -> Result<(), Stop> {
        let bytes = text.as_bytes();
        let mut at = 0;
        let mut wanted = true;
        while wanted && let Some(&byte) = bytes.get(at) {
            let plain = if self.scanner.at == At::Text { plain_len(&bytes[at..]) } else { 0 };
            if plain > 0 {
                wanted = self.settle(&mut take) && text.get(at..at + plain).is_none_or(|text| take(Token::Text(text)));
                at += plain;
                continue;
            }
            // A number ends before the byte that is not part of it.
            if let At::Number(number) = self.scanner.at
                && number.is_whole()
                && number.next(byte).is_none()
            {
                self.scanner.end_scalar(true);
                wanted = take(Token::End);
                continue;
            }
            wanted = self.byte(byte, &mut take).map_err(|wrong| match wrong {
                Wrong::Deep => Stop::Deep,
                Wrong::Expected(expected) => {
                    let found = text.get(at..).and_then(|rest| rest.chars().next());
                    Stop::Malformed { expected, found: found.map(|found| (at, found)) }
                }
            })?;
            at += 1;
        }
        Ok(())
    }

    /// The text ends here.
    pub fn finish(&mut self, mut take: impl FnMut(Token<'_>) -> bool) -> Result<(), Stop> {
        if let At::Number(number) = self.scanner.at
            && number.is_whole()
        {
            self.scanner.end_scalar(true);
            take(Token::End);
        }
        match self.scanner.at {
            At::Done => Ok(()),
            _ => Err(Stop::Malformed { expected: "the rest of the JSON", found: None }),
        }
    }

    /// Gives half a pair that is followed by something else than its other half.
    fn settle(&mut self, take: &mut impl FnMut(Token<'_>) -> bool) -> bool {
        self.surrogates.alone().is_none_or(|half| take(Token::Escaped(half)))
    }

    /// Reads a byte that is not plain text of a string. Returns whether more tokens are wanted.
    fn byte(&mut self, byte: u8, take: &mut impl FnMut(Token<'_>) -> bool) -> Result<bool, Wrong> {
        let before = self.scanner.at;
        match before {
            At::Text if byte == b'"' => {
                let wanted = self.settle(take);
                self.scanner.end_string();
                return Ok(wanted && take(if self.scanner.at == At::Colon { Token::NameEnd } else { Token::End }));
            }
            At::Text if byte == b'\\' => {
                self.scanner.at = At::Escape;
                return Ok(true);
            }
            At::Text => return Err(Wrong::Expected("an escape in place of a control character")),
            At::Done if is_space(byte) => return Ok(true),
            At::Done => return Err(Wrong::Expected("the end of the JSON")),
            At::Before | At::Value | At::ValueOrClose | At::Number(_) if self.is_python => {
                if let Some(wanted) = self.not_finite(byte, take)? {
                    return Ok(wanted);
                }
            }
            _ => {}
        }
        let opens = matches!(before, At::Before | At::Value | At::ValueOrClose) && matches!(byte, b'{' | b'[');
        if opens && self.scanner.depth() >= self.deepest {
            return Err(Wrong::Deep);
        }
        self.scanner.step(byte);
        if let At::Hex(digits) = before
            && let Some(unit) = digits.next(byte).and_then(HexDigits::value)
        {
            return Ok(self.unit(unit as u16, take));
        }
        if self.scanner.malformed {
            return Err(Wrong::Expected(self.expected(before)));
        }
        Ok(match (before, self.scanner.at) {
            (At::Escape, At::Text) => {
                self.settle(take) && take(Token::Escaped(char::from(escaped(byte).unwrap_or(byte))))
            }
            (At::Number(_), _) => take(Token::Number(byte)),
            (_, At::Number(_)) => take(Token::Begin(Start::Number)) && take(Token::Number(byte)),
            (_, At::Word(word, read)) => {
                let is_whole = usize::from(read) == word.json().len();
                let wanted = read > 1 || take(Token::Begin(start(word)));
                if is_whole {
                    self.scanner.end_scalar(true);
                }
                wanted && (!is_whole || take(Token::End))
            }
            (At::Key | At::KeyOrClose, At::Text) => take(Token::Name),
            (_, At::Text) => take(Token::Begin(Start::String)),
            _ => match byte {
                b'{' => take(Token::Begin(Start::Object)),
                b'[' => take(Token::Begin(Start::Array)),
                b'}' | b']' => take(Token::End),
                // White space, colons, commas and the digits of escapes.
                _ => true,
            },
        })
    }

    /// Takes the code unit of an escape.
    fn unit(&mut self, unit: u16, take: &mut impl FnMut(Token<'_>) -> bool) -> bool {
        // The scanner does not accept half a pair.
        (self.scanner.malformed, self.scanner.high) = (false, false);
        let (half, character) = self.surrogates.unit(unit);
        half.is_none_or(|half| take(Token::Escaped(half)))
            && character.is_none_or(|character| take(Token::Escaped(character)))
    }

    /// Reads a byte of `NaN` or `Infinity`. `None` if it does not belong to one.
    fn not_finite(&mut self, byte: u8, take: &mut impl FnMut(Token<'_>) -> bool) -> Result<Option<bool>, Wrong> {
        let is_first = self.not_finite.is_empty();
        let rest: &'static [u8] = match (self.scanner.at, byte) {
            _ if !is_first => match self.not_finite.split_first() {
                Some((&expected, rest)) if expected == byte => rest,
                _ => return Err(Wrong::Expected("`NaN` or `Infinity`")),
            },
            (At::Number(NumberPrefix::Minus), b'I') => b"nfinity",
            (At::Number(_), _) => return Ok(None),
            (_, b'I') => b"nfinity",
            (_, b'N') => b"aN",
            _ => return Ok(None),
        };
        self.not_finite = rest;
        let begins = is_first && !matches!(self.scanner.at, At::Number(_));
        let mut wanted = (!begins || take(Token::Begin(Start::Number))) && take(Token::Number(byte));
        // Not a number for the scanner until the last letter.
        self.scanner.at = At::Number(NumberPrefix::Minus);
        if rest.is_empty() {
            self.scanner.end_scalar(true);
            wanted = wanted && take(Token::End);
        }
        Ok(Some(wanted))
    }

    /// What was expected at a place at which the scanner met something else.
    fn expected(&self, before: At) -> &'static str {
        match before {
            At::Key | At::KeyOrClose => "a name in double quotes",
            At::Colon => "a colon",
            At::After if self.scanner.nesting.last() == Some(super::OBJECT) => "a comma or `}`",
            At::After => "a comma or `]`",
            At::Escape => "an escape of JSON",
            At::Hex(_) => "four hexadecimal digits",
            At::Word(..) => "`true`, `false` or `null`",
            At::Number(_) => "a digit",
            _ => "a value",
        }
    }
}

/// Why a byte is wrong.
enum Wrong {
    Expected(&'static str),
    Deep,
}

fn start(word: Word) -> Start {
    match word {
        Word::True => Start::Boolean(true),
        Word::False => Start::Boolean(false),
        Word::Null => Start::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testkit::{Random, json_samples};
    use super::*;

    /// The tokens of a text that comes in pieces of this many characters, with neighbouring texts joined, and the error.
    fn tokens(mut lexer: Lexer, text: &str, step: usize) -> (Vec<String>, Option<Stop>) {
        let mut all: Vec<String> = Vec::new();
        let mut take = |token: Token<'_>| {
            match (token, all.last_mut()) {
                (Token::Text(text), Some(last)) if last.starts_with("Text ") => last.push_str(text),
                (Token::Text(text), _) => all.push(format!("Text {text}")),
                (Token::Number(byte), Some(last)) if last.starts_with("Number ") => last.push(char::from(byte)),
                (Token::Number(byte), _) => all.push(format!("Number {}", char::from(byte))),
                (token, _) => all.push(format!("{token:?}")),
            }
            true
        };
        let characters: Vec<char> = text.chars().collect();
        let mut from = 0;
        for piece in characters.chunks(step) {
            let piece: String = piece.iter().collect();
            if let Err(stop) = lexer.read(&piece, &mut take) {
                return (
                    all,
                    Some(match stop {
                        Stop::Malformed { expected, found } => {
                            Stop::Malformed { expected, found: found.map(|(at, found)| (from + at, found)) }
                        }
                        Stop::Deep => stop,
                    }),
                );
            }
            from += piece.len();
        }
        let stop = lexer.finish(&mut take).err();
        (all, stop)
    }

    /// The same however the text is cut.
    fn read(lexer: &Lexer, text: &str) -> (Vec<String>, Option<Stop>) {
        let whole = tokens(lexer.clone(), text, usize::MAX);
        for step in [1, 2, 5] {
            assert_eq!(tokens(lexer.clone(), text, step), whole, "{text} by {step}");
        }
        whole
    }

    #[test]
    fn it_reads_what_serde_json_reads() {
        let mut random = Random::new(31);
        let (mut read_all, mut stopped) = (0, 0);
        for sample in json_samples() {
            for round in 0..20 {
                let mut bytes = sample.clone().into_bytes();
                (0..round % 4).for_each(|_| random.damage(&mut bytes));
                let Ok(text) = String::from_utf8(bytes) else { continue };
                let stop = read(&Lexer::new(100), &text).1;
                let serde = serde_json::from_str::<serde::de::IgnoredAny>(&text);
                assert_eq!(stop.is_none(), serde.is_ok(), "{text}: {stop:?}");
                *(if stop.is_none() { &mut read_all } else { &mut stopped }) += 1;
            }
        }
        assert!(read_all > 50 && stopped > 50, "{read_all} {stopped}");
    }

    #[test]
    fn tokens_are_given_in_order() {
        let text = r#" {"a\n": [true, null, -1.5e3], "b": "x\u00e9\ud83d\ude00\ud83d y"} "#;
        let (tokens, stop) = read(&Lexer::new(9), text);
        let expected = [
            "Begin(Object)",
            "Name",
            "Text a",
            "Escaped('\\n')",
            "NameEnd",
            "Begin(Array)",
            "Begin(Boolean(true))",
            "End",
            "Begin(Null)",
            "End",
            "Begin(Number)",
            "Number -1.5e3",
            "End",
            "End",
            "Name",
            "Text b",
            "NameEnd",
            "Begin(String)",
            "Text x",
            "Escaped('é')",
            "Escaped('😀')",
            "Escaped('\u{fffd}')",
            "Text  y",
            "End",
            "End",
        ];
        assert_eq!((tokens, stop), (expected.map(str::to_owned).to_vec(), None));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (text, expected, found) in [
            ("x", "a value", Some((0, 'x'))),
            ("[1 é", "a comma or `]`", Some((3, 'é'))),
            (r#"{"a": 01}"#, "a comma or `}`", Some((7, '1'))),
            (r#"{"a" 1}"#, "a colon", Some((5, '1'))),
            ("{a: 1}", "a name in double quotes", Some((1, 'a'))),
            ("[1,]", "a value", Some((3, ']'))),
            ("[-]", "a digit", Some((2, ']'))),
            ("[trux]", "`true`, `false` or `null`", Some((4, 'x'))),
            ("[truex]", "a comma or `]`", Some((5, 'x'))),
            ("\"a\nb\"", "an escape in place of a control character", Some((2, '\n'))),
            (r#""\q""#, "an escape of JSON", Some((2, 'q'))),
            (r#""\u12g""#, "four hexadecimal digits", Some((5, 'g'))),
            ("{} x", "the end of the JSON", Some((3, 'x'))),
            ("1 2", "the end of the JSON", Some((2, '2'))),
            ("[", "the rest of the JSON", None),
            ("1.", "the rest of the JSON", None),
            ("", "the rest of the JSON", None),
        ] {
            assert_eq!(read(&Lexer::new(9), text).1, Some(Stop::Malformed { expected, found }), "{text}");
        }
        assert_eq!(read(&Lexer::new(2), r#"[{"a": 1}]"#).1, None);
        assert_eq!(read(&Lexer::new(2), r#"[{"a": []}]"#).1, Some(Stop::Deep));
        assert_eq!(read(&Lexer::new(2), &"[".repeat(100_000)).1, Some(Stop::Deep));
    }

    #[test]
    fn numbers_of_python_are_read_where_they_are_wanted() {
        let text = "[NaN, -Infinity, Infinity, -1]";
        let (tokens, stop) = read(&Lexer::of_python(9), text);
        let numbers: Vec<&str> = tokens.iter().filter_map(|token| token.strip_prefix("Number ")).collect();
        assert_eq!((numbers, stop), (vec!["NaN", "-Infinity", "Infinity", "-1"], None));
        assert!(read(&Lexer::new(9), text).1.is_some());
        for wrong in ["[Nan]", "[Infinit", "[--Infinity]", "[1NaN]", "[-NaN]", "NaN NaN", "{NaN: 1}", "[Infinityx]"] {
            assert!(read(&Lexer::of_python(9), wrong).1.is_some(), "{wrong}");
        }
    }

    #[test]
    fn a_reader_that_has_enough_gets_no_more() {
        let mut count = 0;
        let result = Lexer::new(9).read("[1, 2, x", |_| {
            count += 1;
            count < 3
        });
        assert_eq!((result, count), (Ok(()), 3));
    }
}
