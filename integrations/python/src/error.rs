//! The exceptions. Each carries the text of the Rust error: the place, the cause, and what to do next.

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use unjinja_bindings::{Failure, FailureKind};
use unjinja_dynamic::ModelError;
use unjinja_tokens::TokensError;

create_exception!(unjinja, UnjinjaError, PyValueError, "The base of all exceptions of this package.");
create_exception!(unjinja, LoadError, UnjinjaError, "A template or a spec gives no model.");
create_exception!(unjinja, RenderError, UnjinjaError, "The template cannot render a conversation.");
create_exception!(unjinja, ToolsError, UnjinjaError, "The list of tools cannot be read.");
create_exception!(unjinja, GrammarError, UnjinjaError, "No grammar fits the tools and the options.");
create_exception!(unjinja, RequestError, UnjinjaError, "An argument has a value that is not allowed.");
create_exception!(unjinja, EncodeError, UnjinjaError, "A conversation cannot become token ids.");
create_exception!(unjinja, BridgeError, UnjinjaError, "Token ids that a model wrote cannot be continued.");

/// The exception for an error of an encoder.
pub(crate) fn tokens_error(error: TokensError) -> PyErr {
    match error {
        TokensError::Model(error) => model_error(error),
        TokensError::Tokenizer { .. } => LoadError::new_err(error.to_string()),
        _ if is_refused(&error) => BridgeError::new_err(error.to_string()),
        _ => EncodeError::new_err(error.to_string()),
    }
}

/// Whether a bridge is refused, though the conversation can be encoded.
pub(crate) fn is_refused(error: &TokensError) -> bool {
    matches!(error, TokensError::Rewritten(_) | TokensError::Lossy { .. } | TokensError::NoTurn)
}

/// The exception for an error of an element of a batch.
pub(crate) fn batch_error(py: Python<'_>, name: &str, (at, error): (usize, TokensError)) -> PyErr {
    at_place(py, &format!("{name}[{at}]"), tokens_error(error))
}

/// The exception for an error of an element of a batch: `place` says which.
pub(crate) fn at_place(py: Python<'_>, place: &str, error: PyErr) -> PyErr {
    let text = format!("{place}: {}", error.value(py));
    PyErr::from_type(error.get_type(py), text)
}

/// The exception for an error of the model.
pub(crate) fn model_error(error: ModelError) -> PyErr {
    raised(error.into())
}

/// The exception for a failure.
pub(crate) fn raised(failure: Failure) -> PyErr {
    let make = match failure.kind {
        FailureKind::Load => LoadError::new_err,
        FailureKind::Render => RenderError::new_err,
        FailureKind::Tools => ToolsError::new_err,
        FailureKind::Grammar => GrammarError::new_err,
        FailureKind::Request => RequestError::new_err,
    };
    make(failure.message)
}
