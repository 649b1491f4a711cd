//! What the classes that hold data have in common. Such a class tells its fields, in the order of its constructor's parameters;
//! `repr`, `pickle`, `copy`, `hash` and `to_dict` are made of them, so an object is always made again by a call of its class. Classes
//! that are data alone are written in Python, in `unjinja/_data.py`.

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple, PyType};

/// The fields of an object.
pub(crate) struct Fields<'py> {
    py: Python<'py>,
    class: &'static str,
    fields: Vec<Field<'py>>,
}

struct Field<'py> {
    name: &'static str,
    value: Bound<'py, PyAny>,
    /// What the constructor takes if it is not given. None if it must be given.
    default: Option<Bound<'py, PyAny>>,
}

/// The default of fields that are texts.
pub(crate) const NO_TEXT: &str = "";

/// The default of fields that are lists.
pub(crate) fn no_list(py: Python<'_>) -> Bound<'_, PyList> {
    PyList::empty(py)
}

impl<'py> Fields<'py> {
    /// No fields yet. `class` is the name in `repr`.
    pub(crate) fn new(py: Python<'py>, class: &'static str) -> Self {
        Self { py, class, fields: Vec::new() }
    }

    /// A field that the constructor must be given.
    pub(crate) fn needed(mut self, name: &'static str, value: impl IntoPyObject<'py>) -> PyResult<Self> {
        self.fields.push(Field { name, value: value.into_bound_py_any(self.py)?, default: None });
        Ok(self)
    }

    /// A field for which the constructor has a default.
    pub(crate) fn optional(
        mut self,
        name: &'static str,
        value: impl IntoPyObject<'py>,
        default: impl IntoPyObject<'py>,
    ) -> PyResult<Self> {
        let (value, default) = (value.into_bound_py_any(self.py)?, default.into_bound_py_any(self.py)?);
        self.fields.push(Field { name, value, default: Some(default) });
        Ok(self)
    }

    /// A field whose default is `None`.
    pub(crate) fn or_none(self, name: &'static str, value: impl IntoPyObject<'py>) -> PyResult<Self> {
        let none = self.py.None();
        self.optional(name, value, none)
    }

    /// The call that makes an equal object. Fields with their default are left out.
    pub(crate) fn repr(&self) -> PyResult<String> {
        let mut arguments = Vec::new();
        for Field { name, value, default } in &self.fields {
            match default {
                None => arguments.push(value.repr()?.to_string()),
                Some(default) if value.eq(default)? => {}
                Some(_) => arguments.push(format!("{name}={}", value.repr()?)),
            }
        }
        Ok(format!("{}({})", self.class, arguments.join(", ")))
    }

    /// What `pickle` and `copy` call to make an equal object: the class, with all fields.
    pub(crate) fn reduced(&self, class: Bound<'py, PyType>) -> PyResult<Reduced<'py>> {
        Ok((class.into_any(), self.values()?))
    }

    /// The values, in the order of the constructor's parameters.
    pub(crate) fn values(&self) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(self.py, self.fields.iter().map(|field| &field.value))
    }

    /// Equal objects have the same `repr`. For classes without numbers and dicts, which may be equal and differ in their text.
    pub(crate) fn hash(&self) -> PyResult<isize> {
        self.repr()?.into_bound_py_any(self.py)?.hash()
    }

    /// Whether these are the same values of the same class.
    pub(crate) fn equal(&self, other: &Self) -> PyResult<bool> {
        Ok(self.class == other.class && self.values()?.eq(other.values()?)?)
    }

    /// An object of the class, which is one of `unjinja/_data.py`.
    pub(crate) fn object(&self) -> PyResult<Bound<'py, PyAny>> {
        object(self.py, self.class, self.dict()?)
    }

    /// All fields by their names.
    pub(crate) fn dict(&self) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(self.py);
        for Field { name, value, .. } in &self.fields {
            dict.set_item(name, value)?;
        }
        Ok(dict)
    }
}

/// A class of `unjinja/_data.py`.
pub(crate) fn class_of<'py>(py: Python<'py>, class: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("unjinja._data")?.getattr(class)
}

/// An object of a class of `unjinja/_data.py`. `fields` become a dict of its fields.
pub(crate) fn object<'py>(py: Python<'py>, class: &str, fields: impl IntoPyObject<'py>) -> PyResult<Bound<'py, PyAny>> {
    let fields = fields.into_bound_py_any(py)?;
    class_of(py, class)?.call((), Some(fields.cast::<PyDict>()?))
}

/// What `__reduce__` returns: a callable, and its arguments.
pub(crate) type Reduced<'py> = (Bound<'py, PyAny>, Bound<'py, PyTuple>);

/// The error of a class whose objects are in the middle of something.
pub(crate) fn not_copied(class: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "a {class} can be neither pickled nor copied: it is a parser in the middle of a turn; pickle the Model and what was \
         pushed, or the message"
    ))
}
