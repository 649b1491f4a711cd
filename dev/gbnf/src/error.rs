//! What can be wrong with a grammar, and with a text.

use std::fmt;

/// Why a text is no grammar that the engine loads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The line, from 1.
    pub line: usize,
    /// The column in code points, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}, column {}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for Error {}

/// Where a text leaves a grammar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// So many bytes fit: the code point that does not begins here.
    pub offset: usize,
    /// What stands there: a code point in quotes, bytes that are no text, or the end.
    pub found: String,
    /// What could have stood there, as GBNF; `the end` where the text could have ended.
    pub expected: Vec<String>,
    /// The rules in which that is.
    pub rules: Vec<String>,
}

impl fmt::Display for Rejected {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let expected = self.expected.join(" or ");
        write!(out, "at byte {}: {} where {expected} was expected", self.offset, self.found)?;
        if self.rules.is_empty() { Ok(()) } else { write!(out, " (in {})", self.rules.join(", ")) }
    }
}

impl std::error::Error for Rejected {}
