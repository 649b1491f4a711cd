//! Triggers: what activates a lazy grammar. Generated modules hold triggers as constants, so the type is here. The
//! grammar crate makes them.

use std::borrow::Cow;

/// What activates a lazy grammar.
///
/// ```
/// use unjinja_runtime::Trigger;
///
/// let trigger = Trigger::of_word("<tool_call>");
/// assert_eq!((trigger.kind(), trigger.value()), ("word", "<tool_call>"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// This text, wherever it occurs. The grammar begins with it.
    Word(Cow<'static, str>),
    /// A regular expression, in the syntax of ECMAScript, over all text that the model has written. The grammar begins
    /// at its first group.
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
