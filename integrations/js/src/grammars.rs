//! Grammars for constrained sampling.

use serde_json::{Value, json};
use unjinja_dynamic::{Grammar, GrammarOptions, Model, Target};

use crate::arguments::Arguments;
use crate::failure::{Failure, FailureKind};
use crate::objects::{Objects, RequestObject};
use crate::options;

/// The grammar of a turn.
pub(crate) fn grammar(model: &Model, objects: &Objects, mut arguments: Arguments) -> Result<Value, Failure> {
    let mut wanted = GrammarOptions::new()
        .target(target(&mut arguments)?)
        .tool_choice(options::choice(&mut arguments)?)
        .parallel_tool_calls(arguments.flag("parallelToolCalls")?.unwrap_or(true));
    if let Some(on) = arguments.flag("thinking")? {
        wanted = wanted.thinking(on);
    }
    if let Some(turn) = options::turn_of(&mut arguments, model)? {
        wanted = wanted.generation_prompt(turn);
    }
    if let Some(schema) = options::schema(&mut arguments)? {
        wanted = wanted.response_schema(schema);
    }
    let list = options::tools(&mut arguments, objects)?;
    arguments.done()?;
    let grammar = match list {
        Some(list) => model.grammar(&list.tools, &wanted),
        None => model.grammar_for_any(&wanted),
    };
    grammar.map(value).map_err(|error| Failure::new(FailureKind::Grammar, error.to_string()))
}

/// The grammar of a request.
pub(crate) fn of_request(request: &RequestObject, mut arguments: Arguments) -> Result<Value, Failure> {
    let wanted = request.request.grammar_options().clone().target(target(&mut arguments)?);
    arguments.done()?;
    let grammar = request.model.grammar(request.request.tools(), &wanted);
    grammar.map(value).map_err(|error| Failure::new(FailureKind::Grammar, error.to_string()))
}

fn target(arguments: &mut Arguments) -> Result<Target, Failure> {
    let Some(kind) = arguments.text("kind")? else { return Ok(Target::default()) };
    Target::ALL.into_iter().find(|target| target.name() == kind).ok_or_else(|| {
        let known = Target::ALL.map(|target| format!("{:?}", target.name())).join(", ");
        Failure::request(format!("kind: {kind:?} is unknown; use one of {known}"))
    })
}

fn value(grammar: Grammar) -> Value {
    let place = |tool: &str| if tool.is_empty() { "the response".to_owned() } else { format!("the tool {tool:?}") };
    let triggers = grammar.triggers.iter().map(|one| json!({ "kind": one.kind(), "value": one.value() }));
    let widened = grammar.widened.iter().map(|wider| format!("{}: {}", place(&wider.tool), wider.what));
    json!({
        "text": grammar.text,
        "lazy": grammar.lazy,
        "triggers": triggers.collect::<Vec<_>>(),
        "preservedTokens": grammar.preserved_tokens,
        "stops": grammar.stops,
        "prefill": grammar.prefill,
        "widened": widened.collect::<Vec<_>>(),
    })
}
