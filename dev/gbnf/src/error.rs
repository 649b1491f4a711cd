//! The errors of a grammar and of a text.

use std::fmt;

/// Why the engine does not load a grammar.
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

/// The place where a text stops fitting a grammar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// The offset of the first code point that does not fit, in bytes.
    pub offset: usize,
    /// What was found: a code point in quotes, bytes that are not UTF-8, or the end.
    pub found: String,
    /// What was expected, as GBNF; `the end` if the text could have ended.
    pub expected: Vec<String>,
    /// The rules that the text was in.
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
