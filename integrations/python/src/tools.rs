//! The tools that a request offers.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use serde_json::Value;
use unjinja_dynamic::Tools as RustTools;

use crate::data::{Fields, Reduced};
use crate::error::ToolsError;
use crate::json;

/// Tools that were read once and are used many times. Every argument `tools` takes one, or what it is made of.
///
/// >>> from unjinja import Tools
/// >>> def now(zone: str = "UTC") -> str:
/// ...     """Tells the time.
/// ...
/// ...     Args:
/// ...         zone: The name of the time zone.
/// ...     """
/// >>> tools = Tools([now, {"type": "function", "function": {"name": "stop", "parameters": {"type": "object"}}}])
/// >>> len(tools), tools.names, tools.to_list()[0]["function"]["parameters"]["properties"]
/// (2, ['now', 'stop'], {'zone': {'type': 'string', 'description': 'The name of the time zone.'}})
///
/// Args:
///     tools: A list of tools, one function or class, or OpenAI's list of tools as JSON text. A tool is a dict as OpenAI has it, a
///         function with type hints (its docstring describes it and, in a section `Args:`, its parameters), a pydantic class, a
///         dataclass or a TypedDict (its docstring describes it, its fields are the parameters), or a `Tools`. Raises ToolsError,
///         with the place in the list or the name of the parameter, if one cannot be read.
#[pyclass(frozen, module = "unjinja")]
pub(crate) struct Tools {
    pub(crate) tools: RustTools,
    /// The list as it was given, for the template.
    pub(crate) json: Value,
    /// The text that a template is likely to write of it. Equal tools have the same.
    text: String,
}

#[pymethods]
impl Tools {
    #[new]
    fn new(tools: &Bound<'_, PyAny>) -> PyResult<Self> {
        let json = if let Ok(text) = tools.cast::<PyString>() {
            let text = text.to_str().map_err(|error| ToolsError::new_err(format!("tools: {error}")))?;
            serde_json::from_str(text).map_err(|error| {
                ToolsError::new_err(format!("tools: this text is no JSON: {error}; pass a list of dicts, or its JSON"))
            })?
        } else {
            json::from_python(&described(tools)?, "tools", ToolsError::new_err)?
        };
        let tools = RustTools::from_openai(&json).map_err(|error| ToolsError::new_err(error.to_string()))?;
        let text = json.to_string();
        Ok(Self { tools, json, text })
    }

    /// The names, in the order of the list.
    #[getter]
    fn names(&self) -> Vec<&str> {
        self.tools.iter().map(|tool| tool.name.as_str()).collect()
    }

    /// OpenAI's list of tools: a list of dicts, as it is handed to the template.
    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_python(py, &self.json)
    }

    fn __len__(&self) -> usize {
        self.tools.iter().count()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.text == other.text
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.text.hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Fields::new(py, "Tools").needed("tools", self.to_list(py)?)?.repr()
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        Fields::new(this.py(), "Tools").needed("tools", &this.get().text)?.reduced(this.get_type())
    }
}

/// Tools with a schema in place of each function and class. Lists of dicts, which most tools are, stay as they are.
fn described<'py>(tools: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let is_dict = |item: PyResult<Bound<'py, PyAny>>| item.is_ok_and(|item| item.is_instance_of::<PyDict>());
    let is_list = tools.is_instance_of::<PyList>() || tools.is_instance_of::<PyTuple>();
    if is_list && tools.try_iter()?.all(is_dict) {
        return Ok(tools.clone());
    }
    static DESCRIBE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    DESCRIBE.import(tools.py(), "unjinja._schema", "described")?.call1((tools,))
}

/// The tools of an argument: `None`, a `Tools`, or what its constructor takes.
pub(crate) fn tools_of<'py>(value: Option<&Bound<'py, PyAny>>) -> PyResult<Option<Bound<'py, Tools>>> {
    let Some(value) = value.filter(|value| !value.is_none()) else { return Ok(None) };
    if let Ok(tools) = value.cast::<Tools>() {
        return Ok(Some(tools.clone()));
    }
    Ok(Some(Bound::new(value.py(), Tools::new(value)?)?))
}
