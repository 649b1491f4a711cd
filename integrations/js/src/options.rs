//! The options of a parser, from the arguments of `parse` and `stream`.

use serde_json::Value;
use unjinja_bindings::{FailureKind, TOOL_CHOICES, callable, cut_calls, tool_choice, unparsed};
use unjinja_dynamic::{Model, Options, ToolChoice, Tools};

use crate::arguments::{Arguments, expected, shown};
use crate::failure::Failure;
use crate::objects::{Objects, ToolList};

/// The options of a parser.
pub(crate) fn parser_options(arguments: &mut Arguments, model: &Model, objects: &Objects) -> Result<Options, Failure> {
    let mut options = handling(arguments)?
        .parallel_tool_calls(arguments.flag("parallelToolCalls")?.unwrap_or(true))
        .extract_reasoning(arguments.flag("extractReasoning")?.unwrap_or(true))
        .calls_end_reasoning(arguments.flag("callsEndReasoning")?.unwrap_or(true))
        .json_response(arguments.flag("jsonResponse")?.unwrap_or(false));
    let choice = choice(arguments)?;
    if let Some(list) = tools(arguments, objects)? {
        #[cfg(feature = "full")]
        if let ToolChoice::Named(name) = &choice
            && list.tools.get(name).is_none()
        {
            let problem = format!("toolChoice: no tool named {name:?} is offered; name one of `tools`");
            return Err(Failure::request(problem));
        }
        options = options.tools(&list.tools);
    }
    options = callable(options, choice);
    if let Some(on) = arguments.flag("thinking")? {
        options = options.thinking(on);
    }
    if let Some(turn) = turn_of(arguments, model)? {
        options = options.generation_prompt(turn);
    }
    if let Some(prefix) = arguments.text("continueFrom")? {
        options = options.continue_from(prefix);
    }
    if let Some(tokens) = arguments.texts("specialTokens")? {
        options = options.special_tokens(tokens);
    }
    Ok(options)
}

/// Where broken markup goes, and what becomes of calls that are cut off.
pub(crate) fn handling(arguments: &mut Arguments) -> Result<Options, Failure> {
    let mut options = Options::new();
    if let Some(word) = arguments.text("unparsed")? {
        options = options.unparsed(unparsed(&word)?);
    }
    if let Some(word) = arguments.text("cutCalls")? {
        options = options.cut_calls(cut_calls("cutCalls", &word)?);
    }
    Ok(options)
}

/// The tools of a request: a list, its JSON text, or an object that was made of one.
pub(crate) fn tools(arguments: &mut Arguments, objects: &Objects) -> Result<Option<ToolList>, Failure> {
    if let Some(number) = arguments.object("$tools")? {
        return objects.tools(number).cloned().map(Some);
    }
    arguments.value("tools").map(tool_list).transpose()
}

/// Reads a list of tools, or its JSON text.
pub(crate) fn tool_list(value: Value) -> Result<ToolList, Failure> {
    let json = match value {
        Value::String(text) => serde_json::from_str(&text).map_err(|error| {
            let text = format!("tools: this text is no JSON: {error}; pass an array of tools, or its JSON");
            Failure::new(FailureKind::Tools, text)
        })?,
        value => value,
    };
    let tools = Tools::from_openai(&json).map_err(|error| Failure::new(FailureKind::Tools, error.to_string()))?;
    Ok(ToolList { tools, json })
}

/// OpenAI's `tool_choice`.
pub(crate) fn choice(arguments: &mut Arguments) -> Result<ToolChoice, Failure> {
    let value = arguments.value("toolChoice").unwrap_or_default();
    let unknown = || Failure::request(format!("toolChoice: {} is unknown; {TOOL_CHOICES}", shown(&value)));
    tool_choice(&value).ok_or_else(unknown)
}

/// What the prompt has of the assistant's turn: a `Prompt` knows it, and in a text it is found.
pub(crate) fn turn_of(arguments: &mut Arguments, model: &Model) -> Result<Option<String>, Failure> {
    if let Some(turn) = arguments.text("$turn")? {
        return Ok(Some(turn));
    }
    match arguments.value("prompt") {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(model.turn_of(&text).to_owned())),
        Some(other) => Err(expected("prompt", "a Prompt or a string", &other)),
    }
}

/// A JSON schema for the answer.
#[cfg(feature = "full")]
pub(crate) fn schema(arguments: &mut Arguments) -> Result<Option<Value>, Failure> {
    match arguments.value("responseSchema") {
        Some(value) if !value.is_object() && !value.is_boolean() => {
            Err(expected("responseSchema", "a JSON schema, which is an object or a boolean", &value))
        }
        value => Ok(value),
    }
}
