//! Prompts: conversations from JavaScript, and the variables of a template.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
#[cfg(feature = "full")]
use unjinja_dynamic::RequestOptions;
use unjinja_dynamic::{Clock, Conversation, Model, Prompt, Template};
use unjinja_spec::nearest;

use crate::arguments::{Arguments, expected};
use crate::failure::Failure;
use crate::objects::Objects;
#[cfg(feature = "full")]
use crate::objects::RequestObject;
use crate::options;
#[cfg(feature = "full")]
use crate::utf16::Indexes;

/// Renders a conversation.
pub(crate) fn prompt(model: &Model, objects: &Objects, arguments: Arguments) -> Result<Value, Failure> {
    Ok(value(&model.prompt(&asked(model, objects, arguments)?)?))
}

/// The pieces of the prompt for a conversation.
#[cfg(feature = "full")]
pub(crate) fn parts_of_prompt(model: &Model, objects: &Objects, arguments: Arguments) -> Result<Value, Failure> {
    parts(model, &asked(model, objects, arguments)?)
}

/// The pieces of a prompt: whose text each is, and the messages as the template got them.
#[cfg(feature = "full")]
pub(crate) fn parts(model: &Model, conversation: &Conversation) -> Result<Value, Failure> {
    let mut prompt = model.render_labelled(conversation)?;
    let pieces = model.prompt_pieces(&prompt)?;
    let mut indexes = Indexes::new(&prompt.text);
    let mut start = 0;
    let parts = pieces.iter().map(|piece| {
        let begin = std::mem::replace(&mut start, indexes.of(piece.range.end));
        json!({
            "start": begin,
            "end": start,
            "part": piece.part.name(),
            "message": piece.message,
            "byModel": piece.by_model,
        })
    });
    let parts: Vec<Value> = parts.collect();
    let missing: Vec<String> = model.missing(&prompt).iter().map(ToString::to_string).collect();
    Ok(json!({ "parts": parts, "missing": missing, "messages": prompt.context["messages"].take() }))
}

/// The conversation that the arguments of a prompt describe.
fn asked(model: &Model, objects: &Objects, mut arguments: Arguments) -> Result<Conversation, Failure> {
    let mut conversation =
        conversation(model, &mut arguments)?.generation_prompt(arguments.flag("addGenerationPrompt")?.unwrap_or(true));
    if let Some(list) = options::tools(&mut arguments, objects)? {
        conversation = conversation.tools(list.json);
    }
    if let Some(on) = arguments.flag("thinking")? {
        conversation = conversation.thinking(on);
    }
    if arguments.flag("asGiven")?.unwrap_or(false) {
        conversation = conversation.as_given();
    }
    arguments.done()?;
    Ok(conversation)
}

/// A prompt, for JavaScript.
pub(crate) fn value(prompt: &Prompt) -> Value {
    json!({ "text": prompt.text(), "turn": prompt.turn() })
}

/// Prepares a request.
#[cfg(feature = "full")]
pub(crate) fn request(model: &Model, objects: &Objects, mut arguments: Arguments) -> Result<RequestObject, Failure> {
    let mut conversation = conversation(model, &mut arguments)?;
    let mut wanted = RequestOptions::new()
        .tool_choice(options::choice(&mut arguments)?)
        .parallel_tool_calls(arguments.flag("parallelToolCalls")?.unwrap_or(true))
        .parsing(options::handling(&mut arguments)?);
    if let Some(on) = arguments.flag("thinking")? {
        (wanted, conversation) = (wanted.thinking(on), conversation.thinking(on));
    }
    if let Some(schema) = options::schema(&mut arguments)? {
        wanted = wanted.response_schema(schema);
    }
    let tools = options::tools(&mut arguments, objects)?.map(|list| list.tools).unwrap_or_default();
    arguments.done()?;
    let request = model.request(&conversation, &tools, &wanted)?;
    let (call_ids, conversation) = (request.call_ids(), conversation.tools(request.tools().to_openai()));
    Ok(RequestObject { model: model.clone(), request, call_ids, conversation })
}

/// The messages, and the variables of the template.
fn conversation(model: &Model, arguments: &mut Arguments) -> Result<Conversation, Failure> {
    let messages = arguments.value("messages").unwrap_or_default();
    if !messages.is_array() {
        return Err(expected("messages", "an array of messages", &messages));
    }
    let mut conversation = Conversation::new(messages);
    // JavaScript always says it: in the seconds since 1970 of its own time zone.
    if let Some(now) = arguments.value("now") {
        let seconds = now.as_i64().ok_or_else(|| expected("now", "a Date", &now))?;
        conversation = conversation.clock(Clock::from_unix_seconds(seconds));
    }
    match arguments.value("variables") {
        None => {}
        Some(Value::Object(variables)) => {
            let template = model.parsed_template()?;
            check_variables(template, &template.variables(), &variables)?;
            for (name, value) in variables {
                conversation = conversation.variable(name, value);
            }
        }
        Some(other) => return Err(expected("variables", "an object", &other)),
    }
    Ok(conversation)
}

/// The options that set a variable of the template, by the variable's name.
const OPTIONS: [(&str, &str); 3] =
    [("add_generation_prompt", "addGenerationPrompt"), ("messages", "messages"), ("tools", "tools")];

/// Checks that a template reads the variables that a caller gives it: one that it does not read is a name with a typing error, or
/// the name of another template.
fn check_variables(template: &Template, reads: &BTreeSet<String>, given: &Map<String, Value>) -> Result<(), Failure> {
    for name in given.keys() {
        let start = format!("variables.{name}");
        if let Some((_, option)) = OPTIONS.iter().find(|(variable, _)| variable == name) {
            return Err(Failure::request(format!("{start}: use the option `{option}`, which sets it")));
        }
        let is_token = matches!(&**name, "bos_token" | "eos_token") || template.tokens().others.contains_key(name);
        if reads.contains(name) || is_token {
            continue;
        }
        let others = reads.iter().map(String::as_str).filter(|read| OPTIONS.iter().all(|(name, _)| name != read));
        let others: Vec<&str> = others.collect();
        let meant = nearest(name, others.iter().copied());
        let meant = meant.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let read = if others.is_empty() { "no variables of its own".to_owned() } else { others.join(", ") };
        let text = format!("{start}: the template does not read it{meant}\n  = next: the template reads: {read}");
        return Err(Failure::request(text));
    }
    Ok(())
}
