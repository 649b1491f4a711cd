//! A place in a tool's schema: the schema of an argument, of a member of it, or of the items of a list.
//!
//! Schemas are untrusted: references may go in circles. A place is found within a limit; without a result nothing is known,
//! which is always safe.

use serde_json::{Map, Value};

use super::arguments::types_at;
use super::document::Document;
use super::limits::MAX_LOOKED_UP;
use super::members::member;
use super::references::References;
use super::types::Types;

#[derive(Clone, Copy, Debug)]
pub(crate) struct SchemaPlace<'s> {
    /// The whole schema with its references, and the schema of this place.
    at: Option<(Document<'s, 's>, &'s Value)>,
}

impl<'s> SchemaPlace<'s> {
    pub(crate) const UNKNOWN: Self = Self { at: None };

    pub(crate) fn of(root: &'s Value, references: &'s References) -> Self {
        Self { at: Some((Document::new(root, references), root)) }
    }

    pub(crate) fn types(self) -> Types {
        self.at.map_or(Types::UNKNOWN, |(document, schema)| types_at(document, schema))
    }

    pub(crate) fn member(self, name: &str) -> Self {
        self.find(&|schema| member(schema, "properties")?.get(name))
            .or_else(|| self.find(&|schema| member(schema, "additionalProperties").filter(|others| others.is_object())))
            .unwrap_or(Self::UNKNOWN)
    }

    /// The place of the items, if a list is allowed here and its items are described; else this place.
    pub(crate) fn item(self) -> Self {
        let items = self.find(&|schema| member(schema, "items").filter(|items| items.is_object()));
        match items {
            Some(items) => items,
            None if self.types().is_list() => Self::UNKNOWN,
            None => self,
        }
    }

    /// What `read` finds first in the schemas that speak about this place.
    fn find(self, read: &dyn Fn(&'s Map<String, Value>) -> Option<&'s Value>) -> Option<Self> {
        let (document, schema) = self.at?;
        let found = document.subschemas(schema).take(MAX_LOOKED_UP).find_map(|subschema| read(subschema.schema))?;
        Some(Self { at: Some((document, found)) })
    }
}
