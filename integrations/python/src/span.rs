//! Events, with the text of the output that they come from.

use pyo3::prelude::*;
use pyo3::types::PyString;
use unjinja_bindings::channel_name;
use unjinja_dynamic::{Channel, OutputSpan};

use crate::data::{Fields, Reduced, no_list};
use crate::error::RequestError;
use crate::event::Event;
use crate::turn::LockedTurn;

/// A piece of the output, and the events that it became. The texts of all spans together are the output.
///
/// Args:
///     text: The piece of the output, as the model wrote it.
///     events: What it became, a list of `Event`.
///     channel: What is read after it: `"reasoning"`, `"content"` or None.
#[pyclass(frozen, module = "unjinja")]
pub(crate) struct Span {
    /// The piece of the output, as the model wrote it. Empty for an event that no text causes.
    #[pyo3(get)]
    text: Py<PyString>,
    events: Vec<Py<Event>>,
    /// What is being read after the piece: `reasoning` or `content`. None inside a call, between the parts of a turn, and after
    /// its end.
    #[pyo3(get)]
    channel: Option<&'static str>,
}

impl Span {
    fn of(py: Python<'_>, span: OutputSpan) -> PyResult<Self> {
        let known = span.events.iter().filter_map(|event| Event::new(py, &event.as_event()).transpose());
        // `Py::new` would make an object of the enum's class and not of the variant's.
        let events = known.map(|event| Ok(event?.into_pyobject(py)?.unbind())).collect::<PyResult<_>>()?;
        Ok(Self { text: PyString::new(py, &span.text).unbind(), events, channel: channel_name(span.channel) })
    }

    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Fields<'py>> {
        let fields = Fields::new(py, "Span").needed("text", &self.text)?;
        fields.optional("events", self.events(py), no_list(py))?.or_none("channel", self.channel)
    }
}

#[pymethods]
impl Span {
    #[new]
    #[pyo3(signature = (text, events=Vec::new(), channel=None), text_signature = "(text, events=(), channel=None)")]
    fn made(text: Py<PyString>, events: Vec<Py<Event>>, channel: Option<&str>) -> PyResult<Self> {
        let known = [Channel::Reasoning, Channel::Content].map(|channel| channel_name(Some(channel)));
        let channel = match channel {
            None => None,
            Some(name) => known.into_iter().find(|known| *known == Some(name)).ok_or_else(|| {
                RequestError::new_err(format!("channel: {name:?} is unknown; use \"reasoning\", \"content\" or None"))
            })?,
        };
        Ok(Self { text, events, channel })
    }

    #[classattr]
    #[pyo3(name = "__match_args__")]
    const MATCH_ARGS: (&'static str, &'static str, &'static str) = ("text", "events", "channel");

    /// The events: at most one piece of text, or what happened at a marker. Empty for markup.
    #[getter]
    fn events(&self, py: Python<'_>) -> Vec<Py<Event>> {
        self.events.iter().map(|event| event.clone_ref(py)).collect()
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
        this.get().fields(this.py())?.reduced(this.get_type())
    }
}

/// Reads a piece, and ends the turn after it if it is the `last` one.
pub(crate) fn spans(py: Python<'_>, turn: &LockedTurn, piece: &str, last: bool) -> PyResult<Vec<Span>> {
    let spans = turn.lock().spans(piece, last);
    spans.into_iter().map(|span| Span::of(py, span)).collect()
}
