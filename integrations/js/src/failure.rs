//! Why an operation failed: the kind, which becomes the class of an error in JavaScript, and a text with the place and what to do.

use serde_json::json;
use unjinja_dynamic::{LoadError, ModelError};

/// The kinds of failures, by the names that JavaScript knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureKind {
    Load,
    Render,
    Tools,
    #[cfg(feature = "full")]
    Grammar,
    Request,
    /// The object was disposed of, or the module has no such operation.
    State,
}

impl FailureKind {
    fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Render => "render",
            Self::Tools => "tools",
            #[cfg(feature = "full")]
            Self::Grammar => "grammar",
            Self::Request => "request",
            Self::State => "state",
        }
    }
}

/// Why an operation failed.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: FailureKind,
    message: String,
    /// More bytes of the file may help: it is damaged, or was cut.
    cut: bool,
}

impl Failure {
    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), cut: false }
    }

    /// An argument has a value that is not allowed.
    pub(crate) fn request(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Request, message)
    }

    /// The module was made without this operation.
    pub(crate) fn missing(operation: &str) -> Self {
        let next = "load the module that has everything: import from `unjinja/full`";
        Self::new(FailureKind::State, format!("{operation}: the small module cannot do this\n  = next: {next}"))
    }

    /// The same, for a file that may have been cut.
    pub(crate) fn cut(mut self) -> Self {
        self.cut = true;
        self
    }

    /// What JavaScript reads.
    pub(crate) fn to_json(&self) -> String {
        json!({ "kind": self.kind.name(), "message": self.message, "cut": self.cut }).to_string()
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
