//! Reads the messages of a request to chat completions.

use std::collections::HashMap;

use serde_json::Value;
use unjinja_runtime::ToolCall;

use crate::error::ApiError;
use crate::media::{Replaced, stand_in};
use crate::request::{ChatMessage, Role, arguments_text};
use crate::request_value::RequestValue;

/// What a client is told where it sends something else than text.
const ONLY_TEXT: &str = "send text parts only";

/// The id of the latest call of each function.
pub(super) type Called = HashMap<String, Option<String>>;

/// One message. `called` are the calls of the messages that precede it; those of this one are added.
pub(super) fn message(
    place: &RequestValue<'_>,
    called: &mut Called,
    replaced: &mut Replaced,
) -> Result<ChatMessage, ApiError> {
    place.object()?;
    let role_place = place.need("role", "the role of the message")?;
    let role = match role_place.text()? {
        "system" | "developer" => Role::System,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "tool" | "function" => Role::Tool,
        _ => return Err(role_place.unknown("system, developer, user, assistant, tool")),
    };
    if let Some(legacy) = place.get("function_call") {
        return Err(legacy.unsupported("a legacy function call is", "send `tool_calls`"));
    }
    if let Some(audio) = place.get("audio") {
        return Err(audio.unsupported("audio is", ONLY_TEXT));
    }
    let mut message = ChatMessage { role, name: place.get_text("name")?.map(str::to_owned), ..ChatMessage::default() };
    message.content = content(place, role, replaced)?;
    if role == Role::Assistant {
        let reasoning = place.get_text("reasoning_content")?.filter(|text| !text.is_empty());
        let reasoning = match reasoning {
            Some(text) => Some(text),
            None => place.get_text("reasoning")?,
        };
        message.reasoning = reasoning.unwrap_or_default().to_owned();
        message.tool_calls = place.get_list("tool_calls")?.iter().map(call).collect::<Result<_, _>>()?;
        called.extend(message.tool_calls.iter().map(|call| (call.name.clone(), call.id.clone())));
        return Ok(message);
    }
    if message.content.is_none() {
        let next = "give a string or a list of text parts";
        return Err(ApiError::invalid(&place.path_of("content"), "this is missing", next));
    }
    if role == Role::Tool {
        message.tool_call_id = place.get_text("tool_call_id")?.map(str::to_owned);
        if role_place.value == "function" {
            // The old role names the function and no call.
            message.tool_call_id = message.name.as_ref().and_then(|name| called.get(name)?.clone());
        } else if message.tool_call_id.is_none() {
            return Err(place.need("tool_call_id", "the id of the call that this answers").err().unwrap_or_else(
                || ApiError::invalid(&place.path_of("tool_call_id"), "this is missing", "give the id of the call"),
            ));
        }
    }
    Ok(message)
}

/// The content: a text, or the texts of the parts. The parts of an assistant are one text that was cut; those of others are
/// passages, and get lines of their own.
fn content(place: &RequestValue<'_>, role: Role, replaced: &mut Replaced) -> Result<Option<String>, ApiError> {
    let Some(content) = place.get("content") else { return Ok(None) };
    let parts = match content.value {
        Value::String(text) => return Ok(Some(text.clone())),
        Value::Array(_) => content.list()?,
        _ => return Err(content.expected("a string or a list of parts")),
    };
    let texts: Vec<String> = parts.iter().map(|one| part(one, replaced)).collect::<Result<_, _>>()?;
    Ok(Some(texts.join(if role == Role::Assistant { "" } else { "\n" })))
}

/// The text of a part; a sentence for a part that is no text.
fn part(part: &RequestValue<'_>, replaced: &mut Replaced) -> Result<String, ApiError> {
    part.object()?;
    let kind = part.need("type", "the type of the part")?;
    let what = match kind.text()? {
        "text" => return Ok(part.need("text", "the text of the part")?.text()?.to_owned()),
        "refusal" => return Ok(part.need("refusal", "the text of the refusal")?.text()?.to_owned()),
        "image_url" => "An image",
        "input_audio" => "A recording",
        "file" => "A file",
        "video_url" => "A video",
        _ => return Err(kind.unknown("text, refusal, image_url, input_audio, file, video_url")),
    };
    Ok(stand_in(part, what, replaced))
}

fn call(place: &RequestValue<'_>) -> Result<ToolCall, ApiError> {
    place.object()?;
    if let Some(kind) = place.get("type").filter(|kind| kind.value != "function") {
        return Err(kind.unsupported("calls of other types than `function` are", "leave them out"));
    }
    let function = place.need("function", "the function that was called")?;
    function.object()?;
    let arguments = match function.get("arguments") {
        None => "{}".to_owned(),
        Some(RequestValue { value: Value::String(text), .. }) if text.trim().is_empty() => "{}".to_owned(),
        Some(RequestValue { value: Value::String(text), .. }) => text.clone(),
        Some(place) => arguments_text(place.object()?),
    };
    let mut call = ToolCall::new(function.need("name", "the function's name")?.text()?, arguments);
    call.id = place.get_text("id")?.map(str::to_owned);
    Ok(call)
}
