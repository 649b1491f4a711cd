//! Values of Python as JSON values, and back. Written here because no release of the usual library fits this version of PyO3.

use std::fmt::Display;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use serde_json::{Map, Number, Value, json};
use unjinja_spec::BIG_INTEGER;

/// How deep lists and objects may be nested.
const MAX_DEPTH: usize = 128;

/// The JSON value of a Python value: `None`, `bool`, `int`, `float`, `str`, `list`, `tuple`, `dict` or another mapping with keys
/// that are texts. An object with `model_dump`, as pydantic's have, is dumped. `what` names the value in errors, and `error` makes
/// the exception.
pub(crate) fn from_python<E: Fn(String) -> PyErr>(value: &Bound<'_, PyAny>, what: &str, error: E) -> PyResult<Value> {
    Reader { error, exact: false }.read(value, what, 0)
}

/// The same for what a template is given: an integer beyond 64 bits keeps its digits.
pub(crate) fn exact_from_python<E: Fn(String) -> PyErr>(
    value: &Bound<'_, PyAny>,
    what: &str,
    error: E,
) -> PyResult<Value> {
    Reader { error, exact: true }.read(value, what, 0)
}

struct Reader<E> {
    error: E,
    exact: bool,
}

impl<E: Fn(String) -> PyErr> Reader<E> {
    fn error<T>(&self, place: &str, what: impl Display) -> PyResult<T> {
        Err((self.error)(format!("{place}: {what}")))
    }

    fn read(&self, value: &Bound<'_, PyAny>, place: &str, depth: usize) -> PyResult<Value> {
        if depth > MAX_DEPTH {
            return self.error(place, format_args!("nested deeper than {MAX_DEPTH} levels"));
        }
        if value.is_none() {
            return Ok(Value::Null);
        }
        if let Ok(text) = value.cast::<PyString>() {
            return Ok(Value::String(self.text(text, place)?.to_owned()));
        }
        if value.is_instance_of::<PyBool>() {
            return Ok(Value::Bool(value.extract()?));
        }
        if value.is_instance_of::<PyInt>() {
            return self.integer(value, place);
        }
        if value.is_instance_of::<PyFloat>() {
            let number: f64 = value.extract()?;
            return match Number::from_f64(number) {
                Some(number) => Ok(Value::Number(number)),
                None => self.error(place, format_args!("JSON has no number {}", value.repr()?)),
            };
        }
        if let Ok(object) = value.cast::<PyDict>() {
            let mut map = Map::new();
            for (key, member) in object.iter() {
                self.member(&mut map, &key, &member, place, depth)?;
            }
            return Ok(Value::Object(map));
        }
        if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
            let mut list = Vec::new();
            for (index, element) in value.try_iter()?.enumerate() {
                list.push(self.read(&element?, &format!("{place}[{index}]"), depth + 1)?);
            }
            return Ok(Value::Array(list));
        }
        if let Ok(object) = value.cast::<PyMapping>() {
            let mut map = Map::new();
            for pair in object.items()?.iter() {
                let (key, member): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
                self.member(&mut map, &key, &member, place, depth)?;
            }
            return Ok(Value::Object(map));
        }
        if value.hasattr("model_dump")? {
            let options = PyDict::new(value.py());
            options.set_item("exclude_none", true)?;
            return self.read(&value.call_method("model_dump", (), Some(&options))?, place, depth + 1);
        }
        self.error(place, format_args!("a value of type {} has no JSON form", value.get_type().name()?))
    }

    fn member(
        &self,
        map: &mut Map<String, Value>,
        key: &Bound<'_, PyAny>,
        member: &Bound<'_, PyAny>,
        place: &str,
        depth: usize,
    ) -> PyResult<()> {
        let Ok(key) = key.cast::<PyString>() else {
            return self.error(place, format_args!("the key {} is no text", key.repr()?));
        };
        let key = self.text(key, place)?;
        map.insert(key.to_owned(), self.read(member, &format!("{place}.{key}"), depth + 1)?);
        Ok(())
    }

    fn text<'a>(&self, text: &'a Bound<'_, PyString>, place: &str) -> PyResult<&'a str> {
        text.to_str()
            .or_else(|_| self.error(place, format_args!("{} has half a character (a lone surrogate)", text.repr()?)))
    }

    fn integer(&self, value: &Bound<'_, PyAny>, place: &str) -> PyResult<Value> {
        if let Ok(number) = value.extract::<i64>() {
            return Ok(Value::from(number));
        }
        match value.extract::<u64>() {
            Ok(number) => Ok(Value::from(number)),
            Err(_) if self.exact => Ok(json!({BIG_INTEGER: value.str()?.to_str()?})),
            Err(_) => self.error(place, "the number does not fit into 64 bits; pass it as a float or as a text"),
        }
    }
}

/// The Python value of a JSON value: dicts, lists, texts and numbers.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(on) => PyBool::new(py, *on).to_owned().into_any(),
        Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(number), _, _) => number.into_pyobject(py)?.into_any(),
            (_, Some(number), _) => number.into_pyobject(py)?.into_any(),
            (_, _, number) => number.unwrap_or(f64::NAN).into_pyobject(py)?.into_any(),
        },
        Value::String(text) => PyString::new(py, text).into_any(),
        Value::Array(list) => {
            let elements = list.iter().map(|element| to_python(py, element)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, elements)?.into_any()
        }
        Value::Object(map) => {
            let object = PyDict::new(py);
            for (key, member) in map {
                object.set_item(key, to_python(py, member)?)?;
            }
            object.into_any()
        }
    })
}
