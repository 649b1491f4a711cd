//! The tools that a request offers.

use pyo3::prelude::*;
use pyo3::types::PyString;
use unjinja_dynamic::Tools as RustTools;

use crate::error::ToolsError;
use crate::json;

/// Tools that were read once and are used many times.
///
/// >>> from unjinja import Tools
/// >>> tools = Tools([{"type": "function", "function": {"name": "now", "parameters": {"type": "object"}}}])
/// >>> len(tools), tools.names
/// (1, ['now'])
#[pyclass(frozen, module = "unjinja")]
pub(crate) struct Tools {
    pub(crate) tools: RustTools,
    /// The list as it was given, for the template.
    pub(crate) json: serde_json::Value,
}

#[pymethods]
impl Tools {
    /// Reads OpenAI's list of tools: a list of dicts, or JSON text.
    #[new]
    fn new(tools: &Bound<'_, PyAny>) -> PyResult<Self> {
        let json = if let Ok(text) = tools.cast::<PyString>() {
            let text = text.to_str().map_err(|error| ToolsError::new_err(format!("tools: {error}")))?;
            serde_json::from_str(text).map_err(|error| {
                ToolsError::new_err(format!("tools: this text is no JSON: {error}; pass a list of dicts, or its JSON"))
            })?
        } else {
            json::from_python(tools, "tools", ToolsError::new_err)?
        };
        let tools = RustTools::from_openai(&json).map_err(|error| ToolsError::new_err(error.to_string()))?;
        Ok(Self { tools, json })
    }

    /// The names, in the order of the list.
    #[getter]
    fn names(&self) -> Vec<&str> {
        self.tools.iter().map(|tool| tool.name.as_str()).collect()
    }

    fn __len__(&self) -> usize {
        self.tools.iter().count()
    }

    fn __repr__(&self) -> String {
        format!("Tools({})", self.names().join(", "))
    }
}

/// The tools of an argument: `None`, a `Tools`, or what its constructor takes.
pub(crate) fn tools_of<'py>(value: Option<&Bound<'py, PyAny>>) -> PyResult<Option<Bound<'py, Tools>>> {
    let Some(value) = value.filter(|value| !value.is_none()) else { return Ok(None) };
    if let Ok(tools) = value.cast::<Tools>() {
        return Ok(Some(tools.clone()));
    }
    Ok(Some(Bound::new(value.py(), Tools::new(value)?)?))
}
