//! Reads the items of a request: a conversation, in which one turn of the model may be many items.

use serde_json::Value;
use unjinja_runtime::ToolCall;
use unjinja_spec::json_text;

use super::built_in::{self, CALLS, LocalShells, RESULTS};
use super::custom::arguments_of;
use crate::error::ApiError;
use crate::media::{PartKinds, SUMMARY, Unread, stand_in, summed_up};
use crate::request::{ChatMessage, Role, in_namespace, turn};
use crate::request_value::RequestValue;

/// What reasoning begins with that goes to a client as `encrypted_content` and comes back. It is the text itself: nobody has to be kept
/// from reading it.
pub(super) const OPEN_REASONING: &str = "unjinja:reasoning:";

/// What a summary begins with that goes to a client as `encrypted_content` and comes back. It is the text itself, too.
pub(crate) const OPEN_SUMMARY: &str = "unjinja:summary:";

/// The parts of an item.
const PARTS: PartKinds = PartKinds {
    texts: &["input_text", "output_text", "text"],
    others: &[
        ("input_image", "An image"),
        ("computer_screenshot", "An image"),
        ("input_audio", "A recording"),
        ("input_file", "A file"),
    ],
};

/// The messages of the conversation. Items of other types are left out: they say what tools did which OpenAI runs, or nobody knows them
/// here. What came of them is in the messages that follow, so a conversation that began elsewhere can go on.
pub(super) fn conversation(root: &RequestValue<'_>, unread: &mut Unread) -> Result<Vec<ChatMessage>, ApiError> {
    let mut all = Vec::new();
    if let Some(instructions) = root.get_text("instructions")? {
        all.push(ChatMessage::new(Role::System, instructions));
    }
    let input = root.need("input", "the conversation")?;
    if let Value::String(text) = input.value {
        all.push(ChatMessage::new(Role::User, text));
        return Ok(all);
    }
    let items = input.list().map_err(|_| input.expected("a string or a list of items"))?;
    let shells = built_in::local_shells(&items);
    for place in &items {
        item(place, &shells, &mut all, unread)?;
    }
    if all.is_empty() {
        all.push(ChatMessage::new(Role::User, ""));
    }
    Ok(all)
}

/// Adds an item to the messages. The items of one turn of the model become one message.
fn item(
    place: &RequestValue<'_>,
    shells: &LocalShells<'_>,
    all: &mut Vec<ChatMessage>,
    unread: &mut Unread,
) -> Result<(), ApiError> {
    place.object()?;
    let kind_place = place.get("type");
    let kind = match &kind_place {
        Some(kind) => kind.text()?,
        None => "message",
    };
    match kind {
        "message" => message(place, all, unread)?,
        "reasoning" => turn(all).reasoning.push_str(&reasoning(place)?),
        "function_call" => {
            let arguments = match place.get_text("arguments")?.unwrap_or_default() {
                text if text.trim().is_empty() => "{}",
                text => text,
            };
            let name = place.need("name", "the function's name")?.text()?;
            let name = match place.get_text("namespace")? {
                Some(namespace) => in_namespace(namespace, name),
                None => name.to_owned(),
            };
            call(place, ToolCall::new(name, arguments), all)?;
        }
        "custom_tool_call" => {
            let name = place.need("name", "the tool's name")?.text()?;
            let input = place.need("input", "the tool's input")?.text()?;
            call(place, ToolCall::new(name, json_text(&arguments_of(input).into())), all)?;
        }
        "function_call_output" | "custom_tool_call_output" => {
            let output = place.need("output", "the result of the call")?;
            let text = PARTS.text_of(&output, Role::Tool, unread)?;
            all.push(result(text, place.need("call_id", "the id of the call")?.text()?.to_owned()));
        }
        // OpenAI's own search for tools: what it found is offered to the model.
        "tool_search_call" | "tool_search_output" if place.get("call_id").is_none() => {}
        // What they say is read where tools and settings are.
        "additional_tools" | "configuration_update" => {}
        kind if CALLS.contains(&kind) => {
            let id = if place.get("call_id").is_some() { "call_id" } else { "id" };
            let mut call = built_in::call(place, kind)?;
            call.id = Some(place.need(id, "the id of the call")?.text()?.to_owned());
            turn(all).tool_calls.push(call);
        }
        kind if RESULTS.contains(&kind) => {
            let id = built_in::answered(place, shells)?;
            all.push(result(built_in::result(place, kind, unread)?, id));
        }
        "mcp_call" => {
            let (call, text) = built_in::of_mcp(place)?;
            let id = call.id.clone().unwrap_or_default();
            turn(all).tool_calls.push(call);
            all.push(result(text, id));
        }
        "compaction" | "compaction_summary" | "context_compaction" => {
            let own = place.get_text("encrypted_content")?.and_then(|text| text.strip_prefix(OPEN_SUMMARY));
            let text = own.map_or_else(|| stand_in(place, SUMMARY, unread), summed_up);
            all.push(ChatMessage::new(Role::System, text));
        }
        "compaction_trigger" => {
            let next = "shorten it yourself, and send it as `input`";
            return Err(place.unsupported("a conversation that the server shortens is", next));
        }
        "item_reference" => {
            let next = "send the item itself";
            return Err(place.unsupported("a reference to an item that is not kept here is", next));
        }
        other => unread.leave_out(other),
    }
    Ok(())
}

fn call(place: &RequestValue<'_>, mut call: ToolCall, all: &mut Vec<ChatMessage>) -> Result<(), ApiError> {
    call.id = Some(place.need("call_id", "the id of the call")?.text()?.to_owned());
    turn(all).tool_calls.push(call);
    Ok(())
}

/// The result of a call.
fn result(text: String, call_id: String) -> ChatMessage {
    ChatMessage { tool_call_id: Some(call_id), ..ChatMessage::new(Role::Tool, text) }
}

fn message(place: &RequestValue<'_>, all: &mut Vec<ChatMessage>, unread: &mut Unread) -> Result<(), ApiError> {
    let role_place = place.need("role", "the role of the message")?;
    let role = match role_place.text()? {
        "system" | "developer" => Role::System,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => return Err(role_place.unknown("user, assistant, system, developer")),
    };
    let content = place.need("content", "a string or a list of parts")?;
    let text = PARTS.text_of(&content, role, unread)?;
    match role {
        Role::Assistant => turn(all).content.get_or_insert_default().push_str(&text),
        _ => all.push(ChatMessage::new(role, text)),
    }
    Ok(())
}

/// The text of an item of reasoning: as a client keeps it, or as it came back in `encrypted_content`.
fn reasoning(place: &RequestValue<'_>) -> Result<String, ApiError> {
    let own = place.get_text("encrypted_content")?.and_then(|text| text.strip_prefix(OPEN_REASONING));
    if let Some(own) = own {
        return Ok(own.to_owned());
    }
    for key in ["content", "summary"] {
        let parts = place.get_list(key)?;
        let texts: Vec<&str> =
            parts.iter().map(|part| part.get_text("text")).filter_map(Result::transpose).collect::<Result<_, _>>()?;
        if !texts.is_empty() {
            return Ok(texts.concat());
        }
    }
    Ok(String::new())
}
