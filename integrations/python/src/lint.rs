//! Findings about templates.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;
use unjinja_analyzer::{SourceExt, verify};
use unjinja_dynamic::{Loader, Overlay, Source, template_file};
use unjinja_export::response_template::find;
use unjinja_lint::{Evidence, Finding as RustFinding, LintOptions, lint as run, lint_response_template, syntax_error};

use crate::data::{Fields, NO_TEXT, Reduced};
use crate::error::{LoadError, RequestError};
use crate::json::{self, Json};

/// Something in a template that its maintainer should look at.
///
/// >>> import unjinja
/// >>> template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}"
/// >>> [(finding.severity, finding.rule) for finding in unjinja.lint_template(template) if finding.severity != "note"]
/// [('warning', 'no-generation-prompt')]
///
/// Args:
///     rule: The rule, such as `null-content`. `docs/lint.md` lists them.
///     severity: `error`, `warning` or `note`.
///     target: What it is about: `chat_template` or `response_template`.
///     message: What happens, and to whom.
///     help: What to change; empty where nothing can be changed.
///     line: The line of the template, from 1, or None where it is not known.
///     column: The character in the line, from 1, or None where it is not known.
///     conversation: The smallest conversation that shows it, as the variables of a render, or None.
///     output: The output of a model that shows it, or None.
///     expected: What the template should make of it, or None.
///     actual: What it makes of it, or None.
#[pyclass(frozen, eq, get_all, module = "unjinja")]
#[derive(Clone, PartialEq)]
pub(crate) struct Finding {
    /// The rule, such as `null-content`. `docs/lint.md` lists them.
    rule: String,
    /// `error`, `warning` or `note`.
    severity: String,
    /// What it is about: `chat_template` or `response_template`.
    target: String,
    /// What happens, and to whom.
    message: String,
    /// What to change; empty where nothing can be changed.
    help: String,
    /// The line of the template, from 1, or None where it is not known.
    line: Option<u32>,
    /// The character in the line, from 1, or None where it is not known.
    column: Option<u32>,
    /// The smallest conversation that shows it, as the variables of a render, or None.
    conversation: Option<Json>,
    /// The output of a model that shows it, or None.
    output: Option<String>,
    /// What the template should make of it, or None.
    expected: Option<String>,
    /// What it makes of it, or None.
    actual: Option<String>,
}

impl Finding {
    pub(crate) fn new(finding: RustFinding) -> Self {
        let (conversation, output, expected, actual) = match finding.evidence {
            Some(Evidence::Conversation { conversation, expected, actual }) => {
                (Some(Json(conversation)), None, Some(expected), Some(actual))
            }
            Some(Evidence::Output { output, written, read }) => (None, Some(output), Some(written), Some(read)),
            _ => (None, None, None, None),
        };
        Self {
            rule: finding.rule.id.to_owned(),
            severity: finding.severity.name().to_owned(),
            target: finding.target.name().to_owned(),
            message: finding.message,
            help: finding.help,
            line: finding.line,
            column: finding.column,
            conversation,
            output,
            expected,
            actual,
        }
    }

    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Fields<'py>> {
        Fields::new(py, "Finding")
            .needed("rule", &self.rule)?
            .needed("severity", &self.severity)?
            .needed("target", &self.target)?
            .needed("message", &self.message)?
            .optional("help", &self.help, NO_TEXT)?
            .or_none("line", self.line)?
            .or_none("column", self.column)?
            .or_none("conversation", self.conversation.as_ref())?
            .or_none("output", &self.output)?
            .or_none("expected", &self.expected)?
            .or_none("actual", &self.actual)
    }
}

#[pymethods]
impl Finding {
    #[new]
    #[pyo3(signature = (
        rule, severity, target, message, help=String::new(), line=None, column=None, conversation=None,
        output=None, expected=None, actual=None,
    ), text_signature = "(rule, severity, target, message, help='', line=None, column=None, conversation=None, \
        output=None, expected=None, actual=None)")]
    #[expect(clippy::too_many_arguments, reason = "the fields")]
    fn made(
        rule: String,
        severity: String,
        target: String,
        message: String,
        help: String,
        line: Option<u32>,
        column: Option<u32>,
        conversation: Option<&Bound<'_, PyAny>>,
        output: Option<String>,
        expected: Option<String>,
        actual: Option<String>,
    ) -> PyResult<Self> {
        let conversation = conversation
            .map(|conversation| json::from_python(conversation, "conversation", RequestError::new_err).map(Json))
            .transpose()?;
        Ok(Self { rule, severity, target, message, help, line, column, conversation, output, expected, actual })
    }

    #[classattr]
    #[pyo3(name = "__match_args__")]
    const MATCH_ARGS: (&'static str, &'static str, &'static str, &'static str) =
        ("rule", "severity", "target", "message");

    /// All fields by their names, as `unjinja lint --format json` prints them.
    pub(crate) fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.fields(py)?.dict()
    }

    fn __str__(&self) -> String {
        format!("{}: {}: {}", self.severity, self.rule, self.message)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.fields(py)?.repr()
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        this.get().fields(this.py())?.reduced(this.get_type())
    }
}

/// What is asked about a template.
struct Question {
    source: Source,
    overlay: Option<Overlay>,
    response: Option<Value>,
    count: u32,
}

impl Question {
    fn new(
        source: Source,
        response_template: Option<&Bound<'_, PyAny>>,
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
        Ok(Self { source, overlay: overlay.map_err(|error| LoadError::new_err(error.to_string()))?, response, count })
    }

    fn findings(self) -> Vec<Finding> {
        let template = match self.source.template() {
            Ok(template) => template,
            Err(error) => return vec![Finding::new(syntax_error(&error))],
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
            findings.extend(lint_response_template(response, &template, model.spec(), &verification));
        }
        findings.into_iter().map(Finding::new).collect()
    }
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
pub(crate) fn lint(
    py: Python<'_>,
    path: PathBuf,
    response_template: Option<&Bound<'_, PyAny>>,
    overlay: Option<&str>,
    count: u32,
) -> PyResult<Vec<Finding>> {
    let path = template_file(path).map_err(|error| LoadError::new_err(error.to_string()))?;
    let source = Source::read_one(&path).map_err(|error| LoadError::new_err(error.to_string()))?;
    let adjacent = source.path.clone();
    let mut question = Question::new(source, response_template, overlay, count)?;
    if question.response.is_none() {
        question.response = response_template_of(&adjacent)?;
    }
    Ok(py.detach(|| question.findings()))
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
pub(crate) fn lint_template(
    py: Python<'_>,
    text: &str,
    name: Option<&str>,
    bos_token: Option<String>,
    eos_token: Option<String>,
    special_tokens: Option<Vec<String>>,
    response_template: Option<&Bound<'_, PyAny>>,
    overlay: Option<&str>,
    count: u32,
) -> PyResult<Vec<Finding>> {
    let mut source = Source::from_text(format!("{}.jinja", name.unwrap_or("template")), text);
    (source.tokens.bos, source.tokens.eos) = (bos_token, eos_token);
    source.special_tokens = special_tokens;
    let question = Question::new(source, response_template, overlay, count)?;
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
