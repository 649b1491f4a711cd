//! Reads the content blocks of a request to messages.

use serde_json::Value;
use unjinja_runtime::ToolCall;
use unjinja_spec::json_text;

use crate::error::ApiError;
use crate::media::{SUMMARY, Unread, document, found, stand_in, summed_up};
use crate::request::{ChatMessage, Role, in_namespace, turn};
use crate::request_value::RequestValue;

/// The messages that one message of a request means: each result of a tool is a message of its own.
pub(super) fn messages(place: &RequestValue<'_>, unread: &mut Unread) -> Result<Vec<ChatMessage>, ApiError> {
    place.object()?;
    let role_place = place.need("role", "\"user\" or \"assistant\"")?;
    if role_place.value == "system" && place.get("content").is_none() {
        // It changes settings only.
        return Ok(Vec::new());
    }
    let content = place.need("content", "a string or a list of blocks")?;
    match role_place.text()? {
        "user" => user(&content, unread),
        "assistant" => assistant(&content, unread),
        "system" => match text(&content, unread)? {
            // It changes tools only.
            text if text.is_empty() && content.value.is_array() => Ok(Vec::new()),
            text => Ok(vec![ChatMessage::new(Role::System, text)]),
        },
        _ => Err(role_place.unknown("user, assistant")),
    }
}

/// A text, or the texts of text blocks, each on lines of its own.
pub(super) fn text(place: &RequestValue<'_>, unread: &mut Unread) -> Result<String, ApiError> {
    if let Value::String(text) = place.value {
        return Ok(text.clone());
    }
    let blocks = blocks(place)?;
    let texts = blocks.iter().map(|block| text_block(block, unread)).filter_map(Result::transpose);
    Ok(texts.collect::<Result<Vec<_>, _>>()?.join("\n"))
}

fn blocks<'v>(place: &RequestValue<'v>) -> Result<Vec<RequestValue<'v>>, ApiError> {
    let blocks = place.list().map_err(|_| place.expected("a string or a list of blocks"))?;
    for block in &blocks {
        block.object()?;
    }
    Ok(blocks)
}

fn kind<'v>(block: &RequestValue<'v>) -> Result<&'v str, ApiError> {
    block.need("type", "the type of the block")?.text()
}

/// The text of a block; a sentence for a block that is no text. Blocks of tools that Anthropic runs, and of unknown types, are left out.
fn text_block(block: &RequestValue<'_>, unread: &mut Unread) -> Result<Option<String>, ApiError> {
    Ok(Some(match kind(block)? {
        "text" => block.need("text", "the text of the block")?.text()?.to_owned(),
        "image" => stand_in(block, "An image", unread),
        "container_upload" => stand_in(block, "A file", unread),
        "document" => document(block, unread)?,
        "search_result" => content_text(block, unread)?,
        "tool_reference" => found([block.need("tool_name", "the tool's name")?.text()?]),
        // They are read where tools are.
        "tool_addition" | "tool_removal" => return Ok(None),
        other => {
            unread.leave_out(other);
            return Ok(None);
        }
    }))
}

/// The text of what a block holds, if it holds anything.
fn content_text(block: &RequestValue<'_>, unread: &mut Unread) -> Result<String, ApiError> {
    block.get("content").map_or(Ok(String::new()), |content| text(&content, unread))
}

/// A result of a tool.
fn result(block: &RequestValue<'_>, unread: &mut Unread) -> Result<ChatMessage, ApiError> {
    let text = content_text(block, unread)?;
    let failed = block.get_bool("is_error")?.unwrap_or(false);
    let id = block.need("tool_use_id", "the id of the call")?.text()?.to_owned();
    let text = if failed { as_error(&text) } else { text };
    Ok(ChatMessage { tool_call_id: Some(id), ..ChatMessage::new(Role::Tool, text) })
}

/// A summary of the conversation before it, if there is one.
fn summary(block: &RequestValue<'_>, unread: &mut Unread) -> Result<Option<ChatMessage>, ApiError> {
    let text = match block.get_text("content")? {
        Some(text) => summed_up(text),
        None if block.get("encrypted_content").is_some() => stand_in(block, SUMMARY, unread),
        None => return Ok(None),
    };
    Ok(Some(ChatMessage::new(Role::System, text)))
}

fn user(content: &RequestValue<'_>, unread: &mut Unread) -> Result<Vec<ChatMessage>, ApiError> {
    if let Value::String(text) = content.value {
        return Ok(vec![ChatMessage::new(Role::User, text)]);
    }
    let mut messages: Vec<ChatMessage> = Vec::new();
    let blocks = blocks(content)?;
    for block in &blocks {
        match kind(block)? {
            "tool_result" => {
                messages.push(result(block, unread)?);
                continue;
            }
            "compaction" => {
                messages.extend(summary(block, unread)?);
                continue;
            }
            _ => {}
        }
        let Some(text) = text_block(block, unread)? else { continue };
        match messages.last_mut() {
            Some(ChatMessage { role: Role::User, content: Some(before), .. }) => {
                before.push('\n');
                before.push_str(&text);
            }
            _ => messages.push(ChatMessage::new(Role::User, text)),
        }
    }
    if blocks.is_empty() {
        return Err(ApiError::invalid(&content.path, "the list is empty", "send at least one block"));
    }
    Ok(messages)
}

/// The result of a call that failed. No template has a place for that, so the text says it.
fn as_error(result: &str) -> String {
    let says_so = result.get(..5).is_some_and(|word| word.eq_ignore_ascii_case("error"));
    if says_so { result.to_owned() } else { format!("Error: {result}").trim_end().to_owned() }
}

/// The blocks of an assistant's message are one text each that was cut at the calls. The results of MCP servers are among them.
fn assistant(content: &RequestValue<'_>, unread: &mut Unread) -> Result<Vec<ChatMessage>, ApiError> {
    let mut all = Vec::new();
    if let Value::String(text) = content.value {
        turn(&mut all).content = Some(text.clone());
        return Ok(all);
    }
    for block in blocks(content)? {
        match kind(&block)? {
            "thinking" => turn(&mut all).reasoning.push_str(block.get_text("thinking")?.unwrap_or_default()),
            // What it holds can be read by Anthropic only.
            "redacted_thinking" => {}
            "tool_use" => turn(&mut all).tool_calls.push(call(&block, str::to_owned)?),
            "mcp_tool_use" => {
                let server = block.need("server_name", "the name of the server")?.text()?;
                turn(&mut all).tool_calls.push(call(&block, |name| in_namespace(server, name))?);
            }
            "mcp_tool_result" => all.push(result(&block, unread)?),
            "compaction" => all.extend(summary(&block, unread)?),
            _ => {
                if let Some(text) = text_block(&block, unread)? {
                    turn(&mut all).content.get_or_insert_default().push_str(&text);
                }
            }
        }
    }
    if all.is_empty() {
        turn(&mut all);
    }
    Ok(all)
}

/// A call, with the name by which the model knows the tool.
fn call(block: &RequestValue<'_>, shown: impl FnOnce(&str) -> String) -> Result<ToolCall, ApiError> {
    let text = |input: RequestValue<'_>| input.object().map(|_| json_text(input.value));
    let input = block.get("input").map_or(Ok("{}".to_owned()), text)?;
    let mut call = ToolCall::new(shown(block.need("name", "the tool's name")?.text()?), input);
    call.id = Some(block.need("id", "the id of the call")?.text()?.to_owned());
    Ok(call)
}
