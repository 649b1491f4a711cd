//! Makes the variables of a template from a request: `messages`, `tools` and switches, in the forms that the spec names.

use serde_json::{Map, Value, json};
use unjinja_runtime::ToolCall;
use unjinja_spec::{FormatSpec, WrittenTags};

use crate::request::{ChatMessage, Request, ToolChoice};

/// The variables of the template, and the tags that were written into messages for them. `thinking` is the value of its switch.
pub(crate) fn context(
    request: &Request,
    messages: &[ChatMessage],
    spec: &FormatSpec,
    thinking: Option<bool>,
) -> (Value, Vec<WrittenTags>) {
    let mut context = request.template_variables.clone();
    if let Some(effort) = &request.reasoning_effort {
        context.entry("reasoning_effort").or_insert_with(|| effort.as_str().into());
    }
    let switch = &spec.reasoning.switch;
    if let Some(on) = thinking.filter(|_| !switch.is_empty()) {
        context.insert(switch.clone(), on.into());
    }
    context.insert("messages".to_owned(), messages.iter().map(one).collect());
    if request.tool_choice != ToolChoice::None && !request.tools.is_empty() {
        context.insert("tools".to_owned(), request.tools.to_openai());
    }
    context.insert("add_generation_prompt".to_owned(), true.into());
    let written = spec.hand_over(&mut context);
    (Value::Object(context), written)
}

/// A message as OpenAI's API has it.
fn one(message: &ChatMessage) -> Value {
    let mut object = Map::new();
    let mut set = |key: &str, value: Value| object.insert(key.to_owned(), value);
    set("role", message.role.name().into());
    let empty = if message.tool_calls.is_empty() { Value::from("") } else { Value::Null };
    set("content", message.content.as_deref().map_or(empty, Value::from));
    if !message.reasoning.is_empty() {
        set("reasoning_content", message.reasoning.as_str().into());
    }
    if !message.tool_calls.is_empty() {
        set("tool_calls", message.tool_calls.iter().map(call).collect());
    }
    if let Some(id) = &message.tool_call_id {
        set("tool_call_id", id.as_str().into());
    }
    if let Some(name) = &message.name {
        set("name", name.as_str().into());
    }
    Value::Object(object)
}

fn call(call: &ToolCall) -> Value {
    let function = json!({"name": call.name, "arguments": call.arguments});
    let mut object = Map::from_iter([("type".to_owned(), "function".into()), ("function".to_owned(), function)]);
    if let Some(id) = &call.id {
        object.insert("id".to_owned(), id.as_str().into());
    }
    Value::Object(object)
}
