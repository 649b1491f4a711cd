//! Why a pattern is not read.

use std::fmt;

/// Why a pattern is not read, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// What is wrong.
    pub cause: Cause,
    /// The offset of the place, in bytes.
    pub at: usize,
}

/// What is wrong with a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// In words.
    Wrong(&'static str),
    /// The dialect has no escape with this letter.
    UnknownEscape(char),
    /// No group of this name is before the reference to it.
    UnknownGroup(String),
    /// Two groups have this name.
    RepeatedGroup(String),
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wrong(cause) => f.write_str(cause),
            Self::UnknownEscape(letter) => write!(f, "the escape `\\{letter}` is not supported"),
            Self::UnknownGroup(name) => write!(f, "there is no group called `{name}` before this"),
            Self::RepeatedGroup(name) => write!(f, "two groups are called `{name}`; this is not supported"),
        }
    }
}
