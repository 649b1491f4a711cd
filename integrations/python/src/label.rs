//! What a token is.

use pyo3::prelude::*;
use unjinja_tokens::{Label as RustLabel, TokenPart};

use crate::data::{Fields, Reduced};
use crate::error::RequestError;

/// What a token of a conversation is.
///
/// >>> from unjinja import Label
/// >>> Label(1, "content", True)
/// Label(1, 'content', True)
///
/// Args:
///     message: The position of its message in `Encoded.messages`, or None for what belongs to no message: tools, text before the
///         first message, and the generation prompt.
///     part: `role`, `reasoning`, `content`, `call`, `tool_result`, `tool` (the description of a tool), `variable` (such as a date), or
///         `markup` (text of the template). Raises RequestError if it is another.
///     by_model: Whether the model writes it.
#[pyclass(frozen, eq, from_py_object, module = "unjinja")]
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Label(pub(crate) RustLabel);

const PARTS: [TokenPart; 8] = [
    TokenPart::Role,
    TokenPart::Reasoning,
    TokenPart::Content,
    TokenPart::Call,
    TokenPart::ToolResult,
    TokenPart::Tool,
    TokenPart::Variable,
    TokenPart::Markup,
];

impl Label {
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Fields<'py>> {
        Fields::new(py, "Label")
            .needed("message", self.message())?
            .needed("part", self.part())?
            .needed("by_model", self.by_model())
    }
}

#[pymethods]
impl Label {
    #[new]
    fn made(message: Option<usize>, part: &str, by_model: bool) -> PyResult<Self> {
        let part = PARTS.into_iter().find(|known| known.name() == part).ok_or_else(|| {
            let known = PARTS.map(|part| format!("{:?}", part.name())).join(", ");
            RequestError::new_err(format!("part: {part:?} is unknown; use one of {known}"))
        })?;
        Ok(Self(RustLabel { message, part, by_model }))
    }

    #[classattr]
    #[pyo3(name = "__match_args__")]
    const MATCH_ARGS: (&'static str, &'static str, &'static str) = ("message", "part", "by_model");

    /// The position of its message in `Encoded.messages`, or None for what belongs to no message.
    #[getter]
    fn message(&self) -> Option<usize> {
        self.0.message
    }

    /// The part of the message or of the prompt: `role`, `reasoning`, `content`, `call`, `tool_result`, `tool`, `variable` or `markup`.
    #[getter]
    fn part(&self) -> &'static str {
        self.0.part.name()
    }

    /// Whether the model writes it: the assistant's reasoning, answer and calls with their markers, and the token that ends its turn.
    #[getter]
    fn by_model(&self) -> bool {
        self.0.by_model
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

/// Labels as objects of Python.
pub(crate) fn objects(labels: &[RustLabel]) -> Vec<Label> {
    labels.iter().copied().map(Label).collect()
}

/// Labels that Python gave.
pub(crate) fn labels_of(objects: Vec<Label>) -> Vec<RustLabel> {
    objects.into_iter().map(|label| label.0).collect()
}
