//! What becomes of the ids that a model wrote: the message, what follows it, and what a template writes anew.

use pyo3::prelude::*;
use unjinja_tokens::{Bridge as RustBridge, Label as RustLabel, PromptText, Rewrite as RustRewrite};

use crate::data::{Fields, Reduced, object};
use crate::json::Json;
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

/// The fields of a `unjinja.Bridge`.
#[derive(IntoPyObject)]
struct Bridge {
    ids: Vec<u32>,
    labels: Vec<Label>,
    closes_turn: bool,
    message: Json,
    same_text: bool,
}

/// A `unjinja.Bridge`.
pub(crate) fn bridge_object(py: Python<'_>, bridge: RustBridge) -> PyResult<Bound<'_, PyAny>> {
    let RustBridge { ids, labels, closes_turn, same_text, message, .. } = bridge;
    object(py, "Bridge", Bridge { ids, labels: objects(&labels), closes_turn, message: Json(message), same_text })
}

/// The fields of a `unjinja.Rewrite`.
#[derive(IntoPyObject)]
struct Rewrite {
    message: usize,
    at: usize,
    before: String,
    after: String,
    before_at: Option<(u32, u32)>,
    after_at: Option<(u32, u32)>,
    sentence: String,
}

/// A `unjinja.Rewrite`.
pub(crate) fn rewrite_object(py: Python<'_>, rewrite: RustRewrite) -> PyResult<Bound<'_, PyAny>> {
    let place = |text: &PromptText| text.statement.map(|position| (position.line, position.column));
    let fields = Rewrite {
        message: rewrite.message,
        at: rewrite.at,
        sentence: rewrite.to_string(),
        before_at: place(&rewrite.before),
        after_at: place(&rewrite.after),
        before: rewrite.before.text,
        after: rewrite.after.text,
    };
    object(py, "Rewrite", fields)
}
