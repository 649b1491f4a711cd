//! Response templates, made of chat templates.

use pyo3::prelude::*;
use serde_json::{Value, json};
use unjinja_bindings::verified_export;
use unjinja_dynamic::Model;
use unjinja_export::response_template::LossDocument;
use unjinja_lint::{FindingDocument, lint_response_template};

use crate::error::{model_error, raised};
use crate::json;

/// The response template of a model, and what it does not express: what the command `unjinja export` prints.
fn document(model: &Model, count: u32, seed: u64) -> PyResult<Value> {
    let (export, verification) = verified_export(model, count, seed).map_err(raised)?;
    let template = model.parsed_template().map_err(model_error)?;
    let found = lint_response_template(&export.json, template, model.spec(), &verification);
    Ok(json!({
        "response_template": export.json,
        "tried": export.tried,
        "held": export.held,
        "losses": export.losses.iter().map(LossDocument::new).collect::<Vec<_>>(),
        "notes": export.notes,
        "findings": found.iter().map(FindingDocument::new).collect::<Vec<_>>(),
    }))
}

/// A `unjinja.Export`.
pub(crate) fn export_object<'py>(py: Python<'py>, model: &Model, count: u32, seed: u64) -> PyResult<Bound<'py, PyAny>> {
    let document = py.detach(|| document(model, count, seed))?;
    py.import("unjinja._data")?.getattr("export_of")?.call1((json::to_python(py, &document)?,))
}
