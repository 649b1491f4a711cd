//! Findings about templates.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use serde_json::Value;
use unjinja_analyzer::{SourceExt, verify};
use unjinja_dynamic::{Loader, Overlay, Source, template_file};
use unjinja_export::lint::{
    Evidence, Finding as RustFinding, LintOptions, lint as run, lint_response_template, syntax_error,
};
use unjinja_export::response_template::{Dialect, find};

use crate::error::{LoadError, RequestError};
use crate::export::dialect;
use crate::json;

/// Something in a template that its maintainer should look at.
///
/// >>> import unjinja
/// >>> template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}"
/// >>> [(finding.severity, finding.rule) for finding in unjinja.lint_template(template) if finding.severity != "note"]
/// [('warning', 'no-generation-prompt')]
#[pyclass(frozen, module = "unjinja")]
pub(crate) struct Finding(RustFinding);

#[pymethods]
impl Finding {
    /// The rule, such as `null-content`. `docs/lint.md` lists them.
    #[getter]
    fn rule(&self) -> &'static str {
        self.0.rule.id
    }

    /// `error`, `warning` or `note`.
    #[getter]
    fn severity(&self) -> &'static str {
        self.0.severity.name()
    }

    /// What it is about: `chat_template` or `response_template`.
    #[getter]
    fn target(&self) -> &'static str {
        self.0.target.name()
    }

    /// The readers of response templates that it concerns; empty for chat templates.
    #[getter]
    fn readers(&self) -> Vec<&'static str> {
        self.0.readers.clone()
    }

    /// What happens, and to whom.
    #[getter]
    fn message(&self) -> &str {
        &self.0.message
    }

    /// What to change; empty where nothing can be changed.
    #[getter]
    fn help(&self) -> &str {
        &self.0.help
    }

    /// The line of the template, from 1, or None where it is not known.
    #[getter]
    fn line(&self) -> Option<u32> {
        self.0.line
    }

    /// The smallest conversation that shows it, as the variables of a render, or None.
    #[getter]
    fn conversation<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match &self.0.evidence {
            Some(Evidence::Conversation { conversation, .. }) => json::to_python(py, conversation).map(Some),
            _ => Ok(None),
        }
    }

    /// The output of a model that shows it, or None.
    #[getter]
    fn output(&self) -> Option<&str> {
        match &self.0.evidence {
            Some(Evidence::Output { output, .. }) => Some(output),
            _ => None,
        }
    }

    /// What the template should make of it, or None.
    #[getter]
    fn expected(&self) -> Option<&str> {
        match &self.0.evidence {
            Some(Evidence::Conversation { expected, .. }) => Some(expected),
            Some(Evidence::Output { written, .. }) => Some(written),
            _ => None,
        }
    }

    /// What it makes of it, or None.
    #[getter]
    fn actual(&self) -> Option<&str> {
        match &self.0.evidence {
            Some(Evidence::Conversation { actual, .. }) => Some(actual),
            Some(Evidence::Output { read, .. }) => Some(read),
            _ => None,
        }
    }

    fn __str__(&self) -> String {
        format!("{}: {}: {}", self.severity(), self.rule(), self.message())
    }

    fn __repr__(&self) -> String {
        format!("Finding({}: {}: {:?})", self.severity(), self.rule(), self.message())
    }
}

/// What is asked about a template.
struct Question {
    source: Source,
    overlay: Option<Overlay>,
    response: Option<Value>,
    readers: Vec<Dialect>,
    count: u32,
}

impl Question {
    fn new(
        source: Source,
        response_template: Option<&Bound<'_, PyAny>>,
        readers: Option<Vec<String>>,
        overlay: Option<&str>,
        count: u32,
    ) -> PyResult<Self> {
        let response = response_template.filter(|template| !template.is_none());
        let response = response
            .map(|template| json::from_python(template, "response_template", RequestError::new_err))
            .transpose()?;
        let response = match response {
            None => None,
            Some(document) => Some(find(&document).cloned().ok_or_else(|| {
                RequestError::new_err("response_template: it has no `fields`, so this is no response template")
            })?),
        };
        let overlay = overlay.map(|text| Overlay::from_toml(text, "overlay")).transpose();
        Ok(Self {
            source,
            overlay: overlay.map_err(|error| LoadError::new_err(error.to_string()))?,
            response,
            readers: match readers {
                None => Dialect::ALL.to_vec(),
                Some(names) => names.iter().map(|name| dialect(name)).collect::<PyResult<_>>()?,
            },
            count,
        })
    }

    fn findings(self) -> Vec<Finding> {
        let template = match self.source.template() {
            Ok(template) => template,
            Err(error) => return vec![Finding(syntax_error(&error))],
        };
        let mut loader = Loader::new().analyse_anew();
        if let Some(overlay) = self.overlay {
            loader = loader.overlay(overlay);
        }
        let mut options = LintOptions::default();
        if let Some(tokens) = &self.source.special_tokens {
            options = options.special_tokens(tokens.clone());
        }
        // A template that cannot be analysed has its own finding.
        let model = loader.from_source(self.source).ok();
        if let Some(corrected) = model.as_ref().filter(|model| !model.corrections().is_empty()) {
            options = options.spec(corrected.spec().clone());
        }
        let mut findings = run(&template, &options);
        if let (Some(response), Some(model)) = (&self.response, &model) {
            let verification = verify(&template, model.spec(), self.count, 1);
            findings.extend(lint_response_template(response, &template, model.spec(), &verification, &self.readers));
        }
        findings.into_iter().map(Finding).collect()
    }
}

/// Finds faults of the chat template in a folder or file, and of the response template that belongs to it. The path is that of
/// `Model.from_pretrained`. `response_template` is a dict; by default the one in the same file, or next to it in
/// `tokenizer_config.json` or `response_template.json`. `readers` are those for whom it is written; by default all. `overlay` is the
/// text of an overlay. As the command `unjinja lint`.
#[pyfunction]
#[pyo3(signature = (path, *, response_template=None, readers=None, overlay=None, count=200))]
pub(crate) fn lint(
    py: Python<'_>,
    path: PathBuf,
    response_template: Option<&Bound<'_, PyAny>>,
    readers: Option<Vec<String>>,
    overlay: Option<&str>,
    count: u32,
) -> PyResult<Vec<Finding>> {
    let path = template_file(path).map_err(|error| LoadError::new_err(error.to_string()))?;
    let source = Source::read_one(&path).map_err(|error| LoadError::new_err(error.to_string()))?;
    let beside = source.path.clone();
    let mut question = Question::new(source, response_template, readers, overlay, count)?;
    if question.response.is_none() {
        question.response = response_template_of(&beside)?;
    }
    Ok(py.detach(|| question.findings()))
}

/// Finds faults of a chat template that is given as text. `special_tokens` are all those of the tokenizer; without them, every marker
/// with brackets or bars counts as one.
#[pyfunction]
#[pyo3(signature = (
    text, *, name=None, bos_token=None, eos_token=None, special_tokens=None, response_template=None, readers=None,
    overlay=None, count=200,
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn lint_template(
    py: Python<'_>,
    text: &str,
    name: Option<&str>,
    bos_token: Option<String>,
    eos_token: Option<String>,
    special_tokens: Option<Vec<String>>,
    response_template: Option<&Bound<'_, PyAny>>,
    readers: Option<Vec<String>>,
    overlay: Option<&str>,
    count: u32,
) -> PyResult<Vec<Finding>> {
    let mut source = Source::from_text(format!("{}.jinja", name.unwrap_or("template")), text);
    (source.tokens.bos, source.tokens.eos) = (bos_token, eos_token);
    source.special_tokens = special_tokens;
    let question = Question::new(source, response_template, readers, overlay, count)?;
    Ok(py.detach(|| question.findings()))
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
        if let Some(found) = find(&document) {
            return Ok(Some(found.clone()));
        }
    }
    Ok(None)
}
