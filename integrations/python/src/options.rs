//! The options of a parser, from Python's keyword arguments.

use pyo3::prelude::*;
use serde_json::Value;
use unjinja_dynamic::{CutCalls, Model, Options, ToolChoice, Unparsed};
use unjinja_tokens::{EncodeOptions, SpelledTokens};

use crate::error::RequestError;
use crate::json;
use crate::prompt::turn_of;
use crate::tools::tools_of;

/// What the caller knows about a turn. The methods that take these name them one by one, so that `help` shows them.
pub(crate) struct Known<'a, 'py> {
    pub(crate) tools: Option<&'a Bound<'py, PyAny>>,
    pub(crate) thinking: Option<bool>,
    pub(crate) prompt: Option<&'a Bound<'py, PyAny>>,
    pub(crate) continue_from: Option<&'a str>,
    pub(crate) tool_choice: Option<&'a Bound<'py, PyAny>>,
    pub(crate) parallel_tool_calls: bool,
    pub(crate) extract_reasoning: bool,
    pub(crate) calls_end_reasoning: bool,
    pub(crate) json_response: bool,
    pub(crate) unparsed: &'a str,
    pub(crate) cut_calls: &'a str,
    pub(crate) special_tokens: Option<Vec<String>>,
}

impl Known<'_, '_> {
    pub(crate) fn options(self, model: &Model) -> PyResult<Options> {
        let unparsed = unparsed_of(self.unparsed)?;
        let mut options = Options::new()
            .parallel_tool_calls(self.parallel_tool_calls)
            .extract_reasoning(self.extract_reasoning)
            .calls_end_reasoning(self.calls_end_reasoning)
            .json_response(self.json_response)
            .unparsed(unparsed)
            .cut_calls(cut_calls_of(self.cut_calls)?);
        if let Some(tools) = tools_of(self.tools)? {
            options = options.tools(&tools.get().tools);
        }
        match choice_of(self.tool_choice)? {
            ToolChoice::None => options = options.callable::<String>([]),
            ToolChoice::Named(name) => options = options.callable([name]),
            ToolChoice::Auto | ToolChoice::Required => {}
        }
        if let Some(on) = self.thinking {
            options = options.thinking(on);
        }
        if let Some(prompt) = self.prompt.filter(|prompt| !prompt.is_none()) {
            options = options.generation_prompt(turn_of(model, prompt)?);
        }
        if let Some(prefix) = self.continue_from {
            options = options.continue_from(prefix);
        }
        if let Some(tokens) = self.special_tokens {
            options = options.special_tokens(tokens);
        }
        Ok(options)
    }
}

/// Where broken markup goes.
pub(crate) fn unparsed_of(name: &str) -> PyResult<Unparsed> {
    match name {
        "content" => Ok(Unparsed::Content),
        "separate" => Ok(Unparsed::Separate),
        other => {
            let text = format!("unparsed: {other:?} is unknown; use \"content\" or \"separate\"");
            Err(RequestError::new_err(text))
        }
    }
}

/// What becomes of calls that are cut off.
pub(crate) fn cut_calls_of(name: &str) -> PyResult<CutCalls> {
    CutCalls::named(name).ok_or_else(|| {
        RequestError::new_err(format!("cut_calls: {name:?} is unknown; use \"keep\", \"close\" or \"drop\""))
    })
}

/// OpenAI's `tool_choice`.
pub(crate) fn choice_of(value: Option<&Bound<'_, PyAny>>) -> PyResult<ToolChoice> {
    let value =
        value.map_or(Ok(Value::Null), |value| json::from_python(value, "tool_choice", RequestError::new_err))?;
    match &value {
        Value::Null => return Ok(ToolChoice::Auto),
        Value::String(name) => match name.as_str() {
            "auto" => return Ok(ToolChoice::Auto),
            "required" => return Ok(ToolChoice::Required),
            "none" => return Ok(ToolChoice::None),
            _ => {}
        },
        Value::Object(object) => {
            if let Some(name) = object.get("function").and_then(|function| function.get("name")).and_then(Value::as_str)
            {
                return Ok(ToolChoice::Named(name.to_owned()));
            }
        }
        _ => {}
    }
    let next = "use \"auto\", \"required\", \"none\" or {\"type\": \"function\", \"function\": {\"name\": …}}";
    Err(RequestError::new_err(format!("tool_choice: {value} is unknown; {next}")))
}

/// What becomes of control tokens that a text spells.
pub(crate) fn spelled_of(name: &str) -> PyResult<EncodeOptions> {
    let spelled = match name {
        "text" => SpelledTokens::AsText,
        "refuse" => SpelledTokens::Refused,
        "trust" => SpelledTokens::Trusted,
        other => {
            let text = format!("spelled: {other:?} is unknown; use \"text\", \"refuse\" or \"trust\"");
            return Err(RequestError::new_err(text));
        }
    };
    Ok(EncodeOptions::new().spelled_tokens(spelled))
}
