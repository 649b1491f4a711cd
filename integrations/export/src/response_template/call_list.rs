//! Calls as in Python, `[get_weather(city="Paris")]`, as the content parser `python-call-list` of transformers 5.24 reads them. Its grammar
//! is strict, so that all who read it agree: names before all arguments, no comma after the last one, no names that repeat, no
//! other escapes than JSON's and `\'`, integers that a double holds, and at most 100 lists and dicts inside each other.

use super::error::{ErrorKind, ReadError};
use super::value::{Dict, Value};

/// How many lists and dicts may enclose a value.
const DEEPEST: usize = 100;

/// The largest integer, and the smallest without its sign.
const LARGEST: u64 = (1 << 53) - 1;

/// The list of calls, each with `name` and `arguments`.
pub(crate) fn read(text: &str) -> Result<Value, ReadError> {
    let mut cursor = Cursor { text, at: 0 };
    cursor.expect('[')?;
    let calls = cursor.items(']', Cursor::call)?;
    cursor.skip_space();
    match cursor.at == text.len() {
        true => Ok(Value::List(calls)),
        false => cursor.fail("there is text after the list"),
    }
}

/// A place in the text.
struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn fail<T>(&self, cause: &str) -> Result<T, ReadError> {
        Err(ReadError::new(ErrorKind::Value, format!("these are no calls: {cause} (byte {})", self.at)))
    }

    fn skip_space(&mut self) {
        self.at += leading(self.rest(), |byte| b" \t\n\r".contains(&byte));
    }

    /// Whether a character comes next, after white space.
    fn is_at(&mut self, char: char) -> bool {
        self.skip_space();
        self.rest().starts_with(char)
    }

    /// Goes past a character, if it comes next.
    fn take(&mut self, char: char) -> bool {
        let is_next = self.is_at(char);
        self.at += if is_next { char.len_utf8() } else { 0 };
        is_next
    }

    fn expect(&mut self, char: char) -> Result<(), ReadError> {
        if self.take(char) { Ok(()) } else { self.fail(&format!("`{char}` is missing")) }
    }

    /// Items with commas between them, up to the bracket that closes them.
    fn items<T>(
        &mut self,
        close: char,
        mut item: impl FnMut(&mut Self) -> Result<T, ReadError>,
    ) -> Result<Vec<T>, ReadError> {
        let mut out = Vec::new();
        if self.take(close) {
            return Ok(out);
        }
        loop {
            out.push(item(self)?);
            if self.take(close) {
                return Ok(out);
            }
            self.expect(',')?;
        }
    }

    fn unique(&self, pairs: Vec<(String, Value)>) -> Result<Dict, ReadError> {
        let mut out = Dict::default();
        for (key, value) in pairs {
            if out.get(&key).is_some() {
                return self.fail(&format!("the name {key:?} repeats"));
            }
            out.set(&key, value);
        }
        Ok(out)
    }

    fn call(&mut self) -> Result<Value, ReadError> {
        let name = self.name("the name of a function")?.to_owned();
        self.expect('(')?;
        let arguments = self.items(')', Self::argument)?;
        let mut call = Dict::default();
        call.set("name", Value::Text(name));
        call.set("arguments", Value::Dict(self.unique(arguments)?));
        Ok(Value::Dict(call))
    }

    fn argument(&mut self) -> Result<(String, Value), ReadError> {
        let key = self.name("the name of an argument")?.to_owned();
        self.expect('=')?;
        Ok((key, self.value(0)?))
    }

    fn name(&mut self, what: &str) -> Result<&'t str, ReadError> {
        self.skip_space();
        let length = name_length(self.rest());
        if length == 0 {
            return self.fail(&format!("{what} is missing"));
        }
        let name = &self.rest()[..length];
        self.at += length;
        Ok(name)
    }

    /// A value inside `depth` lists and dicts.
    fn value(&mut self, depth: usize) -> Result<Value, ReadError> {
        if self.is_at('\'') || self.is_at('"') {
            return self.string().map(Value::Text);
        }
        if self.is_at('[') || self.is_at('{') {
            if depth >= DEEPEST {
                return self.fail("lists and dicts are nested too deep");
            }
            if self.take('[') {
                return self.items(']', |cursor| cursor.value(depth + 1)).map(Value::List);
            }
            self.expect('{')?;
            let pairs = self.items('}', |cursor| cursor.pair(depth + 1))?;
            return self.unique(pairs).map(Value::Dict);
        }
        if let Some((length, is_integer)) = number_length(self.rest()) {
            return self.number(length, is_integer);
        }
        let name = &self.rest()[..name_length(self.rest())];
        let value = match name {
            "True" | "true" => Value::Bool(true),
            "False" | "false" => Value::Bool(false),
            "None" | "null" => Value::Null,
            _ => return self.fail("a value is missing"),
        };
        self.at += name.len();
        Ok(value)
    }

    fn pair(&mut self, depth: usize) -> Result<(String, Value), ReadError> {
        if !self.is_at('\'') && !self.is_at('"') {
            return self.fail("the key of a dict must be a string");
        }
        let key = self.string()?;
        self.expect(':')?;
        Ok((key, self.value(depth)?))
    }

    fn number(&mut self, length: usize, is_integer: bool) -> Result<Value, ReadError> {
        let digits = &self.rest()[..length];
        let value = match is_integer {
            true => {
                let unsigned = digits.trim_start_matches('-');
                if !unsigned.parse().is_ok_and(|number: u64| number <= LARGEST) {
                    return self.fail("an integer is larger than 2^53 - 1");
                }
                Value::Int(if unsigned == "0" { unsigned } else { digits }.to_owned())
            }
            false => match digits.parse::<f64>() {
                Ok(number) if number.is_finite() => Value::Float(number),
                _ => return self.fail("a number is too large"),
            },
        };
        self.at += length;
        Ok(value)
    }

    /// A string. What is before the cursor when it fails is complete.
    fn string(&mut self) -> Result<String, ReadError> {
        let (mut out, mut at) = (String::new(), self.at + 1);
        let Some(quote) = self.rest().chars().next() else { return self.fail("a string is missing") };
        loop {
            let Some(char) = self.text[at..].chars().next() else { return self.fail("a string does not end") };
            at += char.len_utf8();
            match char {
                '\n' | '\r' => return self.fail("there is a line break in a string"),
                '\\' => match escape(&self.text[at..]) {
                    Some((escaped, length)) => {
                        out.push(escaped);
                        at += length;
                    }
                    None => return self.fail("a string has an escape that is not known"),
                },
                char if char == quote => {
                    self.at = at;
                    return Ok(out);
                }
                char => out.push(char),
            }
        }
    }
}

/// The character of an escape after its backslash, and how long it is. Half of a pair of surrogates is no character.
fn escape(text: &str) -> Option<(char, usize)> {
    let char = match text.chars().next()? {
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => {
            let first = hex(text.get(1..5)?)?;
            if !(0xd800..0xdc00).contains(&first) {
                return Some((char::from_u32(first)?, 5));
            }
            let second = hex(text.get(5..)?.strip_prefix("\\u")?.get(..4)?)?;
            let is_second = (0xdc00..0xe000).contains(&second);
            let code = 0x10000 + ((first - 0xd800) << 10) + second.checked_sub(0xdc00)?;
            return is_second.then(|| char::from_u32(code)).flatten().map(|char| (char, 11));
        }
        char if "\\'\"/".contains(char) => char,
        _ => return None,
    };
    Some((char, 1))
}

fn hex(digits: &str) -> Option<u32> {
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok()).flatten()
}

/// How many bytes at the start of a text are of a kind.
fn leading(text: &str, is_kind: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|byte| is_kind(*byte)).count()
}

/// How long the name at the start of a text is, 0 without one: letters of ASCII, digits and `_`, with dots and hyphens inside.
fn name_length(text: &str) -> usize {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if text.starts_with(|first: char| !first.is_ascii_alphabetic() && first != '_') {
        return 0;
    }
    let mut length = leading(text, is_letter);
    while length > 0 && text[length..].starts_with(['-', '.']) {
        match leading(&text[length + 1..], is_letter) {
            0 => break,
            more => length += 1 + more,
        }
    }
    length
}

/// How long the number at the start of a text is, and whether it is an integer.
fn number_length(text: &str) -> Option<(usize, bool)> {
    let is_digit = |byte: u8| byte.is_ascii_digit();
    let sign = usize::from(text.starts_with('-'));
    let digits = match leading(&text[sign..], is_digit) {
        0 => return None,
        _ if text[sign..].starts_with('0') => 1,
        digits => digits,
    };
    let integer = sign + digits;
    let mut length = integer;
    if text[length..].starts_with('.') {
        let digits = leading(&text[length + 1..], is_digit);
        length += if digits > 0 { 1 + digits } else { 0 };
    }
    if text[length..].starts_with(['e', 'E']) {
        let sign = usize::from(text[length + 1..].starts_with(['+', '-']));
        let digits = leading(&text[length + 1 + sign..], is_digit);
        length += if digits > 0 { 1 + sign + digits } else { 0 };
    }
    Some((length, length == integer))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> String {
        read(text).map_or_else(|error| error.to_string(), |value| value.to_string())
    }

    #[test]
    fn calls_are_read() {
        let cases = [
            (" [ ] ", "[]"),
            ("[f()]", r#"[{"name": "f", "arguments": {}}]"#),
            (
                "[g.x-1 ( a = 'it\\'s \"\\u00e9\\ud83d\\ude00\\n' , b=[True, null,{\"k\" : -0, 'l': 1.50e2}] ),\nf(c=\"\")]",
                "[{\"name\": \"g.x-1\", \"arguments\": {\"a\": \"it's \\\"é😀\\n\", \"b\": [true, null, {\"k\": 0, \"l\": 150.0}]}}, \
                 {\"name\": \"f\", \"arguments\": {\"c\": \"\"}}]",
            ),
            (
                "[f(a=9007199254740991, b=-9007199254740991)]",
                r#"[{"name": "f", "arguments": {"a": 9007199254740991, "b": -9007199254740991}}]"#,
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(read_text(text), expected, "{text}");
        }
        let deep = |depth: usize| format!("[f(a={}{})]", "[".repeat(depth), "]".repeat(depth));
        assert!(read(&deep(DEEPEST)).is_ok() && read(&deep(DEEPEST + 1)).is_err());
    }

    #[test]
    fn all_else_is_refused() {
        for text in [
            "",
            "f()",
            "[f]",
            "[f(]",
            "[f(1)]",
            "[f(a=1,)]",
            "[f(),]",
            "[f()] x",
            "[f(a=01)]",
            "[f(a=1.)]",
            "[f(a=.5)]",
            "[f(a=+1)]",
            "[f(a=1e400)]",
            "[f(a=9007199254740992)]",
            "[f(a=1, a=2)]",
            "[f(a={'k': 1, 'k': 2})]",
            "[f(a={1: 2})]",
            "[f(a='\n')]",
            "[f(a='\\x41')]",
            "[f(a='\\ud800')]",
            "[f(a='\\ud800\\u0041')]",
            "[f(a='\\u00e')]",
            "[f(a='b]",
            "[f(a=b)]",
            "[1f()]",
            "[f(a=Truex)]",
            "[é()]",
            "[f(a=(1, 2))]",
        ] {
            assert!(read(text).is_err(), "{text}: {}", read_text(text));
        }
    }
}
