//! The result of parsing: messages and their calls.

use std::sync::OnceLock;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;
use serde_json::Value;
use unjinja_dynamic::{
    Diagnostic as RustDiagnostic, DiagnosticKind, Message as RustMessage, Model, ToolCall as RustCall,
};
use unjinja_server::{CallIdShape, CallIds};

use crate::data::{Fields, NO_TEXT, Reduced, no_list};
use crate::error::RequestError;
use crate::json;

/// An assistant message. `Model.parse` and `Stream.message` return one; `Model.render` takes it back among the messages of a
/// conversation.
///
/// >>> import unjinja
/// >>> message = unjinja.Model.known("qwen_qwen3_0_6b").parse("<think>\nRain?\n</think>\n\nTake an umbrella.")
/// >>> message
/// Message(content='Take an umbrella.', reasoning_content='Rain?')
///
/// Args:
///     content: The answer.
///     reasoning_content: The chain of thought.
///     tool_calls: The calls, a list of `ToolCall`, in the order of the output.
///     unparsed: Broken markup, where it is kept apart.
///     diagnostics: What was unusual about the output, a list of `Diagnostic`.
#[pyclass(frozen, eq, module = "unjinja")]
pub(crate) struct Message {
    message: RustMessage,
    /// The shape of the ids that the model's template takes.
    shape: CallIdShape,
    /// The ids of the calls, once they were asked for.
    ids: OnceLock<Vec<String>>,
}

impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        self.message == other.message
    }
}

impl Message {
    pub(crate) fn new(model: &Model, message: RustMessage) -> Self {
        Self { message, shape: CallIdShape::of(model.spec()), ids: OnceLock::new() }
    }

    /// An id for each call: the model's own, or one that the template takes.
    fn new_ids(&self, earlier: &[String]) -> Vec<String> {
        let mut ids = CallIds::new(self.shape.clone()).after(earlier);
        self.message.tool_calls.iter().map(|call| ids.next(&call.name, call.id.as_deref())).collect()
    }

    /// The ids that the message keeps. `earlier` are those of the earlier calls in the conversation, if it has none yet.
    fn ids(&self, earlier: &[String]) -> &[String] {
        self.ids.get_or_init(|| self.new_ids(earlier))
    }

    /// OpenAI's message as JSON, for a conversation in which these ids were used. Adds its own ids to them.
    pub(crate) fn in_conversation(&self, earlier: &mut Vec<String>) -> PyResult<Value> {
        let ids = self.ids(earlier);
        earlier.extend_from_slice(ids);
        self.value(ids)
    }

    /// OpenAI's message as JSON, with these ids of calls.
    fn value(&self, ids: &[String]) -> PyResult<Value> {
        let mut value = by_serde(&self.message)?;
        let calls = value.get_mut("tool_calls").and_then(Value::as_array_mut);
        for (call, id) in calls.into_iter().flatten().zip(ids) {
            if let Some(fields) = call.as_object_mut() {
                fields.shift_remove("id");
                let named = std::iter::once(("id".to_owned(), Value::from(id.as_str())));
                *fields = named.chain(std::mem::take(fields)).collect();
            }
        }
        Ok(value)
    }

    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Fields<'py>> {
        Fields::new(py, "Message")
            .optional("content", self.content(), NO_TEXT)?
            .optional("reasoning_content", self.reasoning_content(), NO_TEXT)?
            .optional("tool_calls", self.tool_calls(), no_list(py))?
            .optional("unparsed", self.unparsed(), NO_TEXT)?
            .optional("diagnostics", self.diagnostics(), no_list(py))
    }
}

#[pymethods]
impl Message {
    #[new]
    #[pyo3(signature = (
        content=String::new(), reasoning_content=String::new(), tool_calls=Vec::new(), unparsed=String::new(),
        diagnostics=Vec::new(),
    ), text_signature = "(content='', reasoning_content='', tool_calls=(), unparsed='', diagnostics=())")]
    fn made(
        content: String,
        reasoning_content: String,
        tool_calls: Vec<PyRef<'_, ToolCall>>,
        unparsed: String,
        diagnostics: Vec<PyRef<'_, Diagnostic>>,
    ) -> Self {
        let mut message = RustMessage::default();
        (message.content, message.reasoning_content, message.unparsed) = (content, reasoning_content, unparsed);
        message.tool_calls.extend(tool_calls.iter().map(|call| call.0.clone()));
        message.diagnostics.extend(diagnostics.iter().map(|diagnostic| diagnostic.0.clone()));
        Self { message, shape: CallIdShape::default(), ids: OnceLock::new() }
    }

    #[classattr]
    #[pyo3(name = "__match_args__")]
    const MATCH_ARGS: (&'static str, &'static str, &'static str) = ("content", "reasoning_content", "tool_calls");

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
        self.message.diagnostics.iter().cloned().map(Diagnostic).collect()
    }

    /// OpenAI's message, as a dict with `role`, `content`, and what is not empty of `reasoning_content`, `tool_calls` and
    /// `unparsed`. Arguments are JSON text, as the model wrote them. A call without an id gets one, as in `Stream.openai_chunks`;
    /// a message always gives it the same one, and `Model.render` uses it too.
    ///
    /// Args:
    ///     call_ids: The ids of the earlier calls in the conversation, in order. New ids differ from them, and ids that count
    ///         continue from them; these ids are not kept. Without it, the message keeps its ids.
    #[pyo3(signature = (*, call_ids=None))]
    fn to_dict<'py>(&self, py: Python<'py>, call_ids: Option<Vec<String>>) -> PyResult<Bound<'py, PyAny>> {
        let value = match call_ids {
            Some(earlier) => self.value(&self.new_ids(&earlier)),
            None => self.value(self.ids(&[])),
        };
        json::to_python(py, &value?)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.fields(py)?.hash()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.fields(py)?.repr()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let shape = match &self.shape {
            CallIdShape::Free => ("free", None),
            CallIdShape::Nine => ("nine", None),
            CallIdShape::Counted => ("counted", None),
            CallIdShape::Named { prefix, suffix } => ("named", Some((prefix, suffix))),
        };
        let message = PyTuple::new(py, [self.fields(py)?.values()?])?;
        let ids = self.ids.get().map(Vec::as_slice);
        static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let make = MAKE.import(py, "unjinja._lib", "_message")?;
        Ok((make.clone(), (message.get_item(0)?, shape, ids).into_pyobject(py)?))
    }
}

/// Makes a message that was pickled: its fields, the shape of its ids, and the ids that it had.
#[pyfunction]
#[pyo3(name = "_message")]
pub(crate) fn pickled_message(
    py: Python<'_>,
    fields: &Bound<'_, PyTuple>,
    shape: (String, Option<(String, String)>),
    ids: Option<Vec<String>>,
) -> PyResult<Message> {
    let made = py.get_type::<Message>().call1(fields)?;
    let message = made.cast::<Message>()?.get().message.clone();
    let shape = match (shape.0.as_str(), shape.1) {
        ("named", Some((prefix, suffix))) => CallIdShape::Named { prefix, suffix },
        ("counted", _) => CallIdShape::Counted,
        ("nine", _) => CallIdShape::Nine,
        _ => CallIdShape::Free,
    };
    Ok(Message { message, shape, ids: ids.map(OnceLock::from).unwrap_or_default() })
}

/// One call of a tool.
///
/// Args:
///     name: The function's name.
///     arguments: The arguments as JSON text.
///     id: The id that the model wrote, or None.
///     complete: Whether the model closed the call.
#[pyclass(frozen, eq, module = "unjinja")]
#[derive(PartialEq)]
pub(crate) struct ToolCall(RustCall);

impl ToolCall {
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Fields<'py>> {
        Fields::new(py, "ToolCall")
            .needed("name", self.name())?
            .needed("arguments", self.arguments())?
            .or_none("id", self.id())?
            .optional("complete", self.0.complete, true)
    }
}

#[pymethods]
impl ToolCall {
    #[new]
    #[pyo3(signature = (name, arguments, id=None, complete=true))]
    fn made(name: String, arguments: String, id: Option<String>, complete: bool) -> Self {
        let mut call = RustCall::new(name, arguments);
        (call.id, call.complete) = (id, complete);
        Self(call)
    }

    #[classattr]
    #[pyo3(name = "__match_args__")]
    const MATCH_ARGS: (&'static str, &'static str, &'static str, &'static str) =
        ("name", "arguments", "id", "complete");

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

    /// OpenAI's form of a call: `type`, `function` with `name` and `arguments`, and `id` if the model wrote one.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_python(py, &by_serde(&self.0)?)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.fields(py)?.hash()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.fields(py)?.repr()
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        this.get().fields(this.py())?.reduced(this.get_type())
    }
}

/// Something unusual about an output. It never means that text was lost. As a text, it is the sentence for people.
///
/// Args:
///     kind: Its kind, such as `unknown_tool`. Raises RequestError if there is no such kind.
///     call: The position of the call that it concerns, from 0, or None.
///     at: The byte of the output from which on it holds, or None.
///     detail: The name or text that it concerns.
///     expected: What was expected instead.
#[pyclass(frozen, eq, module = "unjinja")]
#[derive(PartialEq)]
pub(crate) struct Diagnostic(pub(crate) RustDiagnostic);

impl Diagnostic {
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Fields<'py>> {
        Fields::new(py, "Diagnostic")
            .needed("kind", self.kind())?
            .or_none("call", self.0.call)?
            .or_none("at", self.0.at)?
            .optional("detail", self.detail(), NO_TEXT)?
            .optional("expected", self.expected(), NO_TEXT)
    }
}

#[pymethods]
impl Diagnostic {
    #[new]
    #[pyo3(signature = (kind, call=None, at=None, detail="", expected=""))]
    fn made(kind: &str, call: Option<usize>, at: Option<usize>, detail: &str, expected: &str) -> PyResult<Self> {
        let kind: DiagnosticKind = serde_json::from_value(Value::from(kind))
            .map_err(|error| RequestError::new_err(format!("kind: {error}")))?;
        let mut diagnostic = RustDiagnostic::new(kind, call, detail).expected(expected);
        diagnostic.at = at;
        Ok(Self(diagnostic))
    }

    #[classattr]
    #[pyo3(name = "__match_args__")]
    const MATCH_ARGS: (&'static str, &'static str, &'static str, &'static str, &'static str) =
        ("kind", "call", "at", "detail", "expected");

    /// Its kind, such as `unknown_tool`.
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind.name()
    }

    /// The position of the call that it concerns, from 0, or None.
    #[getter]
    fn call(&self) -> Option<usize> {
        self.0.call
    }

    /// The byte of the output from which on it holds, or None.
    #[getter]
    fn at(&self) -> Option<usize> {
        self.0.at
    }

    /// The name or text that it concerns.
    #[getter]
    fn detail(&self) -> &str {
        &self.0.detail
    }

    /// What was expected instead.
    #[getter]
    fn expected(&self) -> &str {
        &self.0.expected
    }

    /// The sentence for people.
    #[getter]
    fn message(&self) -> String {
        self.0.to_string()
    }

    /// The diagnostic as a dict: `kind`, and what is not empty of `call`, `at`, `detail` and `expected`.
    pub(crate) fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_python(py, &by_serde(&self.0)?)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.fields(py)?.hash()
    }

    fn __str__(&self) -> String {
        self.message()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.fields(py)?.repr()
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        this.get().fields(this.py())?.reduced(this.get_type())
    }
}

fn by_serde(value: &impl serde::Serialize) -> PyResult<Value> {
    serde_json::to_value(value).map_err(|error| RequestError::new_err(error.to_string()))
}
