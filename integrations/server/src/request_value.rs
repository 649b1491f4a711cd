//! Reads a request: a JSON value together with its path, so that every error names its place. It knows no API.

use serde_json::{Map, Value};
use unjinja_spec::exact_json;

use crate::error::ApiError;

/// A value in a request.
#[derive(Debug, Clone)]
pub(crate) struct RequestValue<'v> {
    pub value: &'v Value,
    /// `messages[0].content`; empty for the whole request.
    pub path: String,
}

impl<'v> RequestValue<'v> {
    pub(crate) fn root(value: &'v Value) -> Self {
        Self { value, path: String::new() }
    }

    /// The path of a member.
    pub(crate) fn path_of(&self, key: &str) -> String {
        let key = shortened(key);
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// A member that is present and not null. `None` if this is not an object.
    pub(crate) fn get(&self, key: &str) -> Option<Self> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        Some(Self { value, path: self.path_of(key) })
    }

    /// A member that must be there.
    pub(crate) fn need(&self, key: &str, what: &str) -> Result<Self, ApiError> {
        self.get(key).ok_or_else(|| ApiError::invalid(&self.path_of(key), "this is missing", format!("give {what}")))
    }

    /// A text that may be absent.
    pub(crate) fn get_text(&self, key: &str) -> Result<Option<&'v str>, ApiError> {
        self.get(key).map(|place| place.text()).transpose()
    }

    /// A boolean that may be absent.
    pub(crate) fn get_bool(&self, key: &str) -> Result<Option<bool>, ApiError> {
        let Some(place) = self.get(key) else { return Ok(None) };
        place.value.as_bool().map(Some).ok_or_else(|| place.expected("a boolean"))
    }

    /// A whole number of at least `least` that may be absent.
    pub(crate) fn get_count(&self, key: &str, least: u64) -> Result<Option<u64>, ApiError> {
        let Some(place) = self.get(key) else { return Ok(None) };
        let number = place.value.as_u64().filter(|number| *number >= least);
        number.map(Some).ok_or_else(|| place.expected(&format!("a whole number of at least {least}")))
    }

    /// The items of a list that may be absent.
    pub(crate) fn get_list(&self, key: &str) -> Result<Vec<Self>, ApiError> {
        self.get(key).map_or(Ok(Vec::new()), |place| place.list())
    }

    pub(crate) fn text(&self) -> Result<&'v str, ApiError> {
        self.value.as_str().ok_or_else(|| self.expected("a string"))
    }

    pub(crate) fn object(&self) -> Result<&'v Map<String, Value>, ApiError> {
        self.value.as_object().ok_or_else(|| self.expected("an object"))
    }

    pub(crate) fn list(&self) -> Result<Vec<Self>, ApiError> {
        let list = self.value.as_array().ok_or_else(|| self.expected("a list"))?;
        let item = |(at, value)| Self { value, path: format!("{}[{at}]", self.path) };
        Ok(list.iter().enumerate().map(item).collect())
    }

    /// The error for a value of another type.
    pub(crate) fn expected(&self, what: &str) -> ApiError {
        ApiError::invalid(&self.path, format!("this is {}", shown(self.value)), format!("give {what}"))
    }

    /// The error for a value that the API does not know.
    pub(crate) fn unknown(&self, known: &str) -> ApiError {
        ApiError::invalid(&self.path, format!("{} is not known", shown(self.value)), format!("use one of {known}"))
    }

    /// The error for something that the API knows, and that is not supported here.
    pub(crate) fn unsupported(&self, what: &str, next: &str) -> ApiError {
        ApiError::unsupported(&self.path, format!("{what} not supported"), next)
    }
}

/// The beginning of a name, for an error or a header: a client may send a long one.
pub(crate) fn shortened(name: &str) -> &str {
    name.char_indices().nth(80).and_then(|(at, _)| name.get(..at)).unwrap_or(name)
}

/// The body of a request as JSON. Arguments of calls in its history keep all digits of their integers; see [`exact_json`].
pub(crate) fn parse(body: &[u8]) -> Result<Value, ApiError> {
    let mut value = serde_json::from_slice(body).map_err(|error| match error.to_string() {
        text if text.starts_with("recursion limit exceeded") => ApiError::invalid(
            "",
            "the request is nested too deeply",
            "send at most 127 lists and objects within each other",
        ),
        text => ApiError::invalid("", format!("the request is not JSON: {text}"), "send a JSON object"),
    })?;
    let is_long = body.split(|byte| !byte.is_ascii_digit()).any(|run| run.len() > 18);
    if is_long && let Some(mut exact) = std::str::from_utf8(body).ok().and_then(exact_json) {
        keep_digits(&mut value, &mut exact, &["messages", "input"]);
    }
    Ok(value)
}

/// Takes arguments from where they have all digits. Of the object itself only these members are looked at, of those in it all.
fn keep_digits(value: &mut Value, exact: &mut Value, members: &[&str]) {
    match (value, exact) {
        (Value::Array(items), Value::Array(exact)) => {
            items.iter_mut().zip(exact).for_each(|(item, exact)| keep_digits(item, exact, &[]));
        }
        (Value::Object(fields), Value::Object(exact)) => {
            let inner = |key: &str| members.is_empty() || members.contains(&key);
            for ((key, field), (_, exact)) in fields.iter_mut().zip(exact).filter(|((key, _), _)| inner(key)) {
                match key.as_str() {
                    "arguments" | "input" if field.is_object() => *field = exact.take(),
                    _ => keep_digits(field, exact, &[]),
                }
            }
        }
        _ => {}
    }
}

/// A value for an error message: its type, or a short text itself.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) if text.chars().count() <= 40 => format!("{text:?}"),
        Value::String(_) => "a long string".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}
