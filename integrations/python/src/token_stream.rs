//! A turn that arrives as token ids.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use unjinja_bindings::Step;
use unjinja_dynamic::Options;
use unjinja_tokens::{Encoder, Vocabulary};

use crate::data::not_copied;
use crate::event::Event;
use crate::message::Message;
use crate::tokenizer::ids_of;
use crate::turn::LockedTurn;

/// A parser for a turn that arrives as token ids. `Encoder.stream` makes it. A control token is a marker by its id; text that spells one
/// is text. A stream may be used from several threads, one after the other.
#[pyclass(frozen, module = "unjinja")]
pub(crate) struct TokenStream {
    turn: LockedTurn,
    vocabulary: Arc<Vocabulary>,
}

impl TokenStream {
    pub(crate) fn new(encoder: &Encoder, options: &Options) -> Self {
        let turn = LockedTurn::new(encoder.model(), &encoder.options(options));
        Self { turn, vocabulary: Arc::clone(encoder.vocabulary()) }
    }
}

#[pymethods]
impl TokenStream {
    /// Reads more of what the model writes. Returns the events, often none or one.
    ///
    /// Args:
    ///     ids: The next id, or a list of ids. One that the tokenizer does not have is read as the character U+FFFD.
    fn push(&self, py: Python<'_>, ids: &Bound<'_, PyAny>) -> PyResult<Vec<Event>> {
        let token = |id| Step::Token(self.vocabulary.token(id));
        match ids.extract::<u32>() {
            Ok(id) => self.turn.events(py, [token(id)]),
            Err(_) => self.turn.events(py, ids_of(ids, "ids")?.into_iter().map(token)),
        }
    }

    /// The output is over. Text that was held back comes out, and everything that is open ends.
    fn finish(&self, py: Python<'_>) -> PyResult<Vec<Event>> {
        self.turn.events(py, [Step::Finish])
    }

    /// Makes the parser new, for another turn with the same options. Returns the bytes that were pushed and not settled.
    fn reset<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.turn.lock().reset())
    }

    /// What the events until now add up to.
    #[getter]
    fn message(&self) -> Message {
        self.turn.message()
    }

    /// What is being read: `reasoning` or `content`. None inside a call and after the end of the turn.
    #[getter]
    fn channel(&self) -> Option<&'static str> {
        self.turn.lock().channel()
    }

    /// How many tokens became text: a dict with `reasoning` and `content`.
    #[getter]
    fn token_counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.turn.token_counts(py)
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(not_copied("TokenStream"))
    }

    fn __repr__(&self) -> String {
        self.turn.shown("TokenStream")
    }
}
