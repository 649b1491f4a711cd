//! Reads JSON byte by byte and says what stands there. It holds one bit for each open array or object, and nothing of the
//! text. What it accepts is JSON as RFC 8259 has it.

/// Arrays and objects may be nested so deep. What is deeper is not judged.
const DEPTH: usize = 512;

/// What a value is, as its first byte says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    Null,
    Boolean(bool),
    Number,
    String,
    Array,
    Object,
}

/// A piece of a JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'t> {
    /// A value begins.
    Begin(Start),
    /// The name of a member begins.
    Name,
    /// A part of a string or name, without escapes.
    Text(&'t str),
    /// A character of a string or name that was written with an escape.
    Escaped(char),
    /// A byte of a number.
    Number(u8),
    /// The name is complete.
    NameEnd,
    /// The value is complete.
    End,
}

/// Why a text is not read further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// It is not JSON: what was expected, and what stood there; `None` if the text ended.
    Malformed(&'static str, Option<char>),
    /// It is nested too deeply.
    Deep,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before a value; after `[`, before a value or `]`.
    Value,
    ItemOrEnd,
    /// Before a name; after `{`, before a name or `}`.
    Name,
    NameOrEnd,
    Colon,
    /// Behind a value.
    Behind,
    /// Inside a string.
    Text,
    /// Behind a backslash.
    Escape,
    /// Inside `\uXXXX`: how many digits were read, and their value.
    Unicode(u8, u16),
    /// The rest of `true`, `false` or `null`.
    Word(&'static [u8]),
    Number(Digits),
}

/// What of a number was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Digits {
    Minus,
    Zero,
    Whole,
    Point,
    Fraction,
    E,
    ESign,
    Exponent,
}

impl Digits {
    fn may_end(self) -> bool {
        matches!(self, Self::Zero | Self::Whole | Self::Fraction | Self::Exponent)
    }

    fn next(self, byte: u8) -> Option<Self> {
        Some(match (self, byte) {
            (Self::Minus, b'0') => Self::Zero,
            (Self::Minus, b'1'..=b'9') | (Self::Whole, b'0'..=b'9') => Self::Whole,
            (Self::Zero | Self::Whole, b'.') => Self::Point,
            (Self::Point | Self::Fraction, b'0'..=b'9') => Self::Fraction,
            (Self::Zero | Self::Whole | Self::Fraction, b'e' | b'E') => Self::E,
            (Self::E, b'+' | b'-') => Self::ESign,
            (Self::E | Self::ESign | Self::Exponent, b'0'..=b'9') => Self::Exponent,
            _ => return None,
        })
    }
}

/// A reader of one JSON text.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    state: State,
    /// Whether each open value is an object.
    open: Vec<bool>,
    /// Whether the string is a name.
    name: bool,
    /// The first half of a surrogate pair.
    high: Option<u16>,
    /// Whether a value has begun.
    begun: bool,
}

type Read = Result<(), Stop>;

impl Reader {
    pub(super) fn new() -> Self {
        Self { state: State::Value, open: Vec::new(), name: false, high: None, begun: false }
    }

    /// Whether nothing but white space was read.
    pub(super) fn is_empty(&self) -> bool {
        !self.begun
    }

    /// Reads a piece of the text. The function gets each piece, and says whether it wants more.
    pub(super) fn read(&mut self, text: &str, mut take: impl FnMut(Piece<'_>) -> bool) -> Read {
        let bytes = text.as_bytes();
        let mut at = 0;
        let mut wanted = true;
        while let Some(&byte) = bytes.get(at) {
            if !wanted {
                return Ok(());
            }
            if self.state == State::Text {
                let rest = &bytes[at..];
                let plain = rest.iter().position(|&byte| matches!(byte, b'"' | b'\\' | 0..0x20)).unwrap_or(rest.len());
                if plain > 0 {
                    wanted =
                        self.unpaired(&mut take) && text.get(at..at + plain).is_none_or(|text| take(Piece::Text(text)));
                    at += plain;
                    continue;
                }
            }
            // A number ends before the byte that is not part of it.
            if let State::Number(digits) = self.state
                && digits.may_end()
                && digits.next(byte).is_none()
            {
                self.state = State::Behind;
                wanted = take(Piece::End);
                continue;
            }
            wanted = self.byte(byte, &mut take).map_err(|stop| match stop {
                Stop::Malformed(expected, _) => {
                    Stop::Malformed(expected, text.get(at..).and_then(|rest| rest.chars().next()))
                }
                Stop::Deep => stop,
            })?;
            at += 1;
        }
        Ok(())
    }

    /// The text ends here.
    pub(super) fn finish(&mut self, mut take: impl FnMut(Piece<'_>) -> bool) -> Read {
        if let State::Number(digits) = self.state
            && digits.may_end()
        {
            self.state = State::Behind;
            take(Piece::End);
        }
        let complete = self.state == State::Behind && self.open.is_empty();
        if complete { Ok(()) } else { Err(Stop::Malformed("the rest of the JSON", None)) }
    }

    /// Half a pair that stands alone is not a character.
    fn unpaired(&mut self, take: &mut impl FnMut(Piece<'_>) -> bool) -> bool {
        self.high.take().is_none() || take(Piece::Escaped(char::REPLACEMENT_CHARACTER))
    }

    fn byte(&mut self, byte: u8, take: &mut impl FnMut(Piece<'_>) -> bool) -> Result<bool, Stop> {
        let space = matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
        match self.state {
            State::Value | State::ItemOrEnd | State::Name | State::NameOrEnd | State::Colon | State::Behind
                if space =>
            {
                Ok(true)
            }
            State::ItemOrEnd if byte == b']' => Ok(self.close(take)),
            State::Value | State::ItemOrEnd => self.begin(byte, take),
            State::NameOrEnd if byte == b'}' => Ok(self.close(take)),
            State::Name | State::NameOrEnd if byte == b'"' => {
                (self.state, self.name) = (State::Text, true);
                Ok(take(Piece::Name))
            }
            State::Name | State::NameOrEnd => Err(Stop::Malformed("a name in double quotes", None)),
            State::Colon if byte == b':' => {
                self.state = State::Value;
                Ok(true)
            }
            State::Colon => Err(Stop::Malformed("a colon", None)),
            State::Behind => match (self.open.last(), byte) {
                (Some(true), b'}') | (Some(false), b']') => Ok(self.close(take)),
                (Some(true), b',') => {
                    self.state = State::Name;
                    Ok(true)
                }
                (Some(false), b',') => {
                    self.state = State::Value;
                    Ok(true)
                }
                (Some(true), _) => Err(Stop::Malformed("a comma or `}`", None)),
                (Some(false), _) => Err(Stop::Malformed("a comma or `]`", None)),
                (None, _) => Err(Stop::Malformed("the end of the JSON", None)),
            },
            State::Text => match byte {
                b'\\' => {
                    self.state = State::Escape;
                    Ok(true)
                }
                b'"' => {
                    let wanted = self.unpaired(take);
                    self.state = if self.name { State::Colon } else { State::Behind };
                    let end = if self.name { Piece::NameEnd } else { Piece::End };
                    Ok(wanted && take(end))
                }
                _ => Err(Stop::Malformed("an escape in place of a control character", None)),
            },
            State::Escape => self.escape(byte, take),
            State::Unicode(count, code) => self.unicode(byte, count, code, take),
            State::Word(rest) => match rest.split_first() {
                Some((&expected, rest)) if expected == byte => {
                    if rest.is_empty() {
                        self.state = State::Behind;
                        return Ok(take(Piece::End));
                    }
                    self.state = State::Word(rest);
                    Ok(true)
                }
                _ => Err(Stop::Malformed("`true`, `false` or `null`", None)),
            },
            State::Number(digits) => {
                let next = digits.next(byte).ok_or(Stop::Malformed("a digit", None))?;
                self.state = State::Number(next);
                Ok(take(Piece::Number(byte)))
            }
        }
    }

    fn begin(&mut self, byte: u8, take: &mut impl FnMut(Piece<'_>) -> bool) -> Result<bool, Stop> {
        let (start, state) = match byte {
            b'{' => (Start::Object, State::NameOrEnd),
            b'[' => (Start::Array, State::ItemOrEnd),
            b'"' => (Start::String, State::Text),
            b't' => (Start::Boolean(true), State::Word(b"rue")),
            b'f' => (Start::Boolean(false), State::Word(b"alse")),
            b'n' => (Start::Null, State::Word(b"ull")),
            b'-' => (Start::Number, State::Number(Digits::Minus)),
            b'0' => (Start::Number, State::Number(Digits::Zero)),
            b'1'..=b'9' => (Start::Number, State::Number(Digits::Whole)),
            _ => return Err(Stop::Malformed("a value", None)),
        };
        if matches!(start, Start::Object | Start::Array) {
            if self.open.len() >= DEPTH {
                return Err(Stop::Deep);
            }
            self.open.push(start == Start::Object);
        }
        (self.state, self.name, self.begun) = (state, false, true);
        let wanted = take(Piece::Begin(start));
        Ok(wanted && (start != Start::Number || take(Piece::Number(byte))))
    }

    fn close(&mut self, take: &mut impl FnMut(Piece<'_>) -> bool) -> bool {
        self.open.pop();
        self.state = State::Behind;
        take(Piece::End)
    }

    fn escape(&mut self, byte: u8, take: &mut impl FnMut(Piece<'_>) -> bool) -> Result<bool, Stop> {
        self.state = State::Text;
        let character = match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.state = State::Unicode(0, 0);
                return Ok(true);
            }
            _ => return Err(Stop::Malformed("an escape of JSON", None)),
        };
        Ok(self.unpaired(take) && take(Piece::Escaped(character)))
    }

    fn unicode(
        &mut self,
        byte: u8,
        count: u8,
        code: u16,
        take: &mut impl FnMut(Piece<'_>) -> bool,
    ) -> Result<bool, Stop> {
        let digit = char::from(byte).to_digit(16).and_then(|digit| u16::try_from(digit).ok());
        let code = (code << 4) | digit.ok_or(Stop::Malformed("four hexadecimal digits", None))?;
        if count < 3 {
            self.state = State::Unicode(count + 1, code);
            return Ok(true);
        }
        self.state = State::Text;
        let character = match (self.high, code) {
            (Some(high), 0xDC00..=0xDFFF) => {
                self.high = None;
                let pair = 0x10000 + ((u32::from(high) - 0xD800) << 10) + (u32::from(code) - 0xDC00);
                char::from_u32(pair)
            }
            (_, 0xD800..=0xDBFF) => {
                let wanted = self.unpaired(take);
                self.high = Some(code);
                return Ok(wanted);
            }
            _ => {
                if !self.unpaired(take) {
                    return Ok(false);
                }
                char::from_u32(u32::from(code))
            }
        };
        Ok(take(Piece::Escaped(character.unwrap_or(char::REPLACEMENT_CHARACTER))))
    }
}
