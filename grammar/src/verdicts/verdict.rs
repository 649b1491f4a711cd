//! A verdict: what does not fit, where, and why.

use std::fmt;

use serde::ser::{Serialize, SerializeStruct, Serializer};

/// A call that cannot fit its tool any more, however it continues.
///
/// Under serde it is `{"kind": "wrong_type", "call": 0, "tool": "get_weather", "path": "/days", "expected": "an integer",
/// "found": "a string"}`.
///
/// ```
/// use unjinja_grammar::{Verdict, VerdictKind};
///
/// let verdict = Verdict {
///     call: 0,
///     tool: "get_weather".to_owned(),
///     path: "/days".to_owned(),
///     kind: VerdictKind::WrongType,
///     expected: "an integer".to_owned(),
///     found: "a string".to_owned(),
/// };
/// assert_eq!(verdict.to_string(), "tool call 0 (`get_weather`): /days: expected an integer, found a string");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The call, by its position among the message's calls, from 0.
    pub call: usize,
    /// The name of the tool, as the model wrote it.
    pub tool: String,
    /// The value that does not fit, as a JSON pointer (RFC 6901) into the arguments; empty if it is the arguments themselves.
    /// For a missing member it is the object that lacks it. Very long names are cut short.
    pub path: String,
    /// Its kind.
    pub kind: VerdictKind,
    /// What was expected.
    pub expected: String,
    /// What was found. Long values are cut short.
    pub found: String,
}

/// The kinds of verdicts. Under serde they are written in snake case: `"unknown_tool"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum VerdictKind {
    /// The call names a tool that was not offered.
    UnknownTool,
    /// The arguments are not JSON. Nothing more is said about the call.
    Malformed,
    /// The value has a type that the schema does not allow.
    WrongType,
    /// The value is not one of those that the schema lists, or one that it excludes.
    NotListed,
    /// The number is too low or too high.
    OutOfRange,
    /// The string is too short or too long.
    WrongLength,
    /// The string does not match a pattern or format.
    WrongPattern,
    /// The object has a member that the schema does not allow.
    UnknownMember,
    /// The object lacks a member that the schema requires.
    MissingMember,
    /// The object has too few or too many members.
    WrongMemberCount,
    /// The array has too few or too many items.
    WrongItemCount,
    /// The array lacks items that the schema says it contains.
    MissingItem,
    /// The value fits none of several alternatives, for different reasons.
    NoAlternative,
}

impl VerdictKind {
    /// Its name, in snake case.
    pub fn name(self) -> &'static str {
        match self {
            Self::UnknownTool => "unknown_tool",
            Self::Malformed => "malformed",
            Self::WrongType => "wrong_type",
            Self::NotListed => "not_listed",
            Self::OutOfRange => "out_of_range",
            Self::WrongLength => "wrong_length",
            Self::WrongPattern => "wrong_pattern",
            Self::UnknownMember => "unknown_member",
            Self::MissingMember => "missing_member",
            Self::WrongMemberCount => "wrong_member_count",
            Self::WrongItemCount => "wrong_item_count",
            Self::MissingItem => "missing_item",
            Self::NoAlternative => "no_alternative",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { call, tool, path, expected, found, .. } = self;
        write!(f, "tool call {call} (`{tool}`): ")?;
        if !path.is_empty() {
            write!(f, "{path}: ")?;
        }
        write!(f, "expected {expected}, found {found}")
    }
}

impl Serialize for VerdictKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

// Written by hand, because serde's derive would make every application compile syn.
impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Verdict", 6)?;
        object.serialize_field("kind", &self.kind)?;
        object.serialize_field("call", &self.call)?;
        object.serialize_field("tool", &self.tool)?;
        object.serialize_field("path", &self.path)?;
        object.serialize_field("expected", &self.expected)?;
        object.serialize_field("found", &self.found)?;
        object.end()
    }
}
