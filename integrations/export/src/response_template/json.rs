//! JSON as Python's `json.loads` reads it: numbers of any size, `NaN` and `Infinity`, and the last of two values for one key.
//!
//! Open objects and lists are on a stack of their own, so that deep nesting needs no recursion here. Python gives up where
//! nesting is too deep; so does this reader.

use super::number;
use super::value::{Dict, Value};

/// How deep values may be nested. Python's limit depends on what it is doing, and is a little under 1000.
const DEEPEST: usize = 900;

/// Why a text is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonError {
    /// It is not JSON from this byte on.
    Syntax(usize),
    /// An integer has more digits than Python reads.
    Digits,
    /// Its values are nested too deep.
    Depth,
}

/// An object or a list that is not complete yet.
enum Open {
    List(Vec<Value>),
    /// With the key whose value comes next.
    Dict(Dict, String),
}

/// Reads one value with white space around it.
pub(crate) fn loads(text: &str) -> Result<Value, JsonError> {
    let mut reader = Reader { text, at: 0 };
    let mut open: Vec<Open> = Vec::new();
    loop {
        reader.space();
        let opens = reader.rest().starts_with(['[', '{']);
        if opens && open.len() >= DEEPEST {
            return Err(JsonError::Depth);
        }
        let mut value = if reader.take("[") {
            reader.space();
            if !reader.take("]") {
                open.push(Open::List(Vec::new()));
                continue;
            }
            Value::List(Vec::new())
        } else if reader.take("{") {
            reader.space();
            if !reader.take("}") {
                open.push(Open::Dict(Dict::default(), reader.key()?));
                continue;
            }
            Value::Dict(Dict::default())
        } else {
            reader.scalar()?
        };
        // The value is complete. It may be the last one of what is open.
        loop {
            reader.space();
            value = match open.pop() {
                None if reader.rest().is_empty() => return Ok(value),
                None => return reader.wrong(),
                Some(Open::List(mut items)) => {
                    items.push(value);
                    if reader.take(",") {
                        open.push(Open::List(items));
                        break;
                    }
                    reader.expect("]")?;
                    Value::List(items)
                }
                Some(Open::Dict(mut dict, key)) => {
                    dict.set(&key, value);
                    if reader.take(",") {
                        reader.space();
                        open.push(Open::Dict(dict, reader.key()?));
                        break;
                    }
                    reader.expect("}")?;
                    Value::Dict(dict)
                }
            };
        }
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The text is not JSON from here on.
    fn wrong<T>(&self) -> Result<T, JsonError> {
        Err(JsonError::Syntax(self.at))
    }

    fn space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    /// Takes a text, if it comes next.
    fn take(&mut self, text: &str) -> bool {
        let comes = self.rest().starts_with(text);
        self.at += if comes { text.len() } else { 0 };
        comes
    }

    /// Takes ASCII text that must come next. If it does not, the first byte that differs is wrong.
    fn expect(&mut self, text: &str) -> Result<(), JsonError> {
        let same = self.rest().bytes().zip(text.bytes()).take_while(|(found, wanted)| found == wanted).count();
        self.at += same;
        if same == text.len() { Ok(()) } else { self.wrong() }
    }

    /// Reads the key of an object, and its colon.
    fn key(&mut self) -> Result<String, JsonError> {
        let key = self.string()?;
        self.space();
        self.expect(":")?;
        Ok(key)
    }

    /// Reads a value that is neither an object nor a list.
    fn scalar(&mut self) -> Result<Value, JsonError> {
        let (word, value) = match self.rest().as_bytes() {
            [b'"', ..] => return self.string().map(Value::Text),
            [b'n', ..] => ("null", Value::Null),
            [b't', ..] => ("true", Value::Bool(true)),
            [b'f', ..] => ("false", Value::Bool(false)),
            [b'N', ..] => ("NaN", Value::Float(f64::NAN)),
            [b'I', ..] => ("Infinity", Value::Float(f64::INFINITY)),
            [b'-', b'I', ..] => ("-Infinity", Value::Float(f64::NEG_INFINITY)),
            _ => return self.number(),
        };
        self.expect(word)?;
        Ok(value)
    }

    fn number(&mut self) -> Result<Value, JsonError> {
        let from = self.at;
        self.take("-");
        if !self.take("0") {
            self.digits()?;
        }
        let whole = self.at;
        if self.take(".") {
            self.digits()?;
        }
        if self.take("e") || self.take("E") {
            let _signed = self.take("+") || self.take("-");
            self.digits()?;
        }
        let number = &self.text[from..self.at];
        match self.at == whole {
            true => number::int(number).map(Value::Int).ok_or(JsonError::Digits),
            false => number.parse().map(Value::Float).or_else(|_| self.wrong()),
        }
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        let count = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        self.at += count;
        if count > 0 { Ok(()) } else { self.wrong() }
    }

    fn string(&mut self) -> Result<String, JsonError> {
        self.expect("\"")?;
        let mut text = String::new();
        loop {
            let rest = self.rest();
            let plain = rest.find(|character| matches!(character, '"' | '\\' | '\0'..' ')).unwrap_or(rest.len());
            text.push_str(&rest[..plain]);
            self.at += plain;
            let mut units = Vec::new();
            while self.take("\\u") {
                units.push(self.unit()?);
            }
            // Half a surrogate pair is U+FFFD.
            text.extend(char::decode_utf16(units).map(|character| character.unwrap_or(char::REPLACEMENT_CHARACTER)));
            if self.take("\"") {
                return Ok(text);
            }
            if self.take("\\") {
                text.push(match self.rest().as_bytes().first() {
                    Some(&byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
                    Some(b'n') => '\n',
                    Some(b't') => '\t',
                    Some(b'r') => '\r',
                    Some(b'b') => '\u{8}',
                    Some(b'f') => '\u{c}',
                    _ => return self.wrong(),
                });
                self.at += 1;
            } else if self.rest().is_empty() || self.rest().starts_with(|character: char| character < ' ') {
                return self.wrong();
            }
        }
    }

    /// Reads the four digits of a code unit.
    fn unit(&mut self) -> Result<u16, JsonError> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.rest().chars().next().and_then(|digit| digit.to_digit(16));
            let Some(digit) = digit else { return self.wrong() };
            unit = unit << 4 | digit as u16;
            self.at += 1;
        }
        Ok(unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        loads(text).map_or_else(|error| format!("{error:?}"), |value| value.to_string())
    }

    #[test]
    fn json_is_read_as_python_reads_it() {
        let cases = [
            (" {\"a\": 1, \"b\": [], \"a\": {\"c\": -0}}\n", r#"{"a": {"c": 0}, "b": []}"#),
            (
                "[1e3, 1.50, 12345678901234567890, NaN, -Infinity, Infinity, null, true]",
                "[1000.0, 1.5, 12345678901234567890, NaN, -Infinity, Infinity, null, true]",
            ),
            (r#""\u00e9\ud83d\ude00\/\b\ud83d\ud83d""#, "\"é😀/\\b\u{fffd}\u{fffd}\""),
            (r#"{"a\n": {}, "": ""}"#, r#"{"a\n": {}, "": ""}"#),
            ("\"a\nb\"", "Syntax(2)"),
            ("01", "Syntax(1)"),
            ("1.", "Syntax(2)"),
            ("[1,]", "Syntax(3)"),
            ("{\"a\" 1}", "Syntax(5)"),
            ("", "Syntax(0)"),
            ("{'a': 1}", "Syntax(1)"),
            ("\u{a0}1", "Syntax(0)"),
            ("[NaN, Inf]", "Syntax(9)"),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text), expected, "{text:?}");
        }
        assert_eq!(loads(&"9".repeat(5000)), Err(JsonError::Digits));
        assert_eq!(loads(&format!("[{}]", "9".repeat(5000))), Err(JsonError::Digits));
    }

    #[test]
    fn deep_nesting_is_refused() {
        assert_eq!(loads(&"[".repeat(100_000)), Err(JsonError::Depth));
        let deep = format!("{}1{}", "[".repeat(DEEPEST), "]".repeat(DEEPEST));
        assert!(loads(&deep).is_ok());
    }
}
