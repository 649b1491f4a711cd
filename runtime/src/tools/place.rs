//! A place in a tool's schema: the schema of an argument, of a member of it, or of the items of a list.
//!
//! Schemas are untrusted: references may go in circles. A place is found within a budget; without a result nothing is known,
//! which is always safe.

use serde_json::Value;

use super::references::{Document, References};
use super::schema::{reference, types_at};
use super::types::Types;

/// How many schemas are looked at to find a place.
const BUDGET: usize = 64;

/// A place in a tool's schema.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SchemaPlace<'s> {
    /// The whole schema with its references, and the schema of this place.
    at: Option<(Document<'s>, &'s Value)>,
}

impl<'s> SchemaPlace<'s> {
    /// Nothing is known.
    pub(crate) const UNKNOWN: Self = Self { at: None };

    /// The top of a schema.
    pub(crate) fn of(root: &'s Value, references: &'s References) -> Self {
        Self { at: Some(((root, references), root)) }
    }

    /// The types that are allowed here.
    pub(crate) fn types(self) -> Types {
        self.at.map_or(Types::UNKNOWN, |(document, schema)| types_at(document, schema))
    }

    /// The place of a member of an object.
    pub(crate) fn member(self, name: &str) -> Self {
        self.find(|schema| schema.get("properties")?.get(name))
            .or_else(|| self.find(|schema| schema.get("additionalProperties").filter(|others| others.is_object())))
            .unwrap_or(Self::UNKNOWN)
    }

    /// The place of the items, if a list is allowed here and its items are described; else this place.
    pub(crate) fn item(self) -> Self {
        let items = self.find(|schema| schema.get("items").filter(|items| items.is_object()));
        match items {
            Some(items) => items,
            None if self.types().is_list() => Self::UNKNOWN,
            None => self,
        }
    }

    /// What `part` finds first: in the schema of this place, in those that it refers to, and in those that it combines.
    fn find(self, part: impl Fn(&'s Value) -> Option<&'s Value>) -> Option<Self> {
        let ((root, references), schema) = self.at?;
        // Most schemas refer to nothing. The list stays empty then, and nothing is allocated.
        let (mut first, mut open) = (Some(schema), Vec::new());
        for _ in 0..BUDGET {
            let schema = first.take().or_else(|| open.pop())?;
            if let Some(found) = part(schema) {
                return Some(Self { at: Some(((root, references), found)) });
            }
            open.extend(reference(schema).and_then(|name| references.target(root, name)));
            for key in ["allOf", "anyOf", "oneOf"] {
                open.extend(schema.get(key).and_then(Value::as_array).into_iter().flatten());
            }
        }
        None
    }
}
