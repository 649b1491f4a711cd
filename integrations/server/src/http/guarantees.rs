//! The guarantees that a request asks for, and whether they can be enforced: by the upstream with a grammar, or by the parser, which
//! delivers no call that the request does not allow. A guarantee that cannot be enforced is refused.

use unjinja_dynamic::{Grammar, ModelError, SpecialToken};

use super::config::{GrammarUse, Unenforced, UpstreamApi, UpstreamConfig};
use super::models::ServedModel;
use crate::error::ApiError;
use crate::prepare::{Guarantee, Prepared};

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
    unenforced: Unenforced,
) -> Result<Constraint, ApiError> {
    let wanted = match upstream.grammar {
        GrammarUse::Never => false,
        GrammarUse::ForGuarantees => prepared.constrained,
        GrammarUse::Always => prepared.constrained || !prepared.tools.is_empty(),
    };
    let refuses = unenforced == Unenforced::Refuse;
    let without = |why: &str| match prepared.guarantees.first().filter(|_| refuses) {
        Some(guarantee) => Err(unenforceable(*guarantee, why)),
        None => Ok(Constraint::default()),
    };
    if !wanted {
        return without("the upstream gets no grammar");
    }
    let mut options = prepared.grammar.clone().target(upstream.engine);
    if let Some(encoding) = served.encoding.as_ref().filter(|_| options.lacks_tokens()) {
        let named = |text: &String| Some(SpecialToken::with_id(text, encoding.control_id(text)?));
        options = options.special_tokens(served.model.spec().tokens.preserved.iter().filter_map(named));
    }
    let made = served.model.grammar(&prepared.callable, &options);
    let mut grammar = made.map_err(|error| ApiError::invalid("", error, "change the tools or the response format"))?;
    let mut unchecked: Vec<String> = Vec::new();
    for wider in std::mem::take(&mut grammar.widened) {
        let (is_strict, guarantee, of) = match wider.tool.as_str() {
            "" => (prepared.strict_format, Guarantee::Json, String::new()),
            tool => (prepared.strict_tools.iter().any(|name| name == tool), Guarantee::Strict, format!(" of {tool}")),
        };
        if is_strict && refuses {
            let why = format!("the grammar does not check all of the schema{of} ({})", wider.what);
            return Err(unenforceable(guarantee, &why));
        }
        if !unchecked.contains(&wider.what.keyword) {
            unchecked.push(wider.what.keyword);
        }
    }
    // OpenAI's protocol has no field for a trigger, nor for text of the grammar that the prompt has.
    if upstream.api == UpstreamApi::LlamaCpp || (!grammar.lazy && grammar.prefill.is_empty()) {
        return Ok(Constraint { grammar: Some(grammar), unchecked });
    }
    without("the upstream has no field for a grammar that begins in the middle")
}

fn unenforceable(guarantee: Guarantee, why: &str) -> ApiError {
    let next = "leave it out, or ask the operator for another choice of --grammar, --grammar-for or --unenforced";
    ApiError::unsupported(guarantee.field(), format!("{} cannot be guaranteed: {why}", guarantee.what()), next)
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
