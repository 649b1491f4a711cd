//! Why an operation failed: the kind, which becomes a class of errors in each language, and a text with the place and what to do.

use std::fmt::Display;

use unjinja_dynamic::{LoadError, ModelError};

/// The kinds of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// A template or a spec gives no model.
    Load,
    /// The template cannot render a conversation.
    Render,
    /// The list of tools cannot be read.
    Tools,
    /// No grammar fits the tools and the options.
    Grammar,
    /// An argument has a value that is not allowed.
    Request,
}

/// Why an operation failed.
#[derive(Debug)]
pub struct Failure {
    /// What has failed.
    pub kind: FailureKind,
    /// The place, the cause, and what to do next.
    pub message: String,
}

impl Failure {
    /// A failure of this kind.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// An argument has a value that is not allowed.
    pub fn request(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Request, message)
    }

    /// A template or a spec gives no model.
    pub fn load(error: &impl Display) -> Self {
        Self::new(FailureKind::Load, error.to_string())
    }
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        let kind = match error {
            ModelError::Render(_) | ModelError::NoTemplate { .. } => FailureKind::Render,
            _ => FailureKind::Load,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        ModelError::from(error).into()
    }
}
