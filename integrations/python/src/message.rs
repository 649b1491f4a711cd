//! The result of parsing: messages and their calls.

use std::sync::OnceLock;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;
use serde_json::Value;
use unjinja_dynamic::{
    Diagnostic as RustDiagnostic, DiagnosticKind, Message as RustMessage, Model, ToolCall as RustCall,
};
use unjinja_server::{CallIdShape, CallIds};

use crate::data::{Fields, NO_TEXT, Reduced, class_of, no_list, object};
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
        let mut value =
            serde_json::to_value(&self.message).map_err(|error| RequestError::new_err(error.to_string()))?;
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
            .optional("tool_calls", self.tool_calls(py)?, no_list(py))?
            .optional("unparsed", self.unparsed(), NO_TEXT)?
            .optional("diagnostics", self.diagnostics(py)?, no_list(py))
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
        tool_calls: Vec<Bound<'_, PyAny>>,
        unparsed: String,
        diagnostics: Vec<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let mut message = RustMessage::default();
        (message.content, message.reasoning_content, message.unparsed) = (content, reasoning_content, unparsed);
        let calls = fields_of(tool_calls, "ToolCall", "tool_calls")?;
        message.tool_calls.extend(calls.into_iter().map(CallFields::call));
        for noted in fields_of::<DiagnosticFields>(diagnostics, "Diagnostic", "diagnostics")? {
            message.diagnostics.push(noted.diagnostic()?);
        }
        Ok(Self { message, shape: CallIdShape::default(), ids: OnceLock::new() })
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
    fn tool_calls<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.message.tool_calls.iter().map(|call| object(py, "ToolCall", CallFields::of(call))).collect()
    }

    /// What was unusual about the output.
    #[getter]
    fn diagnostics<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.message.diagnostics.iter().map(|noted| diagnostic_object(py, noted)).collect()
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

/// The fields of a `unjinja.ToolCall`.
#[derive(FromPyObject, IntoPyObject)]
struct CallFields {
    name: String,
    arguments: String,
    id: Option<String>,
    complete: bool,
}

impl CallFields {
    fn of(call: &RustCall) -> Self {
        let RustCall { name, arguments, id, complete, .. } = call.clone();
        Self { name, arguments, id, complete }
    }

    fn call(self) -> RustCall {
        let mut call = RustCall::new(self.name, self.arguments);
        (call.id, call.complete) = (self.id, self.complete);
        call
    }
}

/// The fields of a `unjinja.Diagnostic`.
#[derive(FromPyObject, IntoPyObject)]
pub(crate) struct DiagnosticFields {
    kind: String,
    call: Option<usize>,
    at: Option<usize>,
    detail: String,
    expected: String,
}

impl DiagnosticFields {
    fn diagnostic(self) -> PyResult<RustDiagnostic> {
        let kind: DiagnosticKind = serde_json::from_value(Value::from(self.kind))
            .map_err(|error| RequestError::new_err(format!("kind: {error}")))?;
        let mut diagnostic = RustDiagnostic::new(kind, self.call, self.detail).expected(self.expected);
        diagnostic.at = self.at;
        Ok(diagnostic)
    }
}

/// A `unjinja.Diagnostic`.
pub(crate) fn diagnostic_object<'py>(py: Python<'py>, noted: &RustDiagnostic) -> PyResult<Bound<'py, PyAny>> {
    let RustDiagnostic { kind, call, at, detail, expected, .. } = noted.clone();
    object(py, "Diagnostic", DiagnosticFields { kind: kind.name().to_owned(), call, at, detail, expected })
}

/// The sentence of a diagnostic for people. Raises RequestError if there is no such kind.
#[pyfunction]
#[pyo3(name = "_sentence")]
pub(crate) fn sentence(diagnostic: DiagnosticFields) -> PyResult<String> {
    Ok(diagnostic.diagnostic()?.to_string())
}

/// The arguments of a call, completed so that they are JSON.
#[pyfunction]
#[pyo3(name = "_closed")]
pub(crate) fn closed(arguments: &str) -> String {
    RustCall::new("", arguments).closed_arguments()
}

/// The fields of objects of a class of `unjinja/_data.py`.
fn fields_of<'py, T: FromPyObjectOwned<'py>>(
    objects: Vec<Bound<'py, PyAny>>,
    class: &str,
    name: &str,
) -> PyResult<Vec<T>> {
    let fields = objects.into_iter().map(|object| {
        if !object.is_instance(&class_of(object.py(), class)?)? {
            let kind = object.get_type().name()?;
            let text = format!("argument '{name}': '{kind}' object is not an instance of '{class}'");
            return Err(PyTypeError::new_err(text));
        }
        object.extract().map_err(Into::into)
    });
    fields.collect()
}
