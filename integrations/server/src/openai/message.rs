//! Reads the messages of a request to chat completions.

use std::collections::HashMap;

use serde_json::Value;
use unjinja_runtime::ToolCall;
use unjinja_spec::json_text;

use crate::error::ApiError;
use crate::media::{PartKinds, Unread};
use crate::request::{ChatMessage, Role};
use crate::request_value::RequestValue;
use crate::responses::custom::arguments_of;

/// What a client is told where it sends something else than text.
const ONLY_TEXT: &str = "send text parts only";

/// The parts of a message.
const PARTS: PartKinds = PartKinds {
    texts: &["text"],
    others: &[("image_url", "An image"), ("input_audio", "A recording"), ("file", "A file"), ("video_url", "A video")],
};

/// The id of the latest call of each function.
pub(super) type Called = HashMap<String, Option<String>>;

/// One message. `called` are the calls of the messages that precede it; those of this one are added.
pub(super) fn message(
    place: &RequestValue<'_>,
    called: &mut Called,
    unread: &mut Unread,
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
    if let Some(content) = place.get("content") {
        message.content = Some(PARTS.text_of(&content, role, unread)?);
    }
    if role == Role::Assistant {
        for field in ["reasoning_content", "reasoning", "thinking"] {
            let text = place.get_text(field)?.filter(|_| message.reasoning.is_empty());
            message.reasoning.push_str(text.unwrap_or_default());
        }
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

fn call(place: &RequestValue<'_>) -> Result<ToolCall, ApiError> {
    place.object()?;
    if place.value["type"] == "custom" {
        let custom = place.need("custom", "the custom tool that was called")?;
        let input = arguments_of(custom.need("input", "the tool's input")?.text()?);
        let mut call = ToolCall::new(custom.need("name", "the tool's name")?.text()?, json_text(&input.into()));
        call.id = place.get_text("id")?.map(str::to_owned);
        return Ok(call);
    }
    if let Some(kind) = place.get("type").filter(|kind| kind.value != "function") {
        return Err(kind.unsupported("calls of other types than `function` and `custom` are", "leave them out"));
    }
    let function = place.need("function", "the function that was called")?;
    function.object()?;
    let arguments = match function.get("arguments") {
        None => "{}".to_owned(),
        Some(RequestValue { value: Value::String(text), .. }) if text.trim().is_empty() => "{}".to_owned(),
        Some(RequestValue { value: Value::String(text), .. }) => text.clone(),
        Some(place) => place.object().map(|_| json_text(place.value))?,
    };
    let mut call = ToolCall::new(function.need("name", "the function's name")?.text()?, arguments);
    call.id = place.get_text("id")?.map(str::to_owned);
    Ok(call)
}
