//! The keyword arguments of methods that share them. Each is read once, by its name, and errors are those of the interpreter.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The keyword arguments that nobody has taken yet.
pub(crate) struct Keywords<'a, 'py> {
    /// The class and the method.
    method: &'static str,
    given: Option<&'a Bound<'py, PyDict>>,
}

impl<'a, 'py> Keywords<'a, 'py> {
    pub(crate) fn new(method: &'static str, given: Option<&'a Bound<'py, PyDict>>) -> Self {
        Self { method, given }
    }

    /// Takes an argument, or its default if it was not given.
    pub(crate) fn take<T: FromPyObjectOwned<'py>>(&self, name: &str, default: T) -> PyResult<T> {
        let Some(given) = self.given else { return Ok(default) };
        let Some(value) = given.get_item(name)? else { return Ok(default) };
        given.del_item(name)?;
        value.extract::<T>().map_err(|error| {
            let (error, py): (PyErr, _) = (error.into(), given.py());
            match error.is_instance_of::<PyTypeError>(py) {
                true => PyTypeError::new_err(format!("argument '{name}': {}", error.value(py))),
                false => error,
            }
        })
    }

    /// Takes an argument that may be `None`.
    pub(crate) fn optional<T: FromPyObjectOwned<'py>>(&self, name: &str) -> PyResult<Option<T>> {
        self.take(name, None)
    }

    /// What is left: the variables of a template.
    pub(crate) fn rest(self) -> Option<&'a Bound<'py, PyDict>> {
        self.given
    }

    /// Fails if something is left.
    pub(crate) fn done(self) -> PyResult<()> {
        match self.given.and_then(|given| given.iter().next()) {
            None => Ok(()),
            Some((name, _)) => {
                let text = format!("{}() got an unexpected keyword argument '{name}'", self.method);
                Err(PyTypeError::new_err(text))
            }
        }
    }
}
