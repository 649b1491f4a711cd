//! Why there is no template with marks.

use std::fmt;

use serde_json::Value;

/// Why marks cannot be put into a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ObstacleKind {
    /// The template renders none of the conversations with an answer.
    NotRendered,
    /// One statement writes text of the model and of the prompt, and no condition of the template tells which.
    SharedStatement,
    /// The statement that writes text of the model is in a block that hands its text on.
    Captured,
    /// With the marks the template would write another text.
    OtherText,
    /// With the marks another text would be marked.
    OtherMask,
}

impl ObstacleKind {
    /// The name that files and other languages have for it: `shared_statement`.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotRendered => "not_rendered",
            Self::SharedStatement => "shared_statement",
            Self::Captured => "captured",
            Self::OtherText => "other_text",
            Self::OtherMask => "other_mask",
        }
    }

    /// What it means.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::NotRendered => "the template renders no conversation with an answer",
            Self::SharedStatement => {
                "this statement writes text of the prompt and of the model, and no condition of the template tells which"
            }
            Self::Captured => {
                "the text of the model is written in a block that hands it on, which transformers cannot mark"
            }
            Self::OtherText => "with the marks the template would write another text",
            Self::OtherMask => "here the marks would hold another text than the model writes",
        }
    }

    /// What to do about it.
    pub fn next_step(self) -> &'static str {
        match self {
            Self::NotRendered => "unjinja lint says what the template refuses",
            _ => "write the model's text in a statement of its own, or take the mask of unjinja_tokens::Encoder",
        }
    }
}

/// Why marks cannot be put into a template, and where.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MarkObstacle {
    /// The cause.
    pub kind: ObstacleKind,
    /// The name of the template.
    pub file: String,
    /// The line of the statement, from 1.
    pub line: Option<u32>,
    /// The character in the line, from 1.
    pub column: Option<u32>,
    /// The variables of the smallest conversation that shows it.
    pub conversation: Value,
    /// The text around the byte where it shows.
    pub text: String,
}

impl fmt::Display for MarkObstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.kind.sentence())?;
        if !self.text.is_empty() {
            write!(f, ": {:?}", self.text)?;
        }
        write!(f, "\n  = next: {}", self.kind.next_step())
    }
}

impl std::error::Error for MarkObstacle {}
