//! Grammars for constrained sampling.

use pyo3::prelude::*;
use serde_json::Value;
use unjinja_bindings::widened;
use unjinja_dynamic::Grammar as RustGrammar;

use crate::data::Fields;
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

/// A `unjinja.Grammar`.
pub(crate) fn grammar_object(py: Python<'_>, grammar: RustGrammar) -> PyResult<Bound<'_, PyAny>> {
    let triggers = grammar.triggers.iter().map(|trigger| (trigger.kind(), trigger.value()));
    Fields::new(py, "Grammar")
        .needed("lazy", grammar.lazy)?
        .needed("triggers", triggers.collect::<Vec<_>>())?
        .needed("widened", widened(&grammar))?
        .needed("text", grammar.text)?
        .needed("preserved_tokens", grammar.preserved_tokens)?
        .needed("stops", grammar.stops)?
        .needed("prefill", grammar.prefill)?
        .object()
}
