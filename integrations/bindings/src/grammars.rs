//! Grammars for constrained sampling.

use unjinja_dynamic::{Grammar, GrammarOptions, Model, Request, Target, Tools};

use crate::failure::{Failure, FailureKind};

/// The kind of grammar of this name.
///
/// # Errors
///
/// The name is unknown.
pub fn target(kind: &str) -> Result<Target, Failure> {
    Target::ALL.into_iter().find(|target| target.name() == kind).ok_or_else(|| {
        let known = Target::ALL.map(|target| format!("{:?}", target.name())).join(", ");
        Failure::request(format!("kind: {kind:?} is unknown; use one of {known}"))
    })
}

/// The grammar of a turn. Without tools, calls of any tool are allowed.
///
/// # Errors
///
/// The options cannot be met.
pub fn grammar(model: &Model, tools: Option<&Tools>, options: &GrammarOptions) -> Result<Grammar, Failure> {
    let grammar = match tools {
        Some(tools) => model.grammar(tools, options),
        None => model.grammar_for_any(options),
    };
    grammar.map_err(|error| Failure::new(FailureKind::Grammar, error.to_string()))
}

/// The grammar of a request.
///
/// # Errors
///
/// The request cannot be met.
pub fn request_grammar(model: &Model, request: &Request, target: Target) -> Result<Grammar, Failure> {
    grammar(model, Some(request.tools()), &request.grammar_options().clone().target(target))
}

/// Where a grammar accepts more than the schemas allow, in sentences.
pub fn widened(grammar: &Grammar) -> Vec<String> {
    let place = |tool: &str| if tool.is_empty() { "the response".to_owned() } else { format!("the tool {tool:?}") };
    grammar.widened.iter().map(|wider| format!("{}: {}", place(&wider.tool), wider.what)).collect()
}
