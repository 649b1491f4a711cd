//! The events of a stream.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use unjinja_dynamic::Event as RustEvent;

use crate::data::{Fields, Reduced};
use crate::message::diagnostic_object;

/// One piece of a message. `kind` is its name in snake case. Use `match`:
///
/// >>> from unjinja import Event
/// >>> def show(event):
/// ...     match event:
/// ...         case Event.Reasoning(text) | Event.Content(text):
/// ...             return text
/// ...         case Event.ToolCallStart(index, name, id):
/// ...             return f"{name}:"
/// >>> show(Event.Content("Hello!"))
/// 'Hello!'
/// >>> Event.Content("Hello!").to_dict()
/// {'event': 'content', 'text': 'Hello!'}
#[pyclass(frozen, module = "unjinja")]
pub(crate) enum Event {
    /// More reasoning: `text` is the piece.
    #[pyo3(constructor = (text))]
    Reasoning { text: Py<PyString> },
    /// More of the answer: `text` is the piece.
    #[pyo3(constructor = (text))]
    Content { text: Py<PyString> },
    /// More broken markup, if it was asked for with `unparsed="separate"`: `text` is the piece.
    #[pyo3(constructor = (text))]
    Unparsed { text: Py<PyString> },
    /// A tool call: it comes with the first byte of its arguments, or with its closer. `index` is its position among the calls of
    /// the message, from 0; `name` is the function's name; `id` is the call's id, or None if the model wrote none before the arguments.
    #[pyo3(constructor = (index, name, id=None))]
    ToolCallStart { index: usize, name: Py<PyString>, id: Option<Py<PyString>> },
    /// The id of a call that was announced without one. `index` is the position of the call, from 0; `id` is the id.
    #[pyo3(constructor = (index, id))]
    ToolCallId { index: usize, id: Py<PyString> },
    /// More of a call's arguments. `index` is the position of the call, from 0; `json` is a piece of JSON text.
    #[pyo3(constructor = (index, json))]
    ToolCallArguments { index: usize, json: Py<PyString> },
    /// A call is over. `index` is the position of the call, from 0; `complete` says whether the model closed it.
    #[pyo3(constructor = (index, complete))]
    ToolCallEnd { index: usize, complete: bool },
    /// Something unusual about the output. Its text is in the other events. `diagnostic` says what it is.
    #[pyo3(constructor = (diagnostic))]
    Diagnostic { diagnostic: Py<PyAny> },
}

impl Event {
    /// The event for Python; `None` for a kind that this version does not know.
    pub(crate) fn new(py: Python<'_>, event: &RustEvent<'_>) -> PyResult<Option<Self>> {
        let text = |text: &str| PyString::new(py, text).unbind();
        Ok(Some(match *event {
            RustEvent::Reasoning(piece) => Self::Reasoning { text: text(piece) },
            RustEvent::Content(piece) => Self::Content { text: text(piece) },
            RustEvent::Unparsed(piece) => Self::Unparsed { text: text(piece) },
            RustEvent::ToolCallStart { index, name, id } => {
                Self::ToolCallStart { index, name: text(name), id: id.map(text) }
            }
            RustEvent::ToolCallId { index, id } => Self::ToolCallId { index, id: text(id) },
            RustEvent::ToolCallArguments { index, json } => Self::ToolCallArguments { index, json: text(json) },
            RustEvent::ToolCallEnd { index, complete } => Self::ToolCallEnd { index, complete },
            RustEvent::Diagnostic(ref diagnostic) => {
                Self::Diagnostic { diagnostic: diagnostic_object(py, diagnostic)?.unbind() }
            }
            _ => return Ok(None),
        }))
    }

    /// The kind, and the name in `repr`.
    fn names(&self) -> (&'static str, &'static str) {
        match self {
            Self::Reasoning { .. } => ("reasoning", "Event.Reasoning"),
            Self::Content { .. } => ("content", "Event.Content"),
            Self::Unparsed { .. } => ("unparsed", "Event.Unparsed"),
            Self::ToolCallStart { .. } => ("tool_call_start", "Event.ToolCallStart"),
            Self::ToolCallId { .. } => ("tool_call_id", "Event.ToolCallId"),
            Self::ToolCallArguments { .. } => ("tool_call_arguments", "Event.ToolCallArguments"),
            Self::ToolCallEnd { .. } => ("tool_call_end", "Event.ToolCallEnd"),
            Self::Diagnostic { .. } => ("diagnostic", "Event.Diagnostic"),
        }
    }

    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Fields<'py>> {
        let fields = Fields::new(py, self.names().1);
        match self {
            Self::Reasoning { text } | Self::Content { text } | Self::Unparsed { text } => fields.needed("text", text),
            Self::ToolCallStart { index, name, id } => {
                fields.needed("index", index)?.needed("name", name)?.or_none("id", id.as_ref())
            }
            Self::ToolCallId { index, id } => fields.needed("index", index)?.needed("id", id),
            Self::ToolCallArguments { index, json } => fields.needed("index", index)?.needed("json", json),
            Self::ToolCallEnd { index, complete } => fields.needed("index", index)?.needed("complete", complete),
            Self::Diagnostic { diagnostic } => fields.needed("diagnostic", diagnostic),
        }
    }
}

#[pymethods]
impl Event {
    /// The name of the event: `reasoning`, `content`, `unparsed`, `tool_call_start`, `tool_call_id`, `tool_call_arguments`,
    /// `tool_call_end` or `diagnostic`.
    #[getter]
    fn kind(&self) -> &'static str {
        self.names().0
    }

    /// The event as a dict: `event` is the kind, and the other keys are the event's fields. It is the form of
    /// `unjinja parse --stream --format json`.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("event", self.kind())?;
        dict.update(self.fields(py)?.dict()?.as_mapping())?;
        if let Self::Diagnostic { diagnostic } = self {
            dict.set_item("diagnostic", diagnostic.call_method0(py, "to_dict")?)?;
        }
        Ok(dict)
    }

    fn __eq__(&self, py: Python<'_>, other: &Self) -> PyResult<bool> {
        self.fields(py)?.equal(&other.fields(py)?)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.fields(py)?.hash()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.fields(py)?.repr()
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        this.get().fields(this.py())?.reduced(this.as_any().get_type())
    }
}
