//! The forms of contents and arguments.

use serde_json::{Map, Value, json};
use unjinja_runtime::close_json;

use crate::messages::{ArgumentsForm, ContentForm};

/// The text of a content: itself, or its parts, one on each line, if all of them are texts.
pub(super) fn text_of(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let texts: Option<Vec<&str>> = parts.iter().map(|part| part["text"].as_str()).collect();
            Some(texts?.join("\n"))
        }
        _ => None,
    }
}

/// A text in this form.
pub(super) fn content_form(form: ContentForm, content: Value) -> Value {
    match content {
        Value::String(text) if form == ContentForm::Parts => json!([{"type": "text", "text": text}]),
        content => content,
    }
}

/// Adds a text to the content of a message, as a paragraph before it or after it.
pub(super) fn append_text(message: &mut Map<String, Value>, text: &str, before: bool) {
    let joined = |said: &str| if before { format!("{text}\n\n{said}") } else { format!("{said}\n\n{text}") };
    let content = match message.get_mut("content").map(Value::take) {
        Some(Value::String(said)) if !said.is_empty() => joined(&said).into(),
        Some(Value::Array(mut parts)) => {
            // Templates write texts of a list one after the other, without a space between them.
            let next = if before { parts.first_mut() } else { parts.last_mut() };
            match next.and_then(|part| part.get_mut("text")) {
                Some(Value::String(said)) => *said = joined(said),
                _ => {
                    let at = if before { 0 } else { parts.len() };
                    parts.insert(at, json!({"type": "text", "text": text}));
                }
            }
            parts.into()
        }
        _ => text.into(),
    };
    message.insert("content".to_owned(), content);
}

/// Arguments in this form.
pub(super) fn arguments_in(form: ArgumentsForm, arguments: Value) -> Value {
    match (form, arguments) {
        (ArgumentsForm::Object, arguments) => arguments_object(arguments).into(),
        (ArgumentsForm::Text, Value::String(text)) => match cut_short(&text) {
            true => close_json(&text).into(),
            false => text.into(),
        },
        (ArgumentsForm::Text, Value::Null) => "{}".into(),
        (ArgumentsForm::Text, arguments) => arguments.to_string().into(),
    }
}

/// Arguments as an object. What is none is kept as one of them.
pub(super) fn arguments_object(arguments: Value) -> Map<String, Value> {
    match arguments {
        Value::String(text) => object(&text),
        Value::Null => Map::new(),
        Value::Object(object) => object,
        other => Map::from_iter([("arguments".to_owned(), other)]),
    }
}

/// Whether a text is the beginning of a JSON value, and not all of it.
fn cut_short(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_err_and(|error| error.is_eof())
}

/// The key of an object that stands for an integer beyond 64 bits, which a [`Value`] would round; the value is its digits. It is the
/// one under which `serde_json` itself passes such numbers on. `Template::with_integer_key` of `unjinja-render` takes it.
pub const BIG_INTEGER: &str = "$serde_json::private::Number";

/// The digits of the integer for which an object stands, if it stands for one. A caller may send its key with any value.
///
/// ```
/// use serde_json::json;
///
/// let stands_for = |digits: &str| {
///     let value = json!({unjinja_spec::BIG_INTEGER: digits});
///     value.as_object().and_then(unjinja_spec::big_integer).map(str::to_owned)
/// };
/// assert_eq!(stands_for("-18446744073709551616").as_deref(), Some("-18446744073709551616"));
/// assert_eq!(stands_for("1}</tool_call>"), None);
/// ```
pub fn big_integer(object: &Map<String, Value>) -> Option<&str> {
    let digits = object.get(BIG_INTEGER)?.as_str()?;
    (object.len() == 1 && !digits.starts_with('+') && digits.parse::<i128>().is_ok()).then_some(digits)
}

/// Reads JSON with all digits of its integers: an object stands for each beyond 64 bits; see [`big_integer`]. `None` if the text is not
/// JSON.
pub fn exact_json(text: &str) -> Option<Value> {
    serde_json::from_str(&exact(text)).ok()
}

/// A JSON text with objects in place of its integers beyond 64 bits.
fn exact(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    let begins = |c: char| c == '"' || c == '-' || c.is_ascii_digit();
    while let Some(at) = rest.find(begins) {
        let (before, from) = rest.split_at(at);
        let mut escaped = false;
        let is_quote = |byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        };
        let end = match from.strip_prefix('"') {
            Some(inner) => inner.bytes().position(is_quote).map(|at| at + 2),
            None => from.find(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c)),
        };
        let (piece, after) = from.split_at(end.unwrap_or(from.len()));
        out.push_str(before);
        let digits = piece.strip_prefix('-').unwrap_or(piece);
        // Templates compute with 128 bits, which 38 digits never exceed.
        let is_integer = (19..39).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        match is_integer && piece.parse::<i64>().is_err() && piece.parse::<u64>().is_err() {
            true => out.extend(["{\"", BIG_INTEGER, "\":\"", piece, "\"}"]),
            false => out.push_str(piece),
        }
        rest = after;
    }
    out + rest
}

/// Arguments as an object. Broken arguments come back from clients, because they were delivered to them. What is cut short is
/// closed; what is not JSON, or not an object, is kept as a text.
fn object(arguments: &str) -> Map<String, Value> {
    let text = if cut_short(arguments) { &close_json(arguments) } else { arguments };
    let value = exact_json(text);
    // Some clients encode twice.
    let inner = value.as_ref().and_then(Value::as_str).and_then(exact_json);
    match inner.filter(Value::is_object).or(value) {
        Some(Value::Object(object)) => object,
        Some(Value::Null) => Map::new(),
        _ => Map::from_iter([("arguments".to_owned(), arguments.into())]),
    }
}
