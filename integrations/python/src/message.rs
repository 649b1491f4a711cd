//! The result of parsing.

use std::sync::OnceLock;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use serde_json::Value;
use unjinja_dynamic::{Diagnostic as RustDiagnostic, Message as RustMessage, Model, ToolCall as RustCall};
use unjinja_server::CallIds;

use crate::error::RequestError;
use crate::json;

/// An assistant message.
///
/// >>> import unjinja
/// >>> message = unjinja.Model.known("qwen_qwen3_0_6b").parse("<think>\nRain?\n</think>\n\nTake an umbrella.")
/// >>> message.reasoning_content, message.content
/// ('Rain?', 'Take an umbrella.')
#[pyclass(frozen, eq, module = "unjinja")]
pub(crate) struct Message {
    message: RustMessage,
    model: Model,
    /// The ids of the calls in the dict, once it was asked for.
    ids: OnceLock<Vec<String>>,
}

impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        self.message == other.message
    }
}

impl Message {
    pub(crate) fn new(model: &Model, message: RustMessage) -> Self {
        Self { message, model: model.clone(), ids: OnceLock::new() }
    }

    /// An id for each call: the model's own, or one that the template takes.
    fn new_ids(&self, earlier: Vec<String>) -> Vec<String> {
        let mut ids = CallIds::of(self.model.spec()).after(earlier);
        self.message.tool_calls.iter().map(|call| ids.next(&call.name, call.id.as_deref())).collect()
    }

    /// The dict, with these ids of calls.
    fn dict<'py>(&self, py: Python<'py>, ids: &[String]) -> PyResult<Bound<'py, PyAny>> {
        let mut value =
            serde_json::to_value(&self.message).map_err(|error| RequestError::new_err(error.to_string()))?;
        let calls = value.get_mut("tool_calls").and_then(Value::as_array_mut);
        for (call, id) in calls.into_iter().flatten().zip(ids) {
            if let Some(fields) = call.as_object_mut() {
                fields.remove("id");
                let named = std::iter::once(("id".to_owned(), Value::from(id.as_str())));
                *fields = named.chain(std::mem::take(fields)).collect();
            }
        }
        json::to_python(py, &value)
    }
}

#[pymethods]
impl Message {
    /// The chain of thought; empty without reasoning.
    #[getter]
    fn reasoning_content(&self) -> &str {
        &self.message.reasoning_content
    }

    /// The answer; empty without an answer.
    #[getter]
    fn content(&self) -> &str {
        &self.message.content
    }

    /// Broken markup, if `unparsed="separate"` was asked for. Otherwise it is part of `content`.
    #[getter]
    fn unparsed(&self) -> &str {
        &self.message.unparsed
    }

    /// The calls, in the order of the output.
    #[getter]
    fn tool_calls(&self) -> Vec<ToolCall> {
        self.message.tool_calls.iter().cloned().map(ToolCall).collect()
    }

    /// What was unusual about the output.
    #[getter]
    fn diagnostics(&self) -> Vec<Diagnostic> {
        self.message.diagnostics.iter().map(Diagnostic::new).collect()
    }

    /// OpenAI's message, as a dict. A call without an id gets one, as in `Stream.openai_chunks`; a message always gives it the same
    /// one. `call_ids` are the ids of the earlier calls in the conversation, in order: new ones differ from them, and ids that
    /// count continue from them.
    #[pyo3(signature = (*, call_ids=None))]
    fn to_dict<'py>(&self, py: Python<'py>, call_ids: Option<Vec<String>>) -> PyResult<Bound<'py, PyAny>> {
        match call_ids {
            Some(earlier) => self.dict(py, &self.new_ids(earlier)),
            None => self.dict(py, self.ids.get_or_init(|| self.new_ids(Vec::new()))),
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Message({})", self.dict(py, &[])?.repr()?))
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

    /// The arguments as a Python value, as `json.loads` reads it. Raises RequestError if they are not JSON.
    fn arguments_value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static READ: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let read = READ.import(py, "unjinja._json", "value_of")?;
        read.call1((&self.0.arguments,)).map_err(|error| {
            let text = format!("the arguments of {:?} cannot be read as JSON: {}", self.0.name, error.value(py));
            if error.is_instance_of::<PyValueError>(py) { RequestError::new_err(text) } else { error }
        })
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
