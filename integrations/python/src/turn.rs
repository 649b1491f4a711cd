//! The parser of a turn, which streams and chunks of OpenAI share.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes, PyDict, PyString};
use unjinja_bindings::{Step, TurnReader};
use unjinja_dynamic::{Chunk, Model, Options};

use crate::event::Event;
use crate::message::Message;

/// A turn that is being read.
pub(crate) struct LockedTurn(Mutex<TurnReader>);

impl LockedTurn {
    pub(crate) fn new(model: &Model, options: &Options) -> Self {
        Self(Mutex::new(TurnReader::new(model, options)))
    }

    /// What is known about the turn. No object of Python is made while this is locked: that may run other code of Python, which
    /// may want the lock.
    ///
    /// A push that failed half-way leaves a parser that can continue, so a poisoned lock is not an error.
    pub(crate) fn lock(&self) -> MutexGuard<'_, TurnReader> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The events of steps.
    pub(crate) fn events<'a>(&self, py: Python<'_>, steps: impl IntoIterator<Item = Step<'a>>) -> PyResult<Vec<Event>> {
        let mut read = Vec::new();
        for step in steps {
            self.lock().run(step, |event| read.push(event.clone().into_owned()));
        }
        // After the lock is released: making an object may run other code of Python.
        read.iter().filter_map(|event| Event::new(py, &event.as_event()).transpose()).collect()
    }

    /// What the events until now add up to.
    pub(crate) fn message(&self) -> Message {
        let turn = self.lock();
        Message::new(turn.model(), turn.message().clone())
    }

    /// How many tokens became text.
    pub(crate) fn token_counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = self.lock().stream().token_counts();
        [("reasoning", counts.reasoning), ("content", counts.content)].into_py_dict(py)
    }

    /// The stream as a text.
    pub(crate) fn shown(&self, class: &str) -> String {
        let turn = self.lock();
        format!("{class}({}, {:?})", turn.model().name(), turn.stream())
    }
}

/// An output or a piece of one, which the argument `name` holds: a text, or bytes cut anywhere.
pub(crate) fn chunk<'a>(piece: &'a Bound<'_, PyAny>, name: &str) -> PyResult<Chunk<'a>> {
    if let Ok(text) = piece.cast::<PyString>() {
        return Ok(Chunk::from(text.to_str()?));
    }
    if let Ok(bytes) = piece.cast::<PyBytes>() {
        return Ok(Chunk::from(bytes.as_bytes()));
    }
    let kind = piece.get_type().name()?.to_string();
    Err(PyTypeError::new_err(format!("{name}: expected str or bytes, found {kind}")))
}
