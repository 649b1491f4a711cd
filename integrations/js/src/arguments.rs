//! The arguments of an operation: an object whose members are taken one by one, so that one that nobody asks for is an error.

use serde_json::{Map, Value};
use unjinja_spec::nearest;

use crate::failure::Failure;

/// The arguments that are left, and the names that were asked for.
pub(crate) struct Arguments {
    members: Map<String, Value>,
    asked: Vec<&'static str>,
}

/// A value as an error shows it: not longer than a line.
pub(crate) fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

impl Arguments {
    /// Of JSON text. JavaScript writes it, so it is an object.
    pub(crate) fn new(value: Value) -> Self {
        let members = if let Value::Object(members) = value { members } else { Map::new() };
        Self { members, asked: Vec::new() }
    }

    /// A member; `None` if it is absent or null.
    pub(crate) fn value(&mut self, name: &'static str) -> Option<Value> {
        self.asked.push(name);
        self.members.shift_remove(name).filter(|value| !value.is_null())
    }

    /// Whether there is a member of this name.
    #[cfg(feature = "full")]
    pub(crate) fn has(&self, name: &str) -> bool {
        self.members.contains_key(name)
    }

    /// A text.
    pub(crate) fn text(&mut self, name: &'static str) -> Result<Option<String>, Failure> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(expected(name, "a string", &other)),
        }
    }

    /// A text that must be there.
    pub(crate) fn needed(&mut self, name: &'static str) -> Result<String, Failure> {
        self.text(name)?.ok_or_else(|| expected(name, "a string", &Value::Null))
    }

    /// True or false.
    pub(crate) fn flag(&mut self, name: &'static str) -> Result<Option<bool>, Failure> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::Bool(on)) => Ok(Some(on)),
            Some(other) => Err(expected(name, "true or false", &other)),
        }
    }

    /// A whole number that is not negative.
    pub(crate) fn number(&mut self, name: &'static str) -> Result<Option<u64>, Failure> {
        match self.value(name) {
            None => Ok(None),
            Some(value) => value.as_u64().map(Some).ok_or_else(|| expected(name, "a whole number", &value)),
        }
    }

    /// The number of an object.
    pub(crate) fn object(&mut self, name: &'static str) -> Result<Option<u32>, Failure> {
        Ok(self.number(name)?.map(|number| u32::try_from(number).unwrap_or(0)))
    }

    /// A list of texts.
    pub(crate) fn texts(&mut self, name: &'static str) -> Result<Option<Vec<String>>, Failure> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let texts = value.as_array().map(|list| list.iter().map(|one| one.as_str().map(str::to_owned)).collect());
        match texts {
            Some(Some(texts)) => Ok(Some(texts)),
            _ => Err(expected(name, "an array of strings", &value)),
        }
    }

    /// Nothing may be left.
    pub(crate) fn done(self) -> Result<(), Failure> {
        let Some(name) = self.members.keys().next() else { return Ok(()) };
        // JavaScript writes these itself, so nobody means them.
        let known = || self.asked.iter().copied().filter(|name| !name.starts_with('$'));
        let meant = nearest(name, known()).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let known = known().collect::<Vec<_>>().join(", ");
        Err(Failure::request(format!("{name}: there is no option of this name{meant}\n  = next: use one of {known}")))
    }
}

/// An argument is of another type.
pub(crate) fn expected(name: &str, what: &str, found: &Value) -> Failure {
    Failure::request(format!("{name}: expected {what}, found {}", shown(found)))
}
