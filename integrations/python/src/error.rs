//! The exceptions. Each carries the text of the Rust error: the place, the cause, and what to do next.

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use unjinja_dynamic::ModelError;

create_exception!(unjinja, UnjinjaError, PyValueError, "The base of all exceptions of this package.");
create_exception!(unjinja, LoadError, UnjinjaError, "A template or a spec gives no model.");
create_exception!(unjinja, RenderError, UnjinjaError, "The template cannot render a conversation.");
create_exception!(unjinja, ToolsError, UnjinjaError, "The list of tools cannot be read.");
create_exception!(unjinja, GrammarError, UnjinjaError, "No grammar fits the tools and the options.");
create_exception!(unjinja, RequestError, UnjinjaError, "An argument has a value that is not allowed.");

/// The exception for an error of the model.
pub(crate) fn model_error(error: ModelError) -> PyErr {
    match error {
        ModelError::Render(_) | ModelError::NoTemplate { .. } => RenderError::new_err(error.to_string()),
        _ => LoadError::new_err(error.to_string()),
    }
}
