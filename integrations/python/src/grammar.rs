//! Grammars for constrained sampling.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;
use unjinja_dynamic::{Grammar as RustGrammar, Target};

use crate::data::{Fields, NO_TEXT, Reduced, no_list};
use crate::error::RequestError;
use crate::json;

/// The kind of grammar that Python names.
pub(crate) fn target_of(kind: &str) -> PyResult<Target> {
    Target::ALL.into_iter().find(|target| target.name() == kind).ok_or_else(|| {
        let known = Target::ALL.map(|target| format!("{:?}", target.name())).join(", ");
        RequestError::new_err(format!("kind: {kind:?} is unknown; use one of {known}"))
    })
}

/// The JSON schema of an answer. None without one.
pub(crate) fn schema_of(schema: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Value>> {
    let Some(schema) = schema.filter(|schema| !schema.is_none()) else { return Ok(None) };
    let schema = json::from_python(schema, "response_schema", RequestError::new_err)?;
    if !schema.is_object() && !schema.is_boolean() {
        let text = format!("response_schema: expected a JSON schema, which is a dict or a bool, found {schema}");
        return Err(RequestError::new_err(text));
    }
    Ok(Some(schema))
}

/// A grammar, and what a sampler needs with it. Made by `Model.grammar`; `print` writes its text.
///
/// Args:
///     text: The text of the grammar. Empty if nothing has to be constrained.
///     lazy: Whether the grammar holds only from a trigger on.
///     triggers: The triggers of a lazy grammar: pairs of a kind (`word` or `pattern`) and a text.
///     preserved_tokens: Special tokens that the detokenizer must keep as text.
///     stops: Texts that end a turn.
///     prefill: The part of the constrained text that the prompt already contains.
///     widened: Where the grammar accepts more than the schemas allow, in sentences.
#[pyclass(frozen, eq, module = "unjinja")]
#[derive(PartialEq)]
pub(crate) struct Grammar {
    /// The text of the grammar. Empty if nothing has to be constrained.
    #[pyo3(get)]
    text: String,
    /// Whether the grammar holds only from a trigger on.
    #[pyo3(get)]
    lazy: bool,
    /// The triggers of a lazy grammar: pairs of a kind (`word` or `pattern`) and a text.
    #[pyo3(get)]
    triggers: Vec<(String, String)>,
    /// Special tokens that the detokenizer must keep as text.
    #[pyo3(get)]
    preserved_tokens: Vec<String>,
    /// Texts that end a turn.
    #[pyo3(get)]
    stops: Vec<String>,
    /// The part of the constrained text that the prompt already contains. The sampler must be fed with it first.
    #[pyo3(get)]
    prefill: String,
    /// Where the grammar accepts more than the schemas allow, in sentences.
    #[pyo3(get)]
    widened: Vec<String>,
}

impl Grammar {
    pub(crate) fn new(grammar: RustGrammar) -> Self {
        let place = |tool: &str| if tool.is_empty() { "the response".to_owned() } else { format!("the tool {tool:?}") };
        let triggers = grammar.triggers.iter();
        Self {
            lazy: grammar.lazy,
            triggers: triggers.map(|trigger| (trigger.kind().to_owned(), trigger.value().to_owned())).collect(),
            widened: grammar.widened.iter().map(|wider| format!("{}: {}", place(&wider.tool), wider.what)).collect(),
            text: grammar.text,
            preserved_tokens: grammar.preserved_tokens,
            stops: grammar.stops,
            prefill: grammar.prefill,
        }
    }

    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Fields<'py>> {
        Fields::new(py, "Grammar")
            .needed("text", &self.text)?
            .optional("lazy", self.lazy, false)?
            .optional("triggers", self.triggers.clone(), no_list(py))?
            .optional("preserved_tokens", &self.preserved_tokens, no_list(py))?
            .optional("stops", &self.stops, no_list(py))?
            .optional("prefill", &self.prefill, NO_TEXT)?
            .optional("widened", &self.widened, no_list(py))
    }
}

#[pymethods]
impl Grammar {
    #[new]
    #[pyo3(signature = (
        text, lazy=false, triggers=Vec::new(), preserved_tokens=Vec::new(), stops=Vec::new(), prefill=String::new(),
        widened=Vec::new(),
    ), text_signature = "(text, lazy=False, triggers=(), preserved_tokens=(), stops=(), prefill='', widened=())")]
    fn made(
        text: String,
        lazy: bool,
        triggers: Vec<(String, String)>,
        preserved_tokens: Vec<String>,
        stops: Vec<String>,
        prefill: String,
        widened: Vec<String>,
    ) -> Self {
        Self { text, lazy, triggers, preserved_tokens, stops, prefill, widened }
    }

    /// All fields by their names.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.fields(py)?.dict()
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.fields(py)?.hash()
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.fields(py)?.repr()
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        this.get().fields(this.py())?.reduced(this.get_type())
    }
}
