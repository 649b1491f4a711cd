//! Values of Python as JSON values, and back. Written here because no release of the usual library fits this version of PyO3.

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use serde_json::{Map, Number, Value};

/// How deep lists and objects may be nested.
const MAX_DEPTH: usize = 128;

/// The JSON value of a Python value: `None`, `bool`, `int`, `float`, `str`, `list`, `tuple`, `dict` or another mapping with keys
/// that are texts. An object with `model_dump`, as pydantic's have, is dumped. `what` names the value in errors.
pub(crate) fn from_python(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Value> {
    read(value, what, 0)
}

fn read(value: &Bound<'_, PyAny>, place: &str, depth: usize) -> PyResult<Value> {
    if depth > MAX_DEPTH {
        return Err(PyValueError::new_err(format!("{place}: nested deeper than {MAX_DEPTH} levels")));
    }
    if value.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Value::String(text.to_str()?.to_owned()));
    }
    if value.is_instance_of::<PyBool>() {
        return Ok(Value::Bool(value.extract()?));
    }
    if value.is_instance_of::<PyInt>() {
        return integer(value, place);
    }
    if value.is_instance_of::<PyFloat>() {
        let number: f64 = value.extract()?;
        let number = Number::from_f64(number);
        return number
            .map(Value::Number)
            .ok_or_else(|| PyValueError::new_err(format!("{place}: JSON has no such number")));
    }
    if let Ok(object) = value.cast::<PyDict>() {
        let mut map = Map::new();
        for (key, member) in object.iter() {
            member_of(&mut map, &key, &member, place, depth)?;
        }
        return Ok(Value::Object(map));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let mut list = Vec::new();
        for (index, element) in value.try_iter()?.enumerate() {
            list.push(read(&element?, &format!("{place}[{index}]"), depth + 1)?);
        }
        return Ok(Value::Array(list));
    }
    if let Ok(object) = value.cast::<PyMapping>() {
        let mut map = Map::new();
        for pair in object.items()?.iter() {
            let (key, member): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
            member_of(&mut map, &key, &member, place, depth)?;
        }
        return Ok(Value::Object(map));
    }
    if value.hasattr("model_dump")? {
        let options = PyDict::new(value.py());
        options.set_item("exclude_none", true)?;
        return read(&value.call_method("model_dump", (), Some(&options))?, place, depth + 1);
    }
    Err(PyTypeError::new_err(format!("{place}: a value of type {} has no JSON form", value.get_type().name()?)))
}

fn member_of(
    map: &mut Map<String, Value>,
    key: &Bound<'_, PyAny>,
    member: &Bound<'_, PyAny>,
    place: &str,
    depth: usize,
) -> PyResult<()> {
    let Ok(key) = key.cast::<PyString>() else {
        return Err(PyTypeError::new_err(format!("{place}: the key {} is no text", key.repr()?)));
    };
    let key = key.to_str()?;
    map.insert(key.to_owned(), read(member, &format!("{place}.{key}"), depth + 1)?);
    Ok(())
}

fn integer(value: &Bound<'_, PyAny>, place: &str) -> PyResult<Value> {
    if let Ok(number) = value.extract::<i64>() {
        return Ok(Value::from(number));
    }
    let number = value.extract::<u64>();
    number
        .map(Value::from)
        .map_err(|_| PyOverflowError::new_err(format!("{place}: the number does not fit into 64 bits")))
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
