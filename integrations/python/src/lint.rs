//! Findings about templates.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use serde_json::{Value, json};
use unjinja_bindings::{Checked, find_response_template, overlay as overlay_of};
use unjinja_dynamic::{Source, with_names};
use unjinja_lint::FindingDocument;

use crate::data::object;
use crate::error::{LoadError, RequestError, raised};
use crate::json;

/// What is asked about a template.
fn checked(
    source: Source,
    response_template: Option<&Bound<'_, PyAny>>,
    overlay: Option<&str>,
    count: u32,
) -> PyResult<Checked> {
    let response = response_template.filter(|template| !template.is_none());
    let response = response.map(|template| {
        let document = json::from_python(template, "response_template", RequestError::new_err)?;
        find_response_template(&document).ok_or_else(|| {
            RequestError::new_err("response_template: it has no `fields`, so this is no response template")
        })
    });
    let response = response.transpose()?;
    Ok(Checked { source, overlay: overlay_of(overlay).map_err(raised)?, response, count })
}

/// The findings about a template: a `unjinja.Finding` of each.
fn findings(py: Python<'_>, checked: Checked) -> PyResult<Vec<Bound<'_, PyAny>>> {
    let found = py.detach(|| checked.findings());
    let objects =
        found.iter().map(|finding| object(py, "Finding", json::to_python(py, &json!(FindingDocument::new(finding)))?));
    objects.collect()
}

/// Finds faults of the chat template in a folder or file, and of the response template that belongs to it. As the command
/// `unjinja lint`. Returns a list of `Finding`, empty if nothing was found.
///
/// Args:
///     path: A folder or file, as in `Model.from_pretrained`. Raises LoadError if it holds no template.
///     response_template: The response template, a dict, or one that holds it. The default is the one in the same file, or next to
///         it in `tokenizer_config.json` or `response_template.json`.
///     overlay: The text of an overlay in TOML, which corrects what is known about the chat template.
///     count: How many random conversations are tried with the response template.
#[pyfunction]
#[pyo3(signature = (path, *, response_template=None, overlay=None, count=200))]
pub(crate) fn lint<'py>(
    py: Python<'py>,
    path: PathBuf,
    response_template: Option<&Bound<'_, PyAny>>,
    overlay: Option<&str>,
    count: u32,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let source = Source::read_one(&path).map_err(|error| LoadError::new_err(with_names(error).to_string()))?;
    let adjacent = source.path.clone();
    let mut checked = checked(source, response_template, overlay, count)?;
    if checked.response.is_none() {
        checked.response = response_template_of(&adjacent)?;
    }
    findings(py, checked)
}

/// Finds faults of a chat template that is given as text. Returns a list of `Finding`, empty if nothing was found.
///
/// Args:
///     text: The chat template. A syntax error is a finding too.
///     name: Its name in messages. The default is `template`.
///     bos_token: The text of `bos_token` in the template.
///     eos_token: The text of `eos_token` in the template.
///     special_tokens: All special tokens of the tokenizer. Without them, every marker with brackets or bars counts as one.
///     response_template: The response template that belongs to it, a dict, or one that holds it. The default is none.
///     overlay: The text of an overlay in TOML, which corrects what is known about the chat template.
///     count: How many random conversations are tried with the response template.
#[pyfunction]
#[pyo3(signature = (
    text, *, name=None, bos_token=None, eos_token=None, special_tokens=None, response_template=None,
    overlay=None, count=200,
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn lint_template<'py>(
    py: Python<'py>,
    text: &str,
    name: Option<&str>,
    bos_token: Option<String>,
    eos_token: Option<String>,
    special_tokens: Option<Vec<String>>,
    response_template: Option<&Bound<'_, PyAny>>,
    overlay: Option<&str>,
    count: u32,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let mut source = Source::from_text(format!("{}.jinja", name.unwrap_or("template")), text);
    (source.tokens.bos, source.tokens.eos) = (bos_token, eos_token);
    source.special_tokens = special_tokens;
    findings(py, checked(source, response_template, overlay, count)?)
}

/// The response template that belongs to a chat template.
fn response_template_of(path: &Path) -> PyResult<Option<Value>> {
    for file in
        [path.to_owned(), path.with_file_name("tokenizer_config.json"), path.with_file_name("response_template.json")]
    {
        if file.extension().is_none_or(|extension| extension != "json") || !file.is_file() {
            continue;
        }
        let failure = |error: &dyn std::fmt::Display| LoadError::new_err(format!("{}: {error}", file.display()));
        let text = std::fs::read_to_string(&file).map_err(|error| failure(&error))?;
        let document: Value = serde_json::from_str(&text).map_err(|error| failure(&error))?;
        if let Some(found) = find_response_template(&document) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}
