//! Reads the content blocks of a request to messages.

use serde_json::Value;
use unjinja_runtime::ToolCall;

use crate::error::ApiError;
use crate::request::{ChatMessage, Role, arguments_text};
use crate::request_value::RequestValue;

/// What a client is told where it sends something else than text.
const ONLY_TEXT: &str = "send text blocks only";

/// The messages that one message of a request means: each result of a tool is a message of its own.
pub(super) fn messages(place: &RequestValue<'_>) -> Result<Vec<ChatMessage>, ApiError> {
    place.object()?;
    let role_place = place.need("role", "\"user\" or \"assistant\"")?;
    let content = place.need("content", "a string or a list of blocks")?;
    match role_place.text()? {
        "user" => user(&content),
        "assistant" => Ok(vec![assistant(&content)?]),
        "system" => Ok(vec![ChatMessage::new(Role::System, text(&content)?)]),
        _ => Err(role_place.unknown("user, assistant")),
    }
}

/// A text, or the texts of text blocks, each on lines of its own.
pub(super) fn text(place: &RequestValue<'_>) -> Result<String, ApiError> {
    if let Value::String(text) = place.value {
        return Ok(text.clone());
    }
    let texts: Vec<&str> = blocks(place)?.iter().map(text_block).collect::<Result<_, _>>()?;
    Ok(texts.join("\n"))
}

fn blocks<'v>(place: &RequestValue<'v>) -> Result<Vec<RequestValue<'v>>, ApiError> {
    let blocks = place.list().map_err(|_| place.expected("a string or a list of blocks"))?;
    for block in &blocks {
        block.object()?;
    }
    Ok(blocks)
}

fn kind<'v>(block: &RequestValue<'v>) -> Result<(&'v str, RequestValue<'v>), ApiError> {
    let kind = block.need("type", "the type of the block")?;
    Ok((kind.text()?, kind))
}

/// The text of a block that must be text.
fn text_block<'v>(block: &RequestValue<'v>) -> Result<&'v str, ApiError> {
    let (name, kind) = kind(block)?;
    match name {
        "text" => block.need("text", "the text of the block")?.text(),
        "image" => Err(block.unsupported("images (`image`) are", ONLY_TEXT)),
        "document" => Err(block.unsupported("documents (`document`) are", ONLY_TEXT)),
        "search_result" => Err(block.unsupported("search results (`search_result`) are", ONLY_TEXT)),
        _ => Err(kind.unknown("text, tool_use, tool_result, thinking, as far as the role allows")),
    }
}

fn user(content: &RequestValue<'_>) -> Result<Vec<ChatMessage>, ApiError> {
    if let Value::String(text) = content.value {
        return Ok(vec![ChatMessage::new(Role::User, text)]);
    }
    let mut messages: Vec<ChatMessage> = Vec::new();
    for block in blocks(content)? {
        if kind(&block)?.0 == "tool_result" {
            let result = block.get("content").map_or(Ok(String::new()), |content| text(&content))?;
            let mut message = ChatMessage::new(Role::Tool, result);
            message.tool_call_id = Some(block.need("tool_use_id", "the id of the call")?.text()?.to_owned());
            messages.push(message);
            continue;
        }
        let text = text_block(&block)?;
        match messages.last_mut() {
            Some(ChatMessage { role: Role::User, content: Some(before), .. }) => {
                before.push('\n');
                before.push_str(text);
            }
            _ => messages.push(ChatMessage::new(Role::User, text)),
        }
    }
    if messages.is_empty() {
        return Err(ApiError::invalid(&content.path, "the list is empty", "send at least one block"));
    }
    Ok(messages)
}

/// The blocks of an assistant's message are one text each that was cut at the calls.
fn assistant(content: &RequestValue<'_>) -> Result<ChatMessage, ApiError> {
    let mut message = ChatMessage { role: Role::Assistant, ..ChatMessage::default() };
    if let Value::String(text) = content.value {
        message.content = Some(text.clone());
        return Ok(message);
    }
    for block in blocks(content)? {
        match kind(&block)?.0 {
            "thinking" => {
                message.reasoning.push_str(block.get_text("thinking")?.unwrap_or_default());
            }
            // What it holds can be read by Anthropic only.
            "redacted_thinking" => {}
            "tool_use" => {
                let input = match block.get("input") {
                    None => "{}".to_owned(),
                    Some(input) => arguments_text(input.object()?),
                };
                let mut call = ToolCall::new(block.need("name", "the tool's name")?.text()?, input);
                call.id = Some(block.need("id", "the id of the call")?.text()?.to_owned());
                message.tool_calls.push(call);
            }
            _ => message.content.get_or_insert_default().push_str(text_block(&block)?),
        }
    }
    Ok(message)
}
