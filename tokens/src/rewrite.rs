//! What a template writes anew as a conversation continues.

use std::fmt;

use unjinja_render::SourcePosition;

/// Where a template writes something anew that a model has read or written already.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rewrite {
    /// The position of the assistant's message whose turn, or whose prompt, is changed.
    pub message: usize,
    /// The first byte of the prompt that is another one.
    pub at: usize,
    /// What stood there: the statement of the template that wrote it, and the beginning of the text.
    pub before: PromptText,
    /// What is there once the conversation continues.
    pub after: PromptText,
}

/// A text of a prompt and the statement that wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromptText {
    /// The beginning of the text; empty at the end of a prompt.
    pub text: String,
    /// The place of the statement in the template.
    pub statement: Option<SourcePosition>,
}

impl fmt::Display for Rewrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "messages[{}]: {} becomes {}", self.message, self.before, self.after)
    }
}

impl fmt::Display for PromptText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.text.is_empty() {
            return f.write_str("the end of the prompt");
        }
        write!(f, "{:?}", self.text)?;
        match self.statement {
            Some(SourcePosition { line, column }) => write!(f, " (line {line}, column {column})"),
            None => Ok(()),
        }
    }
}
