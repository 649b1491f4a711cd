//! The conditions that a value must meet. Schemas are resolved into them.

use std::hash::{Hash, Hasher};

use serde_json::Value;

/// One condition. Two are equal if they refer to the same place of the same document.
#[derive(Clone, Copy, Debug)]
pub(super) enum Condition<'s> {
    Schema(&'s Value),
    Not(&'s Value),
    Types(u8),
    NoneOf(&'s [Value]),
    /// If the value is an object, it has this property.
    Require(&'s str),
    /// If the value is an object, it does not have this property.
    Forbid(&'s str),
    /// The value is an object with this property, and the property does not fit this schema.
    Unlike(&'s str, &'s Value),
}

impl Condition<'_> {
    fn key(&self) -> (u8, usize, usize) {
        let text = |text: &str| text.as_ptr() as usize;
        let value = |value: &Value| std::ptr::from_ref(value) as usize;
        match self {
            Self::Schema(schema) => (0, value(schema), 0),
            Self::Not(schema) => (1, value(schema), 0),
            Self::Types(types) => (2, usize::from(*types), 0),
            Self::NoneOf(values) => (3, values.as_ptr() as usize, values.len()),
            Self::Require(name) => (4, text(name), name.len()),
            Self::Forbid(name) => (5, text(name), name.len()),
            Self::Unlike(name, schema) => (6, text(name), value(schema)),
        }
    }
}

impl PartialEq for Condition<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Condition<'_> {}

impl Hash for Condition<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl PartialOrd for Condition<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Condition<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}
