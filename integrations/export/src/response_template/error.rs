//! Why an output cannot be read with a response template.

use std::fmt;

/// The kinds of errors, after the exceptions that transformers raises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// `ValueError`: a text does not have the form that the template says.
    Value,
    /// `KeyError`: a transform asks for something that is not there.
    Key,
    /// `TypeError`: a value is of a type that the reader did not expect.
    Type,
    /// `AttributeError`: a value is of a type that the reader did not expect.
    Attribute,
    /// `RecursionError`: values are nested too deep.
    Depth,
    /// Not an exception of a reader: a pattern ran away, and the search was given up.
    RanAway,
}

/// Why an output cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// What kind of error it is.
    pub kind: ErrorKind,
    /// The field that was read; empty if no field was.
    pub field: String,
    /// What is wrong.
    pub message: String,
}

impl ReadError {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, field: String::new(), message: message.into() }
    }

    pub(crate) fn in_field(mut self, field: &str) -> Self {
        if self.field.is_empty() {
            field.clone_into(&mut self.field);
        }
        self
    }

    pub(crate) fn ran_away(what: &str) -> Self {
        Self::new(ErrorKind::RanAway, format!("the pattern of {what} takes too many steps on this text"))
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.field.is_empty() {
            write!(f, "field `{}`: ", self.field)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ReadError {}
