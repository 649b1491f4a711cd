//! Prompts: texts that know where the assistant's turn begins. The class `Prompt` is written in Python, because a class of the
//! stable interface cannot extend `str`.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyType};
use unjinja_dynamic::{Model, Prompt};

/// A `unjinja.Prompt`: a text, what it has of the assistant's turn, and what it lacks.
pub(crate) fn prompt_object<'py>(py: Python<'py>, prompt: &Prompt, turn: &str) -> PyResult<Bound<'py, PyAny>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let class = CLASS.import(py, "unjinja._prompt", "Prompt")?;
    let missing: Vec<String> = prompt.missing().iter().map(ToString::to_string).collect();
    class.call1((prompt.text(), turn, missing))
}

/// What a prompt has of the assistant's turn: `Prompt.turn`, or what is found in the text of a `str`.
pub(crate) fn turn_of(model: &Model, prompt: &Bound<'_, PyAny>) -> PyResult<String> {
    let Ok(text) = prompt.cast::<PyString>() else {
        let kind = prompt.get_type().name()?.to_string();
        return Err(PyTypeError::new_err(format!("prompt: expected a Prompt or a text, found {kind}")));
    };
    match prompt.getattr_opt("turn")? {
        Some(turn) => turn.extract(),
        None => Ok(model.turn_of(text.to_str()?).to_owned()),
    }
}
