//! The shape of a tool call that is written as one object: which keys hold the name, the arguments and the id.
//!
//! This module holds data only; `readers/call_object.rs` reads the objects.

use super::text::{List, Text, list, text};

/// The keys of a call object.
///
/// | the object | `function_field` | `name_field` | `args_field` | `id_field` |
/// |---|---|---|---|---|
/// | `{"name": "f", "arguments": {…}}` | | `name` | `arguments` | |
/// | `{"type": "function", "id": "1", "function": {"name": "f", "arguments": {…}}}` | `function` | `name` | `arguments` | `id` |
/// | `{"f": {…}}`, with `name_is_key` | | | | |
///
/// Keys may come in any order. If the arguments are not under their key, the other usual keys for them are read.
/// Members with unknown keys are broken markup.
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
    /// The object is a Python dict. JSON is read as well.
    pub python: bool,
    /// Other keys that the format writes.
    pub keys: List<Text>,
    /// The name also comes before the object, where it announced the call.
    pub announced: bool,
    /// The template writes the arguments as JSON text in a string. Only grammars need to know.
    pub args_as_text: bool,
    /// No marker announces the call. Only an offered name makes the object a call, and before the name only the keys
    /// above and short values may come.
    pub strict: bool,
}

const USUAL_ARGUMENTS: [&str; 4] = ["arguments", "parameters", "args", "input"];

impl CallShape {
    /// The shape that most formats write.
    pub const USUAL: Self = Self {
        function_field: text(""),
        name_field: text("name"),
        args_field: text("arguments"),
        id_field: text("id"),
        name_is_key: false,
        python: false,
        keys: list(&[]),
        announced: false,
        args_as_text: false,
        strict: false,
    };

    /// The role of a key at a depth, which counts braces from 1.
    pub(crate) fn role(&self, key: &[u8], depth: u8) -> Role {
        // Models write white space into keys.
        let key = key.trim_ascii();
        let is = |field: &str| !field.is_empty() && key == field.as_bytes();
        let usual = || USUAL_ARGUMENTS.iter().any(|usual| is(usual)) && !self.keys.iter().any(|known| is(known));
        let nested = depth > 1 || self.function_field.is_empty();
        if is(&self.id_field) {
            Role::Id
        } else if self.name_is_key {
            Role::NameAsKey
        } else if depth == 1 && is(&self.function_field) {
            Role::Function
        } else if nested && is(&self.name_field) {
            if self.announced { Role::Other } else { Role::Name }
        } else if nested && is(&self.args_field) {
            Role::Arguments
        } else if nested && !self.args_field.is_empty() && usual() {
            Role::UsualArguments
        } else if depth == 1
            && self.function_field.is_empty()
            && is("function")
            && !self.keys.iter().any(|known| is(known))
        {
            Role::UsualFunction
        } else if self.id_field.is_empty() && !self.keys.iter().any(|known| is(known)) && is("id") {
            Role::Id
        } else {
            Role::Other
        }
    }

    /// Whether a key with no meaning of its own is usual in a call.
    pub(crate) fn is_syntax(&self, key: &[u8]) -> bool {
        key == b"type" || (self.announced && key == self.name_field.as_bytes())
    }

    /// Whether the format writes this key.
    pub(crate) fn is_known(&self, key: &[u8], depth: u8) -> bool {
        self.role(key, depth) != Role::Other || self.keys.iter().any(|known| known.as_bytes() == key)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Role {
    Name,
    NameAsKey,
    Arguments,
    /// Arguments under another usual key, if the value is an object.
    UsualArguments,
    Id,
    Function,
    /// An object with the name and the arguments under its usual key, if the value is an object.
    UsualFunction,
    #[default]
    Other,
}
