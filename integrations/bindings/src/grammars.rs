//! Grammars for constrained sampling.

use unjinja_dynamic::{Grammar, GrammarOptions, Model, Request, Target, Tools, WhiteSpace};

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

/// What a grammar leaves free. Each language names these options in its own way.
#[derive(Debug, Default, Clone, Copy)]
pub struct Freedom {
    /// See [`GrammarOptions::open_objects`].
    pub open_objects: bool,
    /// See [`GrammarOptions::white_space`].
    pub free_white_space: bool,
    /// See [`GrammarOptions::text_before`].
    pub text_before: Option<u32>,
    /// See [`GrammarOptions::max_reasoning`].
    pub max_reasoning: Option<u32>,
}

impl Freedom {
    /// The options with this.
    pub fn of(self, mut options: GrammarOptions) -> GrammarOptions {
        options = options.open_objects(self.open_objects).text_before(self.text_before.unwrap_or(0));
        if self.free_white_space {
            options = options.white_space(WhiteSpace::Free);
        }
        match self.max_reasoning {
            Some(most) => options.max_reasoning(most),
            None => options,
        }
    }
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
pub fn request_grammar(model: &Model, request: &Request, target: Target, freedom: Freedom) -> Result<Grammar, Failure> {
    grammar(model, Some(request.tools()), &freedom.of(request.grammar_options().clone().target(target)))
}

/// Where a grammar accepts more than the schemas allow, in sentences.
pub fn widened(grammar: &Grammar) -> Vec<String> {
    let place = |tool: &str| if tool.is_empty() { "the response".to_owned() } else { format!("the tool {tool:?}") };
    grammar.widened.iter().map(|wider| format!("{}: {}", place(&wider.tool), wider.what)).collect()
}
