//! The options of a parser, from Python's keyword arguments.

use pyo3::prelude::*;
use serde_json::Value;
use unjinja_bindings::{Freedom, TOOL_CHOICES, callable, cut_calls, tool_choice, unparsed};
use unjinja_dynamic::{Options, ToolChoice};
use unjinja_tokens::{EncodeOptions, SpelledTokens};

use crate::error::{RequestError, raised};
use crate::json;
use crate::keywords::Keywords;
use crate::tools::tools_of;

/// The options that turns of a batch share.
pub(crate) fn shared_options(keywords: &Keywords<'_, '_>) -> PyResult<Options> {
    let mut options = callable(handling(keywords)?, choice_of(keywords)?)
        .parallel_tool_calls(keywords.take("parallel_tool_calls", true)?)
        .extract_reasoning(keywords.take("extract_reasoning", true)?);
    if let Some(tools) = tools_of(keywords.optional("tools")?.as_ref())? {
        options = options.tools(&tools.get().tools);
    }
    if let Some(on) = keywords.optional("thinking")? {
        options = options.thinking(on);
    }
    Ok(options)
}

/// What a grammar leaves free.
pub(crate) fn freedom(keywords: &Keywords<'_, '_>) -> PyResult<Freedom> {
    Ok(Freedom {
        open_objects: keywords.take("open_objects", false)?,
        free_white_space: keywords.take("free_white_space", false)?,
        text_before: keywords.optional("text_before")?,
        max_reasoning: keywords.optional("max_reasoning")?,
    })
}

/// The options of a parser. `turn_of` tells what a prompt has of the assistant's turn.
pub(crate) fn parser_options<'py>(
    keywords: &Keywords<'_, 'py>,
    turn_of: impl FnOnce(&Bound<'py, PyAny>) -> PyResult<String>,
) -> PyResult<Options> {
    let mut options = shared_options(keywords)?
        .calls_end_reasoning(keywords.take("calls_end_reasoning", true)?)
        .json_response(keywords.take("json_response", false)?);
    if let Some(prompt) = keywords.optional("prompt")? {
        options = options.generation_prompt(turn_of(&prompt)?);
    }
    if let Some(prefix) = keywords.optional::<String>("continue_from")? {
        options = options.continue_from(prefix);
    }
    Ok(options)
}

/// Where broken markup goes, and what becomes of calls that are cut off.
pub(crate) fn handling(keywords: &Keywords<'_, '_>) -> PyResult<Options> {
    let word = |name, default: &str| keywords.take(name, default.to_owned());
    let unparsed = unparsed(&word("unparsed", "content")?).map_err(raised)?;
    Ok(Options::new()
        .unparsed(unparsed)
        .cut_calls(cut_calls("cut_calls", &word("cut_calls", "keep")?).map_err(raised)?))
}

/// OpenAI's `tool_choice`.
pub(crate) fn choice_of(keywords: &Keywords<'_, '_>) -> PyResult<ToolChoice> {
    let value = keywords.optional("tool_choice")?;
    let value =
        value.map_or(Ok(Value::Null), |value| json::from_python(&value, "tool_choice", RequestError::new_err))?;
    tool_choice(&value).ok_or_else(|| RequestError::new_err(format!("tool_choice: {value} is unknown; {TOOL_CHOICES}")))
}

/// What becomes of control tokens that a text spells.
pub(crate) fn spelled_of(keywords: &Keywords<'_, '_>) -> PyResult<EncodeOptions> {
    let name: String = keywords.take("spelled", "text".to_owned())?;
    let spelled = match name.as_str() {
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
