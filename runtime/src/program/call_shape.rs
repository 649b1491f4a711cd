//! The shape of a tool call that is written as one object: which keys hold the name, the arguments and the id.
//!
//! This module holds data only; `readers/call_object.rs` reads the objects.

use super::text::{List, Text};

/// The keys of a call object.
///
/// | the object | `function_field` | `name_field` | `args_field` | `id_field` |
/// |---|---|---|---|---|
/// | `{"name": "f", "arguments": {…}}` | | `name` | `arguments` | |
/// | `{"type": "function", "id": "1", "function": {"name": "f", "arguments": {…}}}` | `function` | `name` | `arguments` | `id` |
/// | `{"f": {…}}`, with `name_is_key` | | | | |
///
/// Keys may come in any order. Unknown keys are skipped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CallShape {
    /// The key of a nested object that contains the name and the arguments; empty if they are not nested.
    pub function_field: Text,
    /// The key of the name; not used with `name_is_key`.
    pub name_field: Text,
    /// The key of the arguments; not used with `name_is_key`.
    pub args_field: Text,
    /// The key of the call's id, in the object itself or the nested one; empty if the format has no ids.
    pub id_field: Text,
    /// The first key is the name and its value the arguments.
    pub name_is_key: bool,
    /// The object is a Python dict, which [`call_dict`](crate::abi_2::Io::call_dict) reads.
    pub python: bool,
    /// Other keys that the format writes.
    pub keys: List<Text>,
    /// The name also stands before the object, where it announced the call.
    pub announced: bool,
    /// The template writes the arguments as JSON text in a string. Only grammars need to know.
    pub args_as_text: bool,
    /// No marker announces the call. Only an offered name makes the object a call, and before the name only the keys
    /// above may come.
    pub strict: bool,
}

impl CallShape {
    /// The role of a key at a depth, which counts braces from 1.
    pub(crate) fn role(&self, key: &[u8], depth: u8) -> Role {
        let is = |field: &str| !field.is_empty() && key == field.as_bytes();
        let nested = depth > 1 || self.function_field.is_empty();
        match () {
            () if is(&self.id_field) => Role::Id,
            () if self.name_is_key => Role::NameAsKey,
            () if depth == 1 && is(&self.function_field) => Role::Function,
            () if nested && is(&self.name_field) => {
                if self.announced {
                    Role::Other
                } else {
                    Role::Name
                }
            }
            () if nested && is(&self.args_field) => Role::Arguments,
            () => Role::Other,
        }
    }

    /// Whether the format writes this key.
    pub(crate) fn is_known(&self, key: &[u8], depth: u8) -> bool {
        self.role(key, depth) != Role::Other || self.keys.iter().any(|known| known.as_bytes() == key)
    }

    /// Whether a key with this beginning may be one that the format writes.
    pub(crate) fn knows(&self, beginning: &[u8]) -> bool {
        let fields = [&self.function_field, &self.name_field, &self.args_field, &self.id_field];
        self.name_is_key
            || fields
                .into_iter()
                .chain(&*self.keys)
                .any(|field| !field.is_empty() && field.as_bytes().starts_with(beginning))
    }
}

/// The role of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Role {
    Name,
    NameAsKey,
    Arguments,
    Id,
    Function,
    #[default]
    Other,
}
