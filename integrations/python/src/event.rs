//! The events of a stream.

use pyo3::prelude::*;
use pyo3::types::PyString;
use unjinja_dynamic::Event as RustEvent;

use crate::message::Diagnostic;

/// One piece of a message. Use `match`:
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
#[pyclass(frozen, module = "unjinja")]
pub(crate) enum Event {
    /// More reasoning.
    #[pyo3(constructor = (text))]
    Reasoning { text: Py<PyString> },
    /// More of the answer.
    #[pyo3(constructor = (text))]
    Content { text: Py<PyString> },
    /// More broken markup, if it was asked for with `unparsed="separate"`.
    #[pyo3(constructor = (text))]
    Unparsed { text: Py<PyString> },
    /// A tool call whose name is complete.
    #[pyo3(constructor = (index, name, id=None))]
    ToolCallStart { index: usize, name: Py<PyString>, id: Option<Py<PyString>> },
    /// The id of a call that was announced without one.
    #[pyo3(constructor = (index, id))]
    ToolCallId { index: usize, id: Py<PyString> },
    /// More of a call's arguments, as JSON text.
    #[pyo3(constructor = (index, json))]
    ToolCallArguments { index: usize, json: Py<PyString> },
    /// A call is over. `complete` says whether the model closed it.
    #[pyo3(constructor = (index, complete))]
    ToolCallEnd { index: usize, complete: bool },
    /// Something unusual about the output. Its text is in the other events.
    #[pyo3(constructor = (diagnostic))]
    Diagnostic { diagnostic: Py<Diagnostic> },
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
                Self::Diagnostic { diagnostic: Py::new(py, Diagnostic::new(diagnostic))? }
            }
            _ => return Ok(None),
        }))
    }
}

#[pymethods]
impl Event {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let quoted = |text: &Py<PyString>| text.bind(py).repr().map(|text| text.to_string());
        Ok(match self {
            Self::Reasoning { text } => format!("Event.Reasoning({})", quoted(text)?),
            Self::Content { text } => format!("Event.Content({})", quoted(text)?),
            Self::Unparsed { text } => format!("Event.Unparsed({})", quoted(text)?),
            Self::ToolCallStart { index, name, id: None } => format!("Event.ToolCallStart({index}, {})", quoted(name)?),
            Self::ToolCallStart { index, name, id: Some(id) } => {
                format!("Event.ToolCallStart({index}, {}, {})", quoted(name)?, quoted(id)?)
            }
            Self::ToolCallId { index, id } => format!("Event.ToolCallId({index}, {})", quoted(id)?),
            Self::ToolCallArguments { index, json } => format!("Event.ToolCallArguments({index}, {})", quoted(json)?),
            Self::ToolCallEnd { index, complete } => {
                format!("Event.ToolCallEnd({index}, {})", if *complete { "True" } else { "False" })
            }
            Self::Diagnostic { diagnostic } => format!("Event.Diagnostic({})", diagnostic.bind(py).repr()?),
        })
    }
}
