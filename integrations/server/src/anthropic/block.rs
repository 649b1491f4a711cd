//! Reads the content blocks of a request to messages.

use serde_json::Value;
use unjinja_runtime::ToolCall;

use crate::error::ApiError;
use crate::media::{Replaced, document, stand_in};
use crate::request::{ChatMessage, Role, arguments_text};
use crate::request_value::RequestValue;

/// The messages that one message of a request means: each result of a tool is a message of its own.
pub(super) fn messages(place: &RequestValue<'_>, replaced: &mut Replaced) -> Result<Vec<ChatMessage>, ApiError> {
    place.object()?;
    let role_place = place.need("role", "\"user\" or \"assistant\"")?;
    let content = place.need("content", "a string or a list of blocks")?;
    match role_place.text()? {
        "user" => user(&content, replaced),
        "assistant" => Ok(vec![assistant(&content, replaced)?]),
        "system" => Ok(vec![ChatMessage::new(Role::System, text(&content, replaced)?)]),
        _ => Err(role_place.unknown("user, assistant")),
    }
}

/// A text, or the texts of text blocks, each on lines of its own.
pub(super) fn text(place: &RequestValue<'_>, replaced: &mut Replaced) -> Result<String, ApiError> {
    if let Value::String(text) = place.value {
        return Ok(text.clone());
    }
    let texts: Vec<String> =
        blocks(place)?.iter().map(|block| text_block(block, replaced)).collect::<Result<_, _>>()?;
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

/// The text of a block; a sentence for a block that is no text.
fn text_block(block: &RequestValue<'_>, replaced: &mut Replaced) -> Result<String, ApiError> {
    let (name, kind) = kind(block)?;
    match name {
        "text" => Ok(block.need("text", "the text of the block")?.text()?.to_owned()),
        "image" => Ok(stand_in(block, "An image", replaced)),
        "document" => document(block, replaced),
        "search_result" => block.get("content").map_or(Ok(String::new()), |content| text(&content, replaced)),
        _ => Err(kind.unknown("text, image, document, tool_use, tool_result, thinking, as far as the role allows")),
    }
}

fn user(content: &RequestValue<'_>, replaced: &mut Replaced) -> Result<Vec<ChatMessage>, ApiError> {
    if let Value::String(text) = content.value {
        return Ok(vec![ChatMessage::new(Role::User, text)]);
    }
    let mut messages: Vec<ChatMessage> = Vec::new();
    for block in blocks(content)? {
        if kind(&block)?.0 == "tool_result" {
            let result = block.get("content").map_or(Ok(String::new()), |content| text(&content, replaced))?;
            let failed = block.get_bool("is_error")?.unwrap_or(false);
            let mut message = ChatMessage::new(Role::Tool, if failed { as_error(&result) } else { result });
            message.tool_call_id = Some(block.need("tool_use_id", "the id of the call")?.text()?.to_owned());
            messages.push(message);
            continue;
        }
        let text = text_block(&block, replaced)?;
        match messages.last_mut() {
            Some(ChatMessage { role: Role::User, content: Some(before), .. }) => {
                before.push('\n');
                before.push_str(&text);
            }
            _ => messages.push(ChatMessage::new(Role::User, text)),
        }
    }
    if messages.is_empty() {
        return Err(ApiError::invalid(&content.path, "the list is empty", "send at least one block"));
    }
    Ok(messages)
}

/// The result of a call that failed. No template has a place for that, so the text says it.
fn as_error(result: &str) -> String {
    let says_so = result.get(..5).is_some_and(|word| word.eq_ignore_ascii_case("error"));
    if says_so { result.to_owned() } else { format!("Error: {result}").trim_end().to_owned() }
}

/// The blocks of an assistant's message are one text each that was cut at the calls.
fn assistant(content: &RequestValue<'_>, replaced: &mut Replaced) -> Result<ChatMessage, ApiError> {
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
            _ => message.content.get_or_insert_default().push_str(&text_block(&block, replaced)?),
        }
    }
    Ok(message)
}
