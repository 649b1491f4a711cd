//! The operations, by name: what each takes, and what it returns: JSON text.

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::{Value, json};
#[cfg(feature = "full")]
use unjinja_bindings::parse_request;
use unjinja_bindings::{Step, TurnReader, parse};
use unjinja_dynamic::{Chunk, Model, Options};
use unjinja_runtime::close_json;

use crate::arguments::Arguments;
use crate::chunks::{self, ChunksObject};
use crate::failure::Failure;
use crate::objects::{Object, Objects};
#[cfg(feature = "full")]
use crate::{checks, explaining, grammars};
use crate::{loading, messages, options, prompts};

/// Runs the operation of this name on the object of this number. `bytes` is what comes apart from the arguments: a template, an
/// output, a piece of one.
pub(crate) fn run(
    objects: &mut Objects,
    name: &str,
    number: u32,
    mut arguments: Arguments,
    bytes: &[u8],
) -> Result<String, Failure> {
    let made = match name {
        "model.template" => Object::Model(Box::new(loading::template(arguments, bytes)?)),
        "model.file" => Object::Model(Box::new(loading::file(arguments, bytes)?)),
        "model.spec" => Object::Model(Box::new(loading::spec(arguments, bytes)?)),
        "model.known" => Object::Model(Box::new(loading::known(arguments)?)),
        "model.made" => Object::Model(Box::new(loading::from_state(arguments)?)),
        "tools.new" => Object::Tools(Box::new(options::tool_list(arguments.value("tools").unwrap_or_default())?)),
        #[cfg(feature = "full")]
        "model.request" => Object::Request(Box::new(prompts::request(objects.model(number)?, objects, arguments)?)),
        "model.stream" => {
            let model = objects.model(number)?;
            let options = options::parser_options(&mut arguments, model, objects)?;
            arguments.done()?;
            turn(model, &options)
        }
        #[cfg(feature = "full")]
        "request.stream" => {
            let request = objects.request(number)?;
            turn(&request.model, request.request.options())
        }
        "stream.openai" | "stream.anthropic" => {
            let form = if name == "stream.openai" { "openai" } else { "anthropic" };
            let chunks = ChunksObject::new(objects.turn(number)?, form, &mut arguments)?;
            arguments.done()?;
            Object::Chunks(Box::new(chunks))
        }
        "chunks.push" => {
            let (now, special) = (arguments.number("now")?.unwrap_or(0), arguments.flag("special")?);
            let step = match special {
                Some(special) => Step::token(Chunk::from(bytes), special),
                None => Step::Push(Chunk::from(bytes)),
            };
            return Ok(objects.chunks(number)?.step(step, None, now));
        }
        "chunks.finish" => {
            let now = arguments.number("now")?.unwrap_or(0);
            let finish = chunks::finish_reason(&mut arguments)?;
            let usage = chunks::usage(&mut arguments)?;
            arguments.done()?;
            return Ok(objects.chunks(number)?.step(Step::Finish, Some((&finish, usage)), now));
        }
        #[cfg(feature = "full")]
        "model.explain" => return explaining::of_model(objects.loaded(number)?, objects, arguments, bytes),
        #[cfg(feature = "full")]
        "explain" => return explaining::of_template(objects, arguments, bytes),
        _ => return answer(objects, name, number, arguments, bytes).map(|value| value.to_string()),
    };
    let facts = if let Object::Model(loaded) = &made { loading::facts(&loaded.model) } else { Value::Null };
    Ok(json!({ "object": objects.add(made), "facts": facts }).to_string())
}

/// The beginning of a turn.
fn turn(model: &Model, options: &Options) -> Object {
    Object::Turn(Rc::new(RefCell::new(TurnReader::new(model, options).into())))
}

/// The operations that make no object and write no chunks.
fn answer(
    objects: &mut Objects,
    name: &str,
    number: u32,
    mut arguments: Arguments,
    bytes: &[u8],
) -> Result<Value, Failure> {
    Ok(match name {
        "model.toml" => Value::String(objects.model(number)?.spec().to_toml()),
        "model.text" => objects.model(number)?.template().into(),
        "model.variables" => {
            let variables = objects.model(number)?.parsed_template().map(|template| template.variables());
            Value::from(variables.unwrap_or_default().into_iter().collect::<Vec<_>>())
        }
        "model.state" => loading::state(objects.loaded(number)?),
        "model.turnOf" => {
            let text = arguments.needed("prompt")?;
            objects.model(number)?.turn_of(&text).into()
        }
        "model.prompt" => prompts::prompt(objects.model(number)?, objects, arguments)?,
        #[cfg(feature = "full")]
        "model.promptParts" => prompts::parts_of_prompt(objects.model(number)?, objects, arguments)?,
        #[cfg(feature = "full")]
        "model.grammar" => grammars::grammar(objects.model(number)?, objects, arguments)?,
        "model.callIds" => messages::call_ids(objects.model(number)?, arguments)?,
        "model.parse" => {
            let model = objects.model(number)?;
            let options = options::parser_options(&mut arguments, model, objects)?;
            arguments.done()?;
            messages::message(&parse(model, Chunk::from(bytes), &options))
        }
        #[cfg(feature = "full")]
        "request.prompt" => prompts::value(objects.request(number)?.request.prompt()),
        #[cfg(feature = "full")]
        "request.promptParts" => {
            let request = objects.request(number)?;
            prompts::parts(&request.model, &request.conversation)?
        }
        #[cfg(feature = "full")]
        "request.parse" => {
            let request = objects.request(number)?;
            messages::message(&parse_request(&request.model, &request.request, Chunk::from(bytes)))
        }
        #[cfg(feature = "full")]
        "request.grammar" => grammars::of_request(objects.request(number)?, arguments)?,
        #[cfg(feature = "full")]
        "request.callId" => {
            let (tool, written) = (arguments.needed("name")?, arguments.text("written")?);
            objects.request(number)?.call_ids.next(&tool, written.as_deref()).into()
        }
        "stream.message" => messages::message(objects.turn(number)?.borrow().reader.message()),
        #[cfg(feature = "full")]
        "stream.spans" => {
            let last = arguments.flag("$last")?.unwrap_or(false);
            objects.turn(number)?.borrow_mut().spans(&String::from_utf8_lossy(bytes), last)
        }
        "stream.channel" => objects.turn(number)?.borrow().reader.channel().into(),
        "stream.held" => objects.turn(number)?.borrow().reader.stream().held().into(),
        "stream.tokenCounts" => {
            let counts = objects.turn(number)?.borrow().reader.stream().token_counts();
            json!({ "reasoning": counts.reasoning, "content": counts.content })
        }
        "stream.reset" => objects.turn(number)?.borrow_mut().reader.reset().into(),
        "tools.names" => {
            let names = objects.tools(number)?.tools.iter().map(|tool| tool.name.as_str());
            Value::from(names.collect::<Vec<_>>())
        }
        "tools.list" => objects.tools(number)?.json.clone(),
        "json.close" => close_json(&String::from_utf8_lossy(bytes)).into(),
        #[cfg(feature = "full")]
        "model.export" => checks::export(objects.model(number)?, arguments)?,
        #[cfg(feature = "full")]
        "model.rust" => checks::rust(objects.model(number)?)?,
        #[cfg(feature = "full")]
        "models" => loading::known_models(),
        #[cfg(feature = "full")]
        "compare" => checks::compare(objects, arguments)?,
        #[cfg(feature = "full")]
        "lint" => checks::lint(arguments, bytes)?,
        _ => return Err(Failure::missing(name)),
    })
}
