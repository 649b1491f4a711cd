//! Reads the items of a request: a conversation, in which one turn of the model may be many items.

use serde_json::Value;
use unjinja_runtime::ToolCall;

use super::built_in::{self, CALLS, RESULTS};
use super::custom::{arguments_of, in_namespace};
use crate::error::ApiError;
use crate::media::{PartKinds, Replaced, stand_in};
use crate::request::{ChatMessage, Role, arguments_text};
use crate::request_value::RequestValue;

/// What reasoning begins with that goes to a client as `encrypted_content` and comes back. It is the text itself: nobody has to be kept
/// from reading it.
pub(super) const OPEN_REASONING: &str = "unjinja:reasoning:";

/// Items that say what tools did which OpenAI runs. What came of it is in the messages that follow, so a conversation that began there can go
/// on here.
const OF_OPENAI: &str = "code_interpreter_call file_search_call image_generation_call mcp_approval_request \
    mcp_approval_response mcp_list_tools program program_output web_search_call";

/// The other types of items, for a message.
const KNOWN: &str =
    "message, reasoning, function_call, function_call_output, custom_tool_call, custom_tool_call_output";

/// The parts of an item.
const PARTS: PartKinds = PartKinds {
    texts: &["input_text", "output_text", "text"],
    others: &[
        ("input_image", "An image"),
        ("computer_screenshot", "An image"),
        ("input_audio", "A recording"),
        ("input_file", "A file"),
    ],
    known: "input_text, output_text, refusal, input_image, input_file, input_audio",
};

/// What an encrypted summary is called in its place.
const SUMMARY: &str = "A summary of the conversation before this point, which another server encrypted,";

/// The messages of the conversation. The types of items that are left out are added to `ignored`.
pub(super) fn conversation(
    root: &RequestValue<'_>,
    replaced: &mut Replaced,
    ignored: &mut Vec<String>,
) -> Result<Vec<ChatMessage>, ApiError> {
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
    if items.is_empty() {
        return Err(ApiError::invalid("input", "the list is empty", "send at least one item"));
    }
    for place in &items {
        match OF_OPENAI.split(' ').find(|kind| place.value["type"] == *kind) {
            Some(kind) if ignored.iter().any(|known| known == kind) => {}
            Some(kind) => ignored.push(kind.to_owned()),
            None => item(place, &items, &mut all, replaced)?,
        }
    }
    Ok(all)
}

/// Adds an item to the messages. The items of one turn of the model become one message.
fn item(
    place: &RequestValue<'_>,
    items: &[RequestValue<'_>],
    all: &mut Vec<ChatMessage>,
    replaced: &mut Replaced,
) -> Result<(), ApiError> {
    place.object()?;
    let kind_place = place.get("type");
    let kind = match &kind_place {
        Some(kind) => kind.text()?,
        None => "message",
    };
    match kind {
        "message" => message(place, all, replaced)?,
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
            call(place, ToolCall::new(name, arguments_text(&arguments_of(input))), all)?;
        }
        "function_call_output" | "custom_tool_call_output" => {
            let output = place.need("output", "the result of the call")?;
            let text = PARTS.text_of(&output, Role::Tool, replaced)?;
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
            let id = built_in::answered(place, items)?;
            all.push(result(built_in::result(place, kind, replaced)?, id));
        }
        "mcp_call" => {
            let (call, text) = built_in::of_mcp(place)?;
            let id = call.id.clone().unwrap_or_default();
            turn(all).tool_calls.push(call);
            all.push(result(text, id));
        }
        "compaction" | "compaction_summary" | "context_compaction" => {
            all.push(ChatMessage::new(Role::System, stand_in(place, SUMMARY, replaced)));
        }
        "compaction_trigger" => {
            let next = "shorten it yourself, and send it as `input`";
            return Err(place.unsupported("a conversation that the server shortens is", next));
        }
        "item_reference" => {
            let next = "send the item itself";
            return Err(place.unsupported("a reference to an item that is not kept here is", next));
        }
        _ => return Err(kind_place.map_or_else(|| place.expected("an item"), |kind| kind.unknown(KNOWN))),
    }
    Ok(())
}

/// The model's message to which an item belongs: the last one, or a new one.
fn turn(all: &mut Vec<ChatMessage>) -> &mut ChatMessage {
    if all.last().is_none_or(|message| message.role != Role::Assistant) {
        all.push(ChatMessage { role: Role::Assistant, ..ChatMessage::default() });
    }
    let last = all.len() - 1;
    &mut all[last]
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

fn message(place: &RequestValue<'_>, all: &mut Vec<ChatMessage>, replaced: &mut Replaced) -> Result<(), ApiError> {
    let role_place = place.need("role", "the role of the message")?;
    let role = match role_place.text()? {
        "system" | "developer" => Role::System,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => return Err(role_place.unknown("user, assistant, system, developer")),
    };
    let content = place.need("content", "a string or a list of parts")?;
    let text = PARTS.text_of(&content, role, replaced)?;
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
