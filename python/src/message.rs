//! The result of parsing.

use pyo3::prelude::*;
use serde_json::Value;
use unjinja_dynamic::{Diagnostic as RustDiagnostic, Message as RustMessage, ToolCall as RustCall};

use crate::error::RequestError;
use crate::json;

/// An assistant message.
///
/// >>> import unjinja
/// >>> message = unjinja.Model.known("qwen_qwen3_0_6b").parse("<think>\nRain?\n</think>\n\nTake an umbrella.")
/// >>> message.reasoning_content, message.content
/// ('Rain?', 'Take an umbrella.')
#[pyclass(frozen, eq, module = "unjinja")]
#[derive(PartialEq)]
pub(crate) struct Message(pub(crate) RustMessage);

#[pymethods]
impl Message {
    /// The chain of thought; empty if there is none.
    #[getter]
    fn reasoning_content(&self) -> &str {
        &self.0.reasoning_content
    }

    /// The answer; empty if there is none.
    #[getter]
    fn content(&self) -> &str {
        &self.0.content
    }

    /// Broken markup, if `unparsed="separate"` was asked for. Otherwise it is part of `content`.
    #[getter]
    fn unparsed(&self) -> &str {
        &self.0.unparsed
    }

    /// The calls, in the order of the output.
    #[getter]
    fn tool_calls(&self) -> Vec<ToolCall> {
        self.0.tool_calls.iter().cloned().map(ToolCall).collect()
    }

    /// What was unusual about the output.
    #[getter]
    fn diagnostics(&self) -> Vec<Diagnostic> {
        self.0.diagnostics.iter().map(Diagnostic::new).collect()
    }

    /// OpenAI's message, as a dict.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let value = serde_json::to_value(&self.0).map_err(|error| RequestError::new_err(error.to_string()))?;
        json::to_python(py, &value)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Message({})", self.to_dict(py)?.repr()?))
    }
}

/// One call of a tool.
#[pyclass(frozen, eq, module = "unjinja")]
#[derive(Clone, PartialEq)]
pub(crate) struct ToolCall(RustCall);

#[pymethods]
impl ToolCall {
    /// The id that the model wrote, or None.
    #[getter]
    fn id(&self) -> Option<&str> {
        self.0.id.as_deref()
    }

    /// The function's name.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// The arguments as JSON text. They may be broken if the call is malformed or incomplete.
    #[getter]
    fn arguments(&self) -> &str {
        &self.0.arguments
    }

    /// Whether the model closed the call.
    #[getter]
    fn complete(&self) -> bool {
        self.0.complete
    }

    /// The arguments as a Python value. Raises ValueError if they are no JSON.
    fn arguments_value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let value: Value = self.0.arguments_value().map_err(|error| {
            RequestError::new_err(format!("the arguments of {:?} are no JSON: {error}", self.0.name))
        })?;
        json::to_python(py, &value)
    }

    /// The arguments, completed so that they are JSON at any moment of a stream.
    fn closed_arguments(&self) -> String {
        self.0.closed_arguments()
    }

    fn __repr__(&self) -> String {
        let id = self.0.id.as_ref().map(|id| format!(", id={id:?}")).unwrap_or_default();
        format!("ToolCall({:?}, {:?}{id})", self.0.name, self.0.arguments)
    }
}

/// Something unusual about an output. It never means that text was lost.
#[pyclass(frozen, module = "unjinja")]
pub(crate) struct Diagnostic {
    /// Its kind, such as `unknown_tool`.
    #[pyo3(get)]
    kind: String,
    /// The position of the call that it concerns, or None.
    #[pyo3(get)]
    call: Option<usize>,
    /// The byte of the output from which on it holds, or None.
    #[pyo3(get)]
    at: Option<usize>,
    /// The name or text that it concerns.
    #[pyo3(get)]
    detail: String,
    /// What was expected instead.
    #[pyo3(get)]
    expected: String,
    /// The sentence for people.
    #[pyo3(get)]
    message: String,
}

impl Diagnostic {
    pub(crate) fn new(diagnostic: &RustDiagnostic) -> Self {
        Self {
            kind: diagnostic.kind.name().to_owned(),
            call: diagnostic.call,
            at: diagnostic.at,
            detail: diagnostic.detail.clone(),
            expected: diagnostic.expected.clone(),
            message: diagnostic.to_string(),
        }
    }
}

#[pymethods]
impl Diagnostic {
    fn __str__(&self) -> &str {
        &self.message
    }

    fn __repr__(&self) -> String {
        format!("Diagnostic({}: {:?})", self.kind, self.message)
    }
}
