//! JSON as Python's `json.loads` reads it: numbers of any size, `NaN` and `Infinity`, and the last of two values for one key.
//! The lexer of the runtime reads the text; this file makes values of its tokens.
//!
//! Open objects and lists are on a stack of their own, so that deep nesting needs no recursion here. Python gives up where
//! nesting is too deep; so does this reader.

use unjinja_runtime::literals::{Lexer, Start, Stop, Token};

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

/// Reads one value with white space around it.
pub(crate) fn loads(text: &str) -> Result<Value, JsonError> {
    let mut lexer = Lexer::of_python(DEEPEST);
    let mut builder = Builder::default();
    let read = lexer.read(text, |token| builder.take(token));
    match read.and_then(|()| if builder.fails { Ok(()) } else { lexer.finish(|token| builder.take(token)) }) {
        Ok(()) => builder.value.ok_or(JsonError::Digits),
        Err(Stop::Malformed { found, .. }) => Err(JsonError::Syntax(found.map_or(text.len(), |(at, _)| at))),
        Err(Stop::Deep) => Err(JsonError::Depth),
    }
}

/// An object or a list that is not complete yet.
enum Open {
    List(Vec<Value>),
    /// With the key whose value comes next.
    Dict(Dict, String),
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    /// What the value that is being read is, if it is neither an object nor a list.
    scalar: Option<Start>,
    /// The name, string or number that is being read.
    text: String,
    /// The whole value.
    value: Option<Value>,
    /// A number is not read.
    fails: bool,
}

impl Builder {
    /// Takes a token. Returns whether more are wanted.
    fn take(&mut self, token: Token<'_>) -> bool {
        match token {
            Token::Begin(Start::Array) => self.open.push(Open::List(Vec::new())),
            Token::Begin(Start::Object) => self.open.push(Open::Dict(Dict::default(), String::new())),
            Token::Begin(scalar) => self.scalar = Some(scalar),
            Token::Name => {}
            Token::Text(text) => self.text.push_str(text),
            Token::Escaped(character) => self.text.push(character),
            Token::Number(byte) => self.text.push(char::from(byte)),
            Token::NameEnd => {
                if let Some(Open::Dict(_, key)) = self.open.last_mut() {
                    *key = std::mem::take(&mut self.text);
                }
            }
            Token::End => match self.complete() {
                Some(value) => self.put(value),
                None => self.fails = true,
            },
        }
        !self.fails
    }

    /// The value that ends here.
    fn complete(&mut self) -> Option<Value> {
        let Some(scalar) = self.scalar.take() else {
            return Some(match self.open.pop()? {
                Open::List(items) => Value::List(items),
                Open::Dict(dict, _) => Value::Dict(dict),
            });
        };
        let text = std::mem::take(&mut self.text);
        match scalar {
            Start::Boolean(value) => Some(Value::Bool(value)),
            Start::String => Some(Value::Text(text)),
            Start::Number if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') => {
                number::int(&text).map(Value::Int)
            }
            Start::Number => text.parse().ok().map(Value::Float),
            Start::Null | Start::Array | Start::Object => Some(Value::Null),
        }
    }

    fn put(&mut self, value: Value) {
        match self.open.last_mut() {
            Some(Open::List(items)) => items.push(value),
            Some(Open::Dict(dict, key)) => dict.set(key, value),
            None => self.value = Some(value),
        }
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
