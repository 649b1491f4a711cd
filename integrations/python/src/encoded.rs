//! A conversation as token ids, as Python sees it.

use std::ops::Range;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList};
use serde_json::Value;
use unjinja_tokens::{Encoded as RustEncoded, Label as RustLabel, Spelled as RustSpelled};

use crate::data::{Fields, Reduced, no_list, object};
use crate::error::RequestError;
use crate::json;
use crate::label::{Label, labels_of, objects};

/// A conversation as token ids. `Encoder.encode` makes it.
///
/// Args:
///     ids: The ids.
///     labels: What each of them is, a list of `Label`. Raises RequestError if there are more or fewer than ids.
///     offsets: For each id a pair: where its text begins and ends in `text`, in characters. Raises RequestError if there are more or
///         fewer than ids.
///     text: The rendered prompt.
///     messages: The messages as the template got them.
///     spelled: The control tokens that texts of the conversation spell, a list of `Spelled`.
#[pyclass(frozen, eq, module = "unjinja")]
#[derive(PartialEq)]
pub(crate) struct Encoded {
    ids: Vec<u32>,
    labels: Vec<RustLabel>,
    offsets: Vec<(usize, usize)>,
    text: String,
    messages: Value,
    spelled: Vec<Spelled>,
}

impl Encoded {
    /// Takes what Python may ask for; the rest is dropped.
    pub(crate) fn new(encoded: &RustEncoded) -> Self {
        let text = encoded.text();
        let characters = Characters::of(text);
        let spelled = |spelled: &RustSpelled| Spelled {
            token: spelled.token.clone(),
            path: spelled.path.to_string(),
            offset: characters.offset(&spelled.range),
        };
        Self {
            ids: encoded.ids().to_vec(),
            labels: encoded.labels().to_vec(),
            offsets: encoded.ranges().iter().map(|range| characters.offset(range)).collect(),
            spelled: encoded.spelled().iter().map(spelled).collect(),
            messages: encoded.messages().clone(),
            text: text.to_owned(),
        }
    }

    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Fields<'py>> {
        Fields::new(py, "Encoded")
            .needed("ids", self.ids(py)?)?
            .needed("labels", self.labels())?
            .needed("offsets", self.offsets())?
            .needed("text", self.text())?
            .needed("messages", self.messages(py)?)?
            .optional("spelled", self.spelled(py)?, no_list(py))
    }
}

#[pymethods]
impl Encoded {
    #[new]
    #[pyo3(signature = (ids, labels, offsets, text, messages, spelled=Vec::new()),
        text_signature = "(ids, labels, offsets, text, messages, spelled=())")]
    fn made(
        ids: Vec<u32>,
        labels: Vec<Label>,
        offsets: Vec<(usize, usize)>,
        text: String,
        messages: &Bound<'_, PyAny>,
        spelled: Vec<Spelled>,
    ) -> PyResult<Self> {
        for (name, count) in [("labels", labels.len()), ("offsets", offsets.len())] {
            if count != ids.len() {
                let text = format!("{name}: there are {count} and {} ids; give one for each id", ids.len());
                return Err(RequestError::new_err(text));
            }
        }
        let messages = json::exact_from_python(messages, "messages", RequestError::new_err)?;
        Ok(Self { ids, labels: labels_of(labels), offsets, text, messages, spelled })
    }

    /// The ids.
    #[getter]
    pub(crate) fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, &self.ids)
    }

    /// What each token is.
    #[getter]
    fn labels(&self) -> Vec<Label> {
        objects(&self.labels)
    }

    /// For each token where its text begins and ends in `text`, in characters. Tokens that split a character have all of it.
    #[getter]
    fn offsets(&self) -> Vec<(usize, usize)> {
        self.offsets.clone()
    }

    /// The rendered prompt.
    #[getter]
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The messages as the template got them: `Label.message` is a position in this list.
    #[getter]
    fn messages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_python(py, &self.messages)
    }

    /// The control tokens that texts of the conversation spell. They became ordinary tokens.
    #[getter]
    fn spelled<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.spelled.iter().map(|spelled| object(py, "Spelled", spelled.clone())).collect()
    }

    /// For each token whether the model writes it: a list of bools, what training learns from.
    #[getter]
    fn assistant_mask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.labels.iter().map(|label| PyBool::new(py, label.by_model)))
    }

    /// The columns that trainers of TRL take: a dict with `input_ids`, and `assistant_masks`, which is 1 for what the model writes and
    /// 0 for the rest.
    fn training_sample<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let sample = PyDict::new(py);
        sample.set_item("input_ids", &self.ids)?;
        sample
            .set_item("assistant_masks", PyList::new(py, self.labels.iter().map(|label| u32::from(label.by_model)))?)?;
        Ok(sample)
    }

    fn __len__(&self) -> usize {
        self.ids.len()
    }

    fn __repr__(&self) -> String {
        let by_model = self.labels.iter().filter(|label| label.by_model).count();
        format!("<unjinja.Encoded: {} ids, {by_model} of them by the model>", self.ids.len())
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        this.get().fields(this.py())?.reduced(this.get_type())
    }
}

/// The fields of a `unjinja.Spelled`.
#[derive(Clone, FromPyObject, IntoPyObject, PartialEq)]
struct Spelled {
    token: String,
    path: String,
    offset: (usize, usize),
}

/// Counts characters, because Python does.
pub(crate) struct Characters {
    /// How many characters begin before each byte. Empty for a text in which bytes are characters.
    before: Vec<usize>,
}

impl Characters {
    pub(crate) fn of(text: &str) -> Self {
        if text.is_ascii() {
            return Self { before: Vec::new() };
        }
        let mut count = 0;
        let mut before = Vec::with_capacity(text.len() + 1);
        for at in 0..=text.len() {
            before.push(count);
            count += usize::from(text.is_char_boundary(at));
        }
        Self { before }
    }

    /// Where bytes begin and end, in characters.
    pub(crate) fn offset(&self, bytes: &Range<usize>) -> (usize, usize) {
        let count = |at: usize| self.before.get(at).copied().unwrap_or(at);
        (count(bytes.start), count(bytes.end))
    }
}
