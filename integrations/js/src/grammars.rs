//! Grammars for constrained sampling.

use serde_json::{Value, json};
use unjinja_bindings::{self as bindings, Freedom};
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
    let wanted = freedom(&mut arguments)?.of(wanted);
    let list = options::tools(&mut arguments, objects)?;
    arguments.done()?;
    Ok(value(bindings::grammar(model, list.as_ref().map(|list| &list.tools), &wanted)?))
}

/// The grammar of a request.
pub(crate) fn of_request(request: &RequestObject, mut arguments: Arguments) -> Result<Value, Failure> {
    let target = target(&mut arguments)?;
    let freedom = freedom(&mut arguments)?;
    arguments.done()?;
    Ok(value(bindings::request_grammar(&request.model, &request.request, target, freedom)?))
}

fn freedom(arguments: &mut Arguments) -> Result<Freedom, Failure> {
    let mut characters = |name| match arguments.number(name)?.map(u32::try_from) {
        Some(Err(_)) => Err(Failure::request(format!("{name}: at most {}", u32::MAX))),
        Some(Ok(number)) => Ok(Some(number)),
        None => Ok(None),
    };
    Ok(Freedom {
        text_before: characters("textBefore")?,
        max_reasoning: characters("maxReasoning")?,
        open_objects: arguments.flag("openObjects")?.unwrap_or(false),
        free_white_space: arguments.flag("freeWhiteSpace")?.unwrap_or(false),
    })
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
