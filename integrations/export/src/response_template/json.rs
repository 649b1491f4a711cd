//! JSON as Python's `json.loads` reads it: numbers of any size, `NaN` and `Infinity`, the last of two values for one key, and
//! no control characters in strings.
//!
//! Open objects and lists are on a stack of their own, so that deep nesting needs no recursion here. Python gives up where
//! nesting is too deep; so does this reader.

use super::value::{Dict, Value};

/// How deep values may be nested. Python's limit depends on what it is doing, and is a little under 1000.
const DEEPEST: usize = 900;

/// Why a text is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonError {
    /// It is not JSON from this byte on.
    Syntax(usize),
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
    Reader { text, at: 0 }.document()
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn document(mut self) -> Result<Value, JsonError> {
        let mut open: Vec<Open> = Vec::new();
        'value: loop {
            self.skip_space();
            let mut value = match self.peek() {
                Some(b'[') => {
                    self.at += 1;
                    self.skip_space();
                    if self.take(b']') {
                        Value::List(Vec::new())
                    } else {
                        deeper(&mut open, Open::List(Vec::new()))?;
                        continue 'value;
                    }
                }
                Some(b'{') => {
                    self.at += 1;
                    self.skip_space();
                    if self.take(b'}') {
                        Value::Dict(Dict::default())
                    } else {
                        let key = self.key()?;
                        deeper(&mut open, Open::Dict(Dict::default(), key))?;
                        continue 'value;
                    }
                }
                _ => self.scalar()?,
            };
            // Put the value where it belongs, and close what it completes.
            loop {
                self.skip_space();
                match open.pop() {
                    None => {
                        return if self.at == self.text.len() { Ok(value) } else { self.wrong() };
                    }
                    Some(Open::List(mut items)) => {
                        items.push(value);
                        if self.take(b',') {
                            open.push(Open::List(items));
                            continue 'value;
                        }
                        self.expect(b']')?;
                        value = Value::List(items);
                    }
                    Some(Open::Dict(mut dict, key)) => {
                        dict.set(&key, value);
                        if self.take(b',') {
                            self.skip_space();
                            let key = self.key()?;
                            open.push(Open::Dict(dict, key));
                            continue 'value;
                        }
                        self.expect(b'}')?;
                        value = Value::Dict(dict);
                    }
                }
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn expect(&mut self, byte: u8) -> Result<(), JsonError> {
        if self.take(byte) { Ok(()) } else { self.wrong() }
    }

    fn wrong<T>(&self) -> Result<T, JsonError> {
        Err(JsonError::Syntax(self.at))
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// A key with its colon.
    fn key(&mut self) -> Result<String, JsonError> {
        if self.peek() != Some(b'"') {
            return self.wrong();
        }
        let key = self.string()?;
        self.skip_space();
        self.expect(b':')?;
        Ok(key)
    }

    fn scalar(&mut self) -> Result<Value, JsonError> {
        let words = [
            ("null", Value::Null),
            ("true", Value::Bool(true)),
            ("false", Value::Bool(false)),
            ("NaN", Value::Float(f64::NAN)),
            ("Infinity", Value::Float(f64::INFINITY)),
            ("-Infinity", Value::Float(f64::NEG_INFINITY)),
        ];
        let rest = &self.text[self.at..];
        if rest.starts_with('"') {
            return self.string().map(Value::Text);
        }
        if let Some((word, value)) = words.into_iter().find(|(word, _)| rest.starts_with(word)) {
            self.at += word.len();
            return Ok(value);
        }
        self.number()
    }

    fn number(&mut self) -> Result<Value, JsonError> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') && !self.digits() {
            return self.wrong();
        }
        let whole = self.at;
        // A fraction or an exponent without digits does not belong to the number.
        if self.take(b'.') && !self.digits() {
            self.at = whole;
        }
        let fraction = self.at;
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            if !self.digits() {
                self.at = fraction;
            }
        }
        let text = &self.text[start..self.at];
        if self.at == whole {
            return super::number::int(text).map(Value::Int).ok_or(JsonError::Syntax(start));
        }
        text.parse().map(Value::Float).map_err(|_| JsonError::Syntax(start))
    }

    fn digits(&mut self) -> bool {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at > start
    }

    fn string(&mut self) -> Result<String, JsonError> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(end) = rest.find(|char: char| char < ' ' || char == '"' || char == '\\') else {
                return self.wrong();
            };
            out.push_str(&rest[..end]);
            self.at += end;
            if self.take(b'"') {
                return Ok(out);
            }
            if !self.take(b'\\') {
                return self.wrong();
            }
            let escape = self.peek().ok_or(JsonError::Syntax(self.at))?;
            let char = match escape {
                b'"' | b'\\' | b'/' => char::from(escape),
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                b'n' => '\n',
                b'r' => '\r',
                b't' => '\t',
                b'u' => {
                    self.at += 1;
                    out.push(self.unicode()?);
                    continue;
                }
                _ => return self.wrong(),
            };
            out.push(char);
            self.at += 1;
        }
    }

    /// The character of `\uXXXX`, or of two of them. Half of a pair, which Python keeps, is replaced: it is not text.
    fn unicode(&mut self) -> Result<char, JsonError> {
        let first = self.hex()?;
        if !(0xd800..0xdc00).contains(&first) || !self.text[self.at..].starts_with("\\u") {
            return Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        let after_first = self.at;
        self.at += 2;
        let second = self.hex()?;
        if !(0xdc00..0xe000).contains(&second) {
            self.at = after_first;
            return Ok(char::REPLACEMENT_CHARACTER);
        }
        let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex(&mut self) -> Result<u32, JsonError> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4).unwrap_or_default();
        if digits.len() < 4 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return self.wrong();
        }
        let code = u32::from_str_radix(&self.text[self.at..self.at + 4], 16);
        self.at += 4;
        code.map_err(|_| JsonError::Syntax(self.at))
    }
}

fn deeper(open: &mut Vec<Open>, new: Open) -> Result<(), JsonError> {
    if open.len() >= DEEPEST {
        return Err(JsonError::Depth);
    }
    open.push(new);
    Ok(())
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
                "[1e3, 1.50, 12345678901234567890, NaN, -Infinity]",
                "[1000.0, 1.5, 12345678901234567890, NaN, -Infinity]",
            ),
            (r#""\u00e9\ud83d\ude00\/\b""#, "\"é😀/\\b\""),
            ("\"a\nb\"", "Syntax(2)"),
            ("01", "Syntax(1)"),
            ("1.", "Syntax(1)"),
            ("[1,]", "Syntax(3)"),
            ("{\"a\" 1}", "Syntax(5)"),
            ("", "Syntax(0)"),
            ("{'a': 1}", "Syntax(1)"),
            ("\u{a0}1", "Syntax(0)"),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text), expected, "{text:?}");
        }
    }

    #[test]
    fn deep_nesting_is_refused() {
        assert_eq!(loads(&"[".repeat(100_000)), Err(JsonError::Depth));
        let deep = format!("{}1{}", "[".repeat(DEEPEST), "]".repeat(DEEPEST));
        assert!(loads(&deep).is_ok());
    }
}
