//! Why there is no grammar.

use std::fmt;

use crate::schema::SchemaError;

/// Why there is no grammar.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GrammarError {
    /// The requested tool is not among the offered tools.
    UnknownTool(String),
    /// A call is required, but no tool is offered.
    NoTools,
    /// A call is required, but the format has no calls.
    NoCalls,
    /// The parser has no program: it was not made from a spec.
    NoProgram,
    /// No value fits a schema. The name is that of the tool; it is empty for the response schema.
    Schema(String, SchemaError),
    /// No text fits: the schemas contradict themselves.
    Nothing,
}

impl fmt::Display for GrammarError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownTool(name) => {
                write!(f, "the tool choice names {name:?}, which is not offered: offer it, or choose another")
            }
            Self::NoTools => write!(f, "a call is required, but no tool is offered: pass the tools"),
            Self::NoCalls => write!(f, "a call is required, but this format has no tool calls"),
            Self::Schema(tool, error) if tool.is_empty() => write!(f, "the response: {error}"),
            Self::Schema(tool, error) => write!(f, "the tool {tool:?}: {error}"),
            Self::NoProgram => {
                write!(f, "this parser was not made from a spec, so there is nothing to make a grammar of")
            }
            Self::Nothing => write!(f, "no output can satisfy the schemas: look for a schema that contradicts itself"),
        }
    }
}

impl std::error::Error for GrammarError {}
