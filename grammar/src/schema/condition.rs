//! The conditions that a value must meet: what schemas are taken apart into.

use std::hash::{Hash, Hasher};

use serde_json::Value;

/// One thing that must hold. Equal if it is the same place of the same document.
#[derive(Clone, Copy, Debug)]
pub(super) enum Condition<'s> {
    /// A value fits this schema.
    Schema(&'s Value),
    /// It does not fit this one.
    Not(&'s Value),
    /// It is of one of these types.
    Types(u8),
    /// It is none of these values.
    NoneOf(&'s [Value]),
    /// If it is an object, it has this property.
    Require(&'s str),
    /// If it is an object, it has no such property.
    Forbid(&'s str),
    /// It is an object with this property, whose value does not fit this schema.
    Unlike(&'s str, &'s Value),
}

impl Condition<'_> {
    /// What it is told from others by.
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
