//! A turn that arrives as token ids.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use unjinja_dynamic::Options;
use unjinja_tokens::{Encoder, Vocabulary};

use crate::data::not_copied;
use crate::event::Event;
use crate::json;
use crate::message::Message;
use crate::span::channel_name;
use crate::tokenizer::ids_of;
use crate::turn::{Step, TurnParser};

/// A parser for a turn that arrives as token ids. `Encoder.stream` makes it. A control token is a marker by its id; text that spells one
/// is text. A stream may be used from several threads, one after the other.
#[pyclass(frozen, module = "unjinja")]
pub(crate) struct TokenStream {
    turn: TurnParser,
    vocabulary: Arc<Vocabulary>,
}

impl TokenStream {
    pub(crate) fn new(encoder: &Encoder, options: &Options) -> Self {
        let turn = TurnParser::new(encoder.model(), &encoder.options(options));
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
        let mut read = Vec::new();
        let mut push = |id| {
            self.turn.run(Step::Token(self.vocabulary.token(id)), |event| read.push(event.clone().into_owned()));
        };
        match ids.extract::<u32>() {
            Ok(id) => push(id),
            Err(_) => ids_of(ids, "ids")?.into_iter().for_each(push),
        }
        // After the lock is released: making an object may run other code of Python.
        read.iter().filter_map(|event| Event::new(py, &event.as_event()).transpose()).collect()
    }

    /// The output is over. Text that was held back comes out, and everything that is open ends.
    fn finish(&self, py: Python<'_>) -> PyResult<Vec<Event>> {
        let mut read = Vec::new();
        self.turn.run(Step::Finish, |event| read.push(event.clone().into_owned()));
        read.iter().filter_map(|event| Event::new(py, &event.as_event()).transpose()).collect()
    }

    /// Makes the parser new, for another turn with the same options. Returns the bytes that were pushed and not settled.
    fn reset<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.turn.reset())
    }

    /// What the events until now add up to.
    #[getter]
    fn message(&self) -> Message {
        let message = self.turn.state().message.clone();
        Message::new(&self.turn.model, message)
    }

    /// What is being read: `reasoning` or `content`. None inside a call and after the end of the turn.
    #[getter]
    fn channel(&self) -> Option<&'static str> {
        channel_name(self.turn.state().stream.channel())
    }

    /// How many tokens became text: a dict with `reasoning` and `content`.
    #[getter]
    fn token_counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let counts = self.turn.state().stream.token_counts();
        json::to_python(py, &serde_json::json!({"reasoning": counts.reasoning, "content": counts.content}))
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(not_copied("TokenStream"))
    }

    fn __repr__(&self) -> String {
        format!("TokenStream({}, {:?})", self.turn.model.name(), self.turn.state().stream)
    }
}
