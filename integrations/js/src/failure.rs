//! Why an operation failed: the kind, which becomes the class of an error in JavaScript, and a text with the place and what to do.

use serde_json::json;
use unjinja_bindings::{Failure as Told, FailureKind};
use unjinja_dynamic::{LoadError, ModelError};

/// Why an operation failed.
#[derive(Debug)]
pub(crate) struct Failure {
    /// By the name that JavaScript knows.
    kind: &'static str,
    message: String,
    /// More bytes of the file may help: it is damaged, or was cut.
    cut: bool,
}

impl Failure {
    /// An argument has a value that is not allowed.
    pub(crate) fn request(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Request, message)
    }

    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Told::new(kind, message).into()
    }

    /// The object was disposed of, or the module has no such operation.
    pub(crate) fn state(message: String) -> Self {
        Self { kind: "state", message, cut: false }
    }

    /// The module was made without this operation.
    pub(crate) fn missing(operation: &str) -> Self {
        let next = "load the module that has everything: import from `unjinja/full`";
        Self::state(format!("{operation}: the small module cannot do this\n  = next: {next}"))
    }

    /// The same, for a file that may have been cut.
    pub(crate) fn cut(mut self) -> Self {
        self.cut = true;
        self
    }

    /// What JavaScript reads.
    pub(crate) fn to_json(&self) -> String {
        json!({ "kind": self.kind, "message": self.message, "cut": self.cut }).to_string()
    }
}

impl From<Told> for Failure {
    fn from(told: Told) -> Self {
        let kind = match told.kind {
            FailureKind::Load => "load",
            FailureKind::Render => "render",
            FailureKind::Tools => "tools",
            FailureKind::Grammar => "grammar",
            FailureKind::Request => "request",
        };
        Self { kind, message: told.message, cut: false }
    }
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        Told::from(error).into()
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        Told::from(error).into()
    }
}
