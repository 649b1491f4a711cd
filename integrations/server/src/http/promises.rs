//! What a request promises to its client, and whether somebody makes the model keep it: the upstream with a grammar, or the parser, which
//! delivers no call that the request does not allow. What nobody keeps is refused.

use unjinja_dynamic::{Grammar, ModelError};

use super::config::{GrammarUse, Unkept, UpstreamApi, UpstreamConfig};
use super::models::ServedModel;
use crate::error::ApiError;
use crate::prepare::{Prepared, Promise};

/// The grammar for the upstream, if it is to get one, and the keywords of schemas that it does not check.
#[derive(Debug, Default)]
pub(crate) struct Constraint {
    pub grammar: Option<Grammar>,
    pub unchecked: Vec<String>,
}

/// Makes the grammar for a request.
pub(crate) fn constrain(
    prepared: &Prepared,
    served: &ServedModel,
    upstream: &UpstreamConfig,
    unkept: Unkept,
) -> Result<Constraint, ApiError> {
    let wanted = match upstream.grammar {
        GrammarUse::Never => false,
        GrammarUse::WhenPromised => prepared.constrained,
        GrammarUse::Always => prepared.constrained || !prepared.tools.is_empty(),
    };
    let refuses = unkept == Unkept::Refuse;
    if !wanted {
        return match prepared.promises.first().filter(|_| refuses) {
            Some(promise) => Err(nobody_keeps(*promise, "the upstream gets no grammar")),
            None => Ok(Constraint::default()),
        };
    }
    let options = prepared.grammar.clone().target(upstream.engine);
    let made = served.model.grammar(&prepared.callable, &options);
    let mut grammar = made.map_err(|error| ApiError::invalid("", error, "change the tools or the response format"))?;
    let mut unchecked: Vec<String> = Vec::new();
    for wider in std::mem::take(&mut grammar.widened) {
        let is_strict = match wider.tool.as_str() {
            "" => prepared.strict_format,
            tool => prepared.strict_tools.iter().any(|name| name == tool),
        };
        if is_strict && refuses {
            let promise = if wider.tool.is_empty() { Promise::Json } else { Promise::Strict };
            let of = if wider.tool.is_empty() { String::new() } else { format!(" of {}", wider.tool) };
            return Err(nobody_keeps(
                promise,
                &format!("the grammar does not check all of the schema{of} ({})", wider.what),
            ));
        }
        if !unchecked.contains(&wider.what.keyword) {
            unchecked.push(wider.what.keyword);
        }
    }
    if takes(upstream, &grammar) {
        return Ok(Constraint { grammar: Some(grammar), unchecked });
    }
    match prepared.promises.first().filter(|_| refuses) {
        Some(promise) => {
            Err(nobody_keeps(*promise, "the upstream has no field for a grammar that begins in the middle"))
        }
        None => Ok(Constraint::default()),
    }
}

/// Whether the upstream has fields for all that belongs to a grammar: OpenAI's protocol has none for a trigger, nor for text of the grammar
/// that the prompt has.
fn takes(upstream: &UpstreamConfig, grammar: &Grammar) -> bool {
    upstream.api == UpstreamApi::LlamaCpp || (!grammar.lazy && grammar.prefill.is_empty())
}

/// The error for a promise that nobody keeps.
fn nobody_keeps(promise: Promise, why: &str) -> ApiError {
    let next = "leave it out, or ask the operator for another choice of --grammar, --grammar-for or --unkept-promises";
    ApiError::unsupported(promise.field(), format!("{} cannot be promised: {why}", promise.what()), next)
}

/// What a client is told if no prompt can be rendered.
pub(crate) fn refused(error: ModelError) -> ApiError {
    match error {
        // The template's own words: it refuses the conversation, or cannot render it.
        ModelError::Render(error) => {
            ApiError::new(400, format!("messages: the template refuses this: {}", error.message()))
        }
        error => ApiError::new(500, error.to_string()),
    }
}
