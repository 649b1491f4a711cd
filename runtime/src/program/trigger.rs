//! What a lazy grammar begins with. Generated modules hold triggers as constants, so the type is here; what makes them is in
//! the grammar crate.

use std::borrow::Cow;

/// What a lazy grammar begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// This text, wherever it stands; the grammar begins with it.
    Word(Cow<'static, str>),
    /// A regular expression (as ECMAScript has them) over all text that the model wrote so far. The grammar begins
    /// where its first group does.
    Pattern(Cow<'static, str>),
}

impl Trigger {
    /// A word.
    pub const fn of_word(word: &'static str) -> Self {
        Self::Word(Cow::Borrowed(word))
    }

    /// A pattern.
    pub const fn of_pattern(pattern: &'static str) -> Self {
        Self::Pattern(Cow::Borrowed(pattern))
    }

    /// `word` or `pattern`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Word(_) => "word",
            Self::Pattern(_) => "pattern",
        }
    }

    /// The text or the regular expression.
    pub fn value(&self) -> &str {
        match self {
            Self::Word(value) | Self::Pattern(value) => value,
        }
    }
}
