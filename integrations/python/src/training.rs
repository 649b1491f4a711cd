//! Chat templates for training: `{% generation %}` around what the model writes.

use pyo3::prelude::*;
use unjinja_dynamic::{Loader, Model};
use unjinja_export::training::{PrefixState, mark_generation, prefix_state};
use unjinja_lint::{LintOptions, contexts};

use crate::error::{LoadError, model_error};

/// The fields of a `unjinja.TrainingTemplate`.
#[derive(IntoPyObject)]
pub(crate) struct TrainingTemplate {
    source: String,
    tried: usize,
    refused: usize,
    prefix: &'static str,
    change: Option<(usize, String, String)>,
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
            prefix,
            change,
        })
    }
}
