//! What becomes of the ids that a model wrote: the message, what follows it, and what a template writes anew.

use pyo3::prelude::*;
use unjinja_tokens::{Bridge as RustBridge, Label as RustLabel, PromptText, Rewrite as RustRewrite};

use crate::data::{Fields, Reduced};
use crate::json;
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

/// A `unjinja.Bridge`.
pub(crate) fn bridge_object(py: Python<'_>, bridge: RustBridge) -> PyResult<Bound<'_, PyAny>> {
    Fields::new(py, "Bridge")
        .needed("ids", bridge.ids)?
        .needed("labels", objects(&bridge.labels))?
        .needed("closes_turn", bridge.closes_turn)?
        .needed("message", json::to_python(py, &bridge.message)?)?
        .needed("same_text", bridge.same_text)?
        .object()
}

/// A `unjinja.Rewrite`.
pub(crate) fn rewrite_object<'py>(py: Python<'py>, rewrite: &RustRewrite) -> PyResult<Bound<'py, PyAny>> {
    let place = |text: &PromptText| text.statement.map(|position| (position.line, position.column));
    Fields::new(py, "Rewrite")
        .needed("message", rewrite.message)?
        .needed("at", rewrite.at)?
        .needed("before", &rewrite.before.text)?
        .needed("after", &rewrite.after.text)?
        .needed("before_at", place(&rewrite.before))?
        .needed("after_at", place(&rewrite.after))?
        .needed("sentence", rewrite.to_string())?
        .object()
}
