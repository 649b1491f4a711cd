//! Chat templates for training: `{% generation %}` around what the model writes.

use pyo3::prelude::*;
use unjinja_dynamic::{Loader, Model};
use unjinja_export::training::{PrefixState, mark_generation, prefix_state};
use unjinja_lint::{LintOptions, contexts};

use crate::data::{Fields, Reduced};
use crate::error::{LoadError, model_error};

/// A chat template with `{% generation %}` around what the model writes, for `return_assistant_tokens_mask` of transformers. Made by
/// `Model.training_template`.
///
/// >>> import unjinja
/// >>> template = "{% for m in messages %}{{ '<|' + m.role + '|>' + m.content + '<|end|>' }}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
/// >>> training = unjinja.Model.from_template(template).training_template()
/// >>> "{% generation %}{{ m.content + '<|end|>' }}{% endgeneration %}" in training.source, training.prefix
/// (True, 'stable')
///
/// Args:
///     source: The template.
///     tried: For how many conversations it was tried: each has the same text as before, and the right marks.
///     refused: How many further conversations both templates refuse.
///     prefix: Whether earlier turns stay as they were written while a conversation goes on. `stable`: they do. `repaired`: they do since
///         `change`. `repairable`: they do not, and `change` would repair it. `changes`: they do not, and no change of one condition
///         repairs it.
///     change: The line of a condition, the condition, and the constant that repairs the template, or None.
///     marks_before: For how many of the conversations the marks that the template had are right, and for how many wrong; None if it had
///         none.
#[pyclass(frozen, eq, get_all, module = "unjinja")]
#[derive(PartialEq)]
pub(crate) struct TrainingTemplate {
    /// The template.
    source: String,
    /// For how many conversations it was tried: each has the same text as before, and the right marks.
    tried: usize,
    /// How many further conversations both templates refuse.
    refused: usize,
    /// Whether earlier turns stay as they were written while a conversation goes on: `stable`, `repaired`, `repairable` or `changes`.
    prefix: String,
    /// The line of a condition, the condition, and the constant that repairs the template, or None.
    change: Option<(usize, String, String)>,
    /// For how many of the conversations the marks that the template had are right, and for how many wrong, or None.
    marks_before: Option<(usize, usize)>,
}

impl TrainingTemplate {
    /// The template for training of a model's template, with the condition changed that keeps earlier turns as they were, if that is asked.
    pub(crate) fn new(model: &Model, keep_prefix: bool) -> PyResult<Self> {
        let template = model.parsed_template().map_err(model_error)?;
        let (mut prefix, mut change, mut repaired) = ("stable", None, None);
        match prefix_state(model) {
            PrefixState::Stable => {}
            PrefixState::Repairable { source, line, change: (condition, constant) } => {
                prefix = if keep_prefix { "repaired" } else { "repairable" };
                change = Some((line, condition, constant.to_owned()));
                repaired = keep_prefix.then_some(source);
            }
            _ => prefix = "changes",
        }
        let loader = || Loader::new().name(template.name()).tokens(template.tokens().clone());
        let repaired = repaired.map(|source| loader().from_template(&source)).transpose().map_err(model_error)?;
        let model = repaired.as_ref().unwrap_or(model);
        let options = LintOptions::default().spec(model.spec().clone());
        let further = contexts(model.parsed_template().map_err(model_error)?, &options);
        let marked = mark_generation(model, further);
        let marked = marked.map_err(|obstacle| LoadError::new_err(obstacle.to_string()))?;
        Ok(Self {
            tried: marked.conversations.len(),
            refused: marked.refused,
            marks_before: marked.before.any.then_some((marked.before.right, marked.before.wrong)),
            source: marked.source,
            prefix: prefix.to_owned(),
            change,
        })
    }

    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Fields<'py>> {
        Fields::new(py, "TrainingTemplate")
            .needed("source", &self.source)?
            .needed("tried", self.tried)?
            .needed("refused", self.refused)?
            .needed("prefix", &self.prefix)?
            .or_none("change", self.change.as_ref())?
            .or_none("marks_before", self.marks_before)
    }
}

#[pymethods]
impl TrainingTemplate {
    #[new]
    #[pyo3(signature = (source, tried, refused, prefix, change=None, marks_before=None))]
    fn made(
        source: String,
        tried: usize,
        refused: usize,
        prefix: String,
        change: Option<(usize, String, String)>,
        marks_before: Option<(usize, usize)>,
    ) -> Self {
        Self { source, tried, refused, prefix, change, marks_before }
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.fields(py)?.hash()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.fields(py)?.repr()
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        this.get().fields(this.py())?.reduced(this.get_type())
    }
}
