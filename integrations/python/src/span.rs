//! Events, with the text of the output that they come from.

use pyo3::prelude::*;
use pyo3::types::PyString;
use unjinja_dynamic::{Channel, Event as RustEvent};

use crate::data::{Fields, Reduced, no_list};
use crate::error::RequestError;
use crate::event::Event;
use crate::turn::{Step, TurnParser};

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

/// The name of a channel in Python.
pub(crate) fn channel_name(channel: Option<Channel>) -> Option<&'static str> {
    match channel? {
        Channel::Reasoning => Some("reasoning"),
        Channel::Content => Some("content"),
        Channel::Unparsed => None,
    }
}

/// What a span is made of.
#[derive(PartialEq, Clone, Copy)]
enum SpanKind {
    /// Text that arrives as it was written.
    Text(Channel),
    /// Arguments of the call of this index.
    Arguments(usize),
    /// Markup, and white space around it.
    Markup,
    /// Anything else: such a span is not joined with its neighbours.
    Other,
}

/// A span that may grow.
struct GrowingSpan {
    kind: SpanKind,
    text: String,
    /// The text of the event, where it is another: JSON of arguments.
    json: String,
    events: Vec<Event>,
    channel: Option<&'static str>,
}

/// Pushes a piece character by character, so that each event has its text. `last` ends the turn after it.
pub(crate) fn spans(py: Python<'_>, turn: &TurnParser, piece: &str, last: bool) -> PyResult<Vec<Span>> {
    let mut parts: Vec<GrowingSpan> = Vec::new();
    let mut buffer = [0; 4];
    for char in piece.chars() {
        step(py, turn, char.encode_utf8(&mut buffer), Step::Push, &mut parts)?;
    }
    if last {
        step(py, turn, "", |_| Step::Finish, &mut parts)?;
    }
    parts.into_iter().map(|part| part.into_span(py)).collect()
}

fn step<'t>(
    py: Python<'_>,
    turn: &TurnParser,
    text: &'t str,
    make: impl FnOnce(unjinja_dynamic::Chunk<'t>) -> Step<'t>,
    parts: &mut Vec<GrowingSpan>,
) -> PyResult<()> {
    let (mut kind, mut sent, mut count) = (SpanKind::Markup, String::new(), 0);
    let mut read = Vec::new();
    let (settled, channel) = turn.run_beside(text, make(text.into()), |event| {
        count += 1;
        kind = match *event {
            RustEvent::Reasoning(text) => {
                sent.push_str(text);
                SpanKind::Text(Channel::Reasoning)
            }
            RustEvent::Content(text) => {
                sent.push_str(text);
                SpanKind::Text(Channel::Content)
            }
            RustEvent::ToolCallArguments { index, json } => {
                sent.push_str(json);
                SpanKind::Arguments(index)
            }
            _ => SpanKind::Other,
        };
        read.push(event.clone().into_owned());
    });
    let events =
        read.iter().filter_map(|event| Event::new(py, &event.as_event()).transpose()).collect::<PyResult<Vec<_>>>()?;
    if count > 1 || (matches!(kind, SpanKind::Text(_)) && sent != settled) {
        kind = SpanKind::Other;
    }
    if settled.is_empty() && events.is_empty() {
        return Ok(());
    }
    let channel = channel_name(channel);
    if let Some(part) =
        parts.last_mut().filter(|part| part.kind == kind && part.channel == channel && kind != SpanKind::Other)
    {
        part.text.push_str(&settled);
        part.json.push_str(&sent);
        return Ok(());
    }
    parts.push(GrowingSpan { kind, text: settled, json: sent, events, channel });
    Ok(())
}

impl GrowingSpan {
    fn into_span(self, py: Python<'_>) -> PyResult<Span> {
        let text = || PyString::new(py, &self.text).unbind();
        let events = match self.kind {
            SpanKind::Text(Channel::Reasoning) => vec![Event::Reasoning { text: text() }],
            SpanKind::Text(_) => vec![Event::Content { text: text() }],
            SpanKind::Arguments(index) => {
                vec![Event::ToolCallArguments { index, json: PyString::new(py, &self.json).unbind() }]
            }
            SpanKind::Markup | SpanKind::Other => self.events,
        };
        let text = PyString::new(py, &self.text).unbind();
        // `Py::new` would make an object of the enum's class and not of the variant's.
        let events = events.into_iter().map(|event| Ok(event.into_pyobject(py)?.unbind())).collect::<PyResult<_>>()?;
        Ok(Span { text, events, channel: self.channel })
    }
}
