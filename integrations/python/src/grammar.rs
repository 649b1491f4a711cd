//! Grammars for constrained sampling.

use pyo3::prelude::*;
use serde_json::Value;
use unjinja_bindings::widened;
use unjinja_dynamic::Grammar as RustGrammar;

use crate::data::object;
use crate::error::RequestError;
use crate::json;
use crate::keywords::Keywords;

/// The JSON schema of an answer. None without one.
pub(crate) fn schema_of(keywords: &Keywords<'_, '_>) -> PyResult<Option<Value>> {
    let Some(schema) = keywords.optional("response_schema")? else { return Ok(None) };
    let schema = json::from_python(&schema, "response_schema", RequestError::new_err)?;
    if !schema.is_object() && !schema.is_boolean() {
        let text = format!("response_schema: expected a JSON schema, which is a dict or a bool, found {schema}");
        return Err(RequestError::new_err(text));
    }
    Ok(Some(schema))
}

/// The fields of a `unjinja.Grammar`.
#[derive(IntoPyObject)]
struct Grammar {
    text: String,
    lazy: bool,
    triggers: Vec<(String, String)>,
    preserved_tokens: Vec<String>,
    stops: Vec<String>,
    prefill: String,
    widened: Vec<String>,
}

/// A `unjinja.Grammar`.
pub(crate) fn grammar_object(py: Python<'_>, grammar: RustGrammar) -> PyResult<Bound<'_, PyAny>> {
    let triggers = grammar.triggers.iter();
    let fields = Grammar {
        lazy: grammar.lazy,
        triggers: triggers.map(|trigger| (trigger.kind().to_owned(), trigger.value().to_owned())).collect(),
        widened: widened(&grammar),
        text: grammar.text,
        preserved_tokens: grammar.preserved_tokens,
        stops: grammar.stops,
        prefill: grammar.prefill,
    };
    object(py, "Grammar", fields)
}
