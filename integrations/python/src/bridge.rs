//! What becomes of the ids that a model wrote: the message, what follows it, and what a template writes anew.

use pyo3::prelude::*;
use pyo3::types::PyList;
use unjinja_tokens::{Bridge as RustBridge, Label as RustLabel, PromptText, Rewrite as RustRewrite};

use crate::data::{Fields, NO_TEXT, Reduced};
use crate::error::RequestError;
use crate::json::{self, Json};
use crate::label::{Label, labels_of, objects};
use crate::message::Message;

/// What a model wrote, by its ids. `Encoder.decode` makes it.
///
/// Args:
///     message: The message.
///     labels: What each token is, a list of `Label`.
#[pyclass(frozen, module = "unjinja")]
pub(crate) struct Decoded {
    /// The message.
    #[pyo3(get)]
    message: Py<Message>,
    labels: Vec<RustLabel>,
}

impl Decoded {
    pub(crate) fn new(py: Python<'_>, message: Message, labels: Vec<RustLabel>) -> PyResult<Self> {
        Ok(Self { message: Py::new(py, message)?, labels })
    }

    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Fields<'py>> {
        Fields::new(py, "Decoded").needed("message", &self.message)?.needed("labels", self.labels())
    }
}

#[pymethods]
impl Decoded {
    #[new]
    fn made(message: Py<Message>, labels: Vec<Label>) -> Self {
        Self { message, labels: labels_of(labels) }
    }

    #[classattr]
    #[pyo3(name = "__match_args__")]
    const MATCH_ARGS: (&'static str, &'static str) = ("message", "labels");

    /// What each token is.
    #[getter]
    fn labels(&self) -> Vec<Label> {
        objects(&self.labels)
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

/// What follows a turn that a model wrote, up to where it writes again. `Encoder.bridge` makes it.
///
/// Args:
///     ids: The ids to append to those of the prompt and of the turn.
///     labels: What each of them is, a list of `Label`. Raises RequestError if there are more or fewer than ids.
///     closes_turn: Whether the turn was cut off, so that the first ids are what ends it. The model has not written them.
///     message: The turn that the model wrote, as a message for the conversation.
///     same_text: Whether the template writes the turn as the model did. If not, the render of the whole conversation has other white
///         space in that turn, or another form of arguments.
#[pyclass(frozen, eq, module = "unjinja")]
#[derive(PartialEq)]
pub(crate) struct Bridge {
    ids: Vec<u32>,
    labels: Vec<RustLabel>,
    /// Whether the turn was cut off, so that the first ids are what ends it. The model has not written them.
    #[pyo3(get)]
    closes_turn: bool,
    message: Json,
    /// Whether the template writes the turn as the model did. If not, the render of the whole conversation has other white space in that
    /// turn, or another form of arguments.
    #[pyo3(get)]
    same_text: bool,
}

impl Bridge {
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Fields<'py>> {
        Fields::new(py, "Bridge")
            .needed("ids", self.ids(py)?)?
            .needed("labels", self.labels())?
            .needed("closes_turn", self.closes_turn)?
            .needed("message", &self.message)?
            .optional("same_text", self.same_text, true)
    }
}

impl From<RustBridge> for Bridge {
    fn from(bridge: RustBridge) -> Self {
        let RustBridge { ids, labels, closes_turn, same_text, message, .. } = bridge;
        Self { ids, labels, closes_turn, message: Json(message), same_text }
    }
}

#[pymethods]
impl Bridge {
    #[new]
    #[pyo3(signature = (ids, labels, closes_turn, message, same_text = true))]
    fn made(
        ids: Vec<u32>,
        labels: Vec<Label>,
        closes_turn: bool,
        message: &Bound<'_, PyAny>,
        same_text: bool,
    ) -> PyResult<Self> {
        if labels.len() != ids.len() {
            let text = format!("labels: there are {} and {} ids; give one for each id", labels.len(), ids.len());
            return Err(RequestError::new_err(text));
        }
        let message = Json(json::from_python(message, "message", RequestError::new_err)?);
        Ok(Self { ids, labels: labels_of(labels), closes_turn, message, same_text })
    }

    #[classattr]
    #[pyo3(name = "__match_args__")]
    const MATCH_ARGS: (&'static str, &'static str, &'static str, &'static str) =
        ("ids", "labels", "closes_turn", "message");

    /// The ids to append to those of the prompt and of the turn.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, &self.ids)
    }

    /// What each of them is. `Label.message` is a position in the whole conversation, the turn included.
    #[getter]
    fn labels(&self) -> Vec<Label> {
        objects(&self.labels)
    }

    /// The turn that the model wrote, as a dict for the conversation.
    #[getter]
    fn message<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_python(py, &self.message.0)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.fields(py)?.repr()
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        this.get().fields(this.py())?.reduced(this.get_type())
    }
}

/// Where a template writes something anew that a model has read or written already. As a text, it is a sentence for people.
///
/// Args:
///     message: The position of the assistant's message whose turn, or whose prompt, is changed.
///     at: The first byte of the prompt that is another one.
///     before: The beginning of what the prompt had there; empty at its end.
///     after: The beginning of what it has there once the conversation goes on.
///     before_at: The line and the column of the statement of the template that wrote `before`, or None.
///     after_at: The line and the column of the statement that writes `after`, or None.
///     sentence: The sentence for people.
#[pyclass(frozen, eq, get_all, module = "unjinja")]
#[derive(PartialEq)]
pub(crate) struct Rewrite {
    /// The position of the assistant's message whose turn, or whose prompt, is changed.
    message: usize,
    /// The first byte of the prompt that is another one.
    at: usize,
    /// The beginning of what the prompt had there; empty at its end.
    before: String,
    /// The beginning of what it has there once the conversation goes on.
    after: String,
    /// The line and the column of the statement of the template that wrote `before`, or None.
    before_at: Option<(u32, u32)>,
    /// The line and the column of the statement that writes `after`, or None.
    after_at: Option<(u32, u32)>,
    /// The sentence for people.
    sentence: String,
}

impl Rewrite {
    pub(crate) fn new(rewrite: &RustRewrite) -> Self {
        let place = |text: &PromptText| text.statement.map(|position| (position.line, position.column));
        Self {
            message: rewrite.message,
            at: rewrite.at,
            before: rewrite.before.text.clone(),
            after: rewrite.after.text.clone(),
            before_at: place(&rewrite.before),
            after_at: place(&rewrite.after),
            sentence: rewrite.to_string(),
        }
    }

    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Fields<'py>> {
        Fields::new(py, "Rewrite")
            .needed("message", self.message)?
            .needed("at", self.at)?
            .needed("before", &self.before)?
            .needed("after", &self.after)?
            .or_none("before_at", self.before_at)?
            .or_none("after_at", self.after_at)?
            .optional("sentence", &self.sentence, NO_TEXT)
    }
}

#[pymethods]
impl Rewrite {
    #[new]
    #[pyo3(signature = (message, at, before, after, before_at=None, after_at=None, sentence=String::new()),
        text_signature = "(message, at, before, after, before_at=None, after_at=None, sentence='')")]
    fn made(
        message: usize,
        at: usize,
        before: String,
        after: String,
        before_at: Option<(u32, u32)>,
        after_at: Option<(u32, u32)>,
        sentence: String,
    ) -> Self {
        Self { message, at, before, after, before_at, after_at, sentence }
    }

    #[classattr]
    #[pyo3(name = "__match_args__")]
    const MATCH_ARGS: (&'static str, &'static str, &'static str, &'static str) = ("message", "at", "before", "after");

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.fields(py)?.hash()
    }

    fn __str__(&self) -> &str {
        &self.sentence
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.fields(py)?.repr()
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        this.get().fields(this.py())?.reduced(this.get_type())
    }
}
