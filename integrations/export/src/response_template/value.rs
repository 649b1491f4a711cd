//! The values that a response template makes of a text: what Python's `json.loads` gives, because the readers are written in
//! Python. Integers have any number of digits, floats may be infinite, and a dictionary keeps the order of its keys.
//!
//! A value is written as Python's `json.dumps(value, ensure_ascii=False)` does, byte for byte.

use std::fmt;

use serde_json::{Map, Number};

use super::number;

/// A value as Python has it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `None`.
    Null,
    /// `True` or `False`.
    Bool(bool),
    /// An integer: its digits without leading zeros, after `-` if it is negative.
    Int(String),
    /// A float.
    Float(f64),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// A dictionary.
    Dict(Dict),
}

/// A dictionary: keys and values in the order in which the keys were first set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dict(Vec<(String, Value)>);

impl Dict {
    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The value of a key, to be changed.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.0.iter_mut().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Sets the value of a key. A known key keeps its place.
    pub fn set(&mut self, key: &str, value: Value) {
        match self.get_mut(key) {
            Some(old) => *old = value,
            None => self.0.push((key.to_owned(), value)),
        }
    }

    /// Keeps the keys for which this holds.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &Value) -> bool) {
        self.0.retain(|(key, value)| keep(key, value));
    }

    /// Keys and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Keys and values in order; the values can be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut Value)> {
        self.0.iter_mut().map(|(key, value)| (key.as_str(), value))
    }

    /// Whether there are no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Value {
    /// The text of a string.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value of a key, if this is a dictionary that has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Value::Dict(dict) => dict.get(key),
            _ => None,
        }
    }

    /// The name of the value's type in Python.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "NoneType",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Float(_) => "float",
            Value::Text(_) => "str",
            Value::List(_) => "list",
            Value::Dict(_) => "dict",
        }
    }

    /// Whether a reader leaves the value out of a message: `None`, and whatever holds nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Value::Null => true,
            Value::Text(text) => text.is_empty(),
            Value::List(items) => items.is_empty(),
            Value::Dict(dict) => dict.is_empty(),
            Value::Bool(_) | Value::Int(_) | Value::Float(_) => false,
        }
    }
}

impl From<&serde_json::Value> for Value {
    fn from(value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(value) => Value::Bool(*value),
            serde_json::Value::Number(number) => of_number(number),
            serde_json::Value::String(text) => Value::Text(text.clone()),
            serde_json::Value::Array(items) => Value::List(items.iter().map(Value::from).collect()),
            serde_json::Value::Object(map) => Value::Dict(Dict::from(map)),
        }
    }
}

impl From<&Map<String, serde_json::Value>> for Dict {
    fn from(map: &Map<String, serde_json::Value>) -> Self {
        Dict(map.iter().map(|(key, value)| (key.clone(), Value::from(value))).collect())
    }
}

fn of_number(number: &Number) -> Value {
    if number.is_i64() || number.is_u64() {
        return Value::Int(number.to_string());
    }
    Value::Float(number.as_f64().unwrap_or(f64::NAN))
}

/// The value as JSON, as Python's `json.dumps(value, ensure_ascii=False)` writes it.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Int(digits) => f.write_str(digits),
            Value::Float(value) => f.write_str(&number::float_text(*value)),
            Value::Text(text) => write_string(f, text),
            Value::List(items) => {
                f.write_str("[")?;
                for (number, item) in items.iter().enumerate() {
                    f.write_str(if number == 0 { "" } else { ", " })?;
                    item.fmt(f)?;
                }
                f.write_str("]")
            }
            Value::Dict(dict) => dict.fmt(f),
        }
    }
}

impl fmt::Display for Dict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (number, (key, value)) in self.iter().enumerate() {
            f.write_str(if number == 0 { "" } else { ", " })?;
            write_string(f, key)?;
            f.write_str(": ")?;
            value.fmt(f)?;
        }
        f.write_str("}")
    }
}

/// Python escapes the same characters as `serde_json`, in the same way.
fn write_string(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str(&serde_json::to_string(text).map_err(|_| fmt::Error)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_python_writes_them() {
        let value = serde_json::json!({"a": [1, 2.5, null, true], "b": {"é\u{1f}\u{7f}": "\"\\\n\u{8}/"}});
        let expected = "{\"a\": [1, 2.5, null, true], \"b\": {\"é\\u001f\u{7f}\": \"\\\"\\\\\\n\\b/\"}}";
        assert_eq!(Value::from(&value).to_string(), expected);
    }

    #[test]
    fn a_key_that_is_set_again_keeps_its_place() {
        let mut dict = Dict::default();
        for (key, value) in [("a", "1"), ("b", "2"), ("a", "3")] {
            dict.set(key, Value::Text(value.to_owned()));
        }
        assert_eq!(dict.to_string(), r#"{"a": "3", "b": "2"}"#);
    }
}
