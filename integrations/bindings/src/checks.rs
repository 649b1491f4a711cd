//! Faults of templates, and response templates made of them.

use serde_json::Value;
use unjinja_analyzer::{SourceExt, Verification, verify_after_results};
use unjinja_dynamic::{Loader, Model, Overlay, Source};
use unjinja_export::response_template::{Export, export, find};
use unjinja_lint::{Finding, LintOptions, lint, lint_response_template, syntax_error};

use crate::failure::Failure;

/// The response template in a document.
pub fn find_response_template(document: &Value) -> Option<Value> {
    find(document).cloned()
}

/// Makes a response template of a model's template, and tries it with random conversations.
///
/// # Errors
///
/// The model has no parser or no template, or there is no response template.
pub fn verified_export(model: &Model, count: u32, seed: u64) -> Result<(Export, Verification), Failure> {
    if !model.status().makes_parser() {
        let text = format!("{} is not supported; its gaps say why: {}", model.name(), model.gaps().join(" "));
        return Err(Failure::request(text));
    }
    let verification = verify_after_results(model.parsed_template()?, model.spec(), count, seed);
    let export = export(model.spec(), &verification).map_err(|problems| Failure::load(&problems))?;
    Ok((export, verification))
}

/// A template that is checked, and what belongs to it.
pub struct Checked {
    /// The chat template.
    pub source: Source,
    /// What corrects what is known about it.
    pub overlay: Option<Overlay>,
    /// The response template that belongs to it.
    pub response: Option<Value>,
    /// How many random conversations are tried with the response template.
    pub count: u32,
}

impl Checked {
    /// The findings; none if nothing was found.
    pub fn findings(self) -> Vec<Finding> {
        let template = match self.source.template() {
            Ok(template) => template,
            Err(error) => return vec![syntax_error(&error)],
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
        let mut findings = lint(&template, &options);
        if let (Some(response), Some(model)) = (&self.response, &model) {
            let verification = verify_after_results(&template, model.spec(), self.count, 1);
            findings.extend(lint_response_template(response, &template, model.spec(), &verification));
        }
        findings
    }
}
