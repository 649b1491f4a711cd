//! Grammars for constrained sampling.

use serde_json::{Value, json};
use unjinja_bindings as bindings;
use unjinja_dynamic::{Grammar, GrammarOptions, Model, Target};

use crate::arguments::Arguments;
use crate::failure::Failure;
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
    Ok(value(bindings::grammar(model, list.as_ref().map(|list| &list.tools), &wanted)?))
}

/// The grammar of a request.
pub(crate) fn of_request(request: &RequestObject, mut arguments: Arguments) -> Result<Value, Failure> {
    let target = target(&mut arguments)?;
    arguments.done()?;
    Ok(value(bindings::request_grammar(&request.model, &request.request, target)?))
}

fn target(arguments: &mut Arguments) -> Result<Target, Failure> {
    Ok(match arguments.text("kind")? {
        Some(kind) => bindings::target(&kind)?,
        None => Target::default(),
    })
}

fn value(grammar: Grammar) -> Value {
    let triggers = grammar.triggers.iter().map(|one| json!({ "kind": one.kind(), "value": one.value() }));
    json!({
        "widened": bindings::widened(&grammar),
        "text": grammar.text,
        "lazy": grammar.lazy,
        "triggers": triggers.collect::<Vec<_>>(),
        "preservedTokens": grammar.preserved_tokens,
        "stops": grammar.stops,
        "prefill": grammar.prefill,
    })
}
