//! Makes the variables of a template from a request: `messages`, `tools` and switches, in the form that the template needs.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use unjinja_runtime::{Tool, ToolCall, Tools, close_json};

use crate::needs::{ArgumentsForm, ContentForm, TemplateNeeds, functions_of};
use crate::request::{ChatMessage, Request, Role, ToolChoice};

/// Where a part of the content carries reasoning.
const PARTS: &str = "content.thinking";

/// The variables of the template. `thinking` is the value of its switch.
pub(crate) fn context(request: &Request, needs: &TemplateNeeds, thinking: Option<bool>) -> Value {
    let mut context = request.template_variables.clone();
    if let Some(effort) = &request.reasoning_effort {
        context.entry("reasoning_effort").or_insert_with(|| effort.as_str().into());
    }
    if let Some(on) = thinking.filter(|_| !needs.thinking_switch.is_empty()) {
        context.insert(needs.thinking_switch.clone(), on.into());
    }
    context.insert("messages".to_owned(), messages(&request.messages, needs));
    let tools = if request.tool_choice == ToolChoice::None { Vec::new() } else { offered(&request.tools) };
    if let Some(functions) = functions_of(needs.functions, &tools) {
        context.entry("functions").or_insert(functions);
    }
    if !tools.is_empty() {
        context.insert("tools".to_owned(), tools.into());
    }
    context.insert("add_generation_prompt".to_owned(), true.into());
    Value::Object(context)
}

/// The tools as templates expect them, with no other fields than models were trained on.
fn offered(tools: &Tools) -> Vec<Value> {
    let one = |tool: &Tool| {
        let mut function = Map::new();
        function.insert("name".to_owned(), tool.name.as_str().into());
        function.insert("description".to_owned(), tool.description.as_str().into());
        function.insert("parameters".to_owned(), tool.parameters.clone());
        json!({"type": "function", "function": function})
    };
    tools.iter().map(one).collect()
}

fn messages(messages: &[ChatMessage], needs: &TemplateNeeds) -> Value {
    let mut list = Vec::with_capacity(messages.len());
    let mut instructions = Vec::new();
    // The function's name for each id; the latest call counts.
    let mut named: HashMap<&str, &str> = HashMap::new();
    for message in messages {
        let text = message.content.as_deref();
        let mut content = text.map(str::to_owned);
        if needs.no_system_role {
            if message.role == Role::System {
                instructions.extend(text);
                continue;
            }
            if message.role == Role::User && !instructions.is_empty() {
                instructions.extend(text);
                content = Some(std::mem::take(&mut instructions).join("\n\n"));
            }
        }
        list.push(one(message, content.as_deref(), called(&named, message), needs));
        named.extend(message.tool_calls.iter().filter_map(|call| Some((call.id.as_deref()?, call.name.as_str()))));
    }
    if !instructions.is_empty() {
        list.push(json!({"role": "user", "content": needs.content.value(&instructions.join("\n\n"))}));
    }
    list.into()
}

/// The name of the tool whose result a message is, which many templates read and clients leave out.
fn called<'m>(named: &HashMap<&str, &'m str>, message: &ChatMessage) -> Option<&'m str> {
    let id = message.tool_call_id.as_deref().filter(|_| message.role == Role::Tool && message.name.is_none())?;
    named.get(id).copied()
}

fn one(message: &ChatMessage, text: Option<&str>, called: Option<&str>, needs: &TemplateNeeds) -> Value {
    let mut object = Map::new();
    object.insert("role".to_owned(), message.role.name().into());
    let content = match text {
        None | Some("") if !message.tool_calls.is_empty() => needs.empty_content(),
        text => Some(needs.content.value(text.unwrap_or_default())),
    };
    if let Some(content) = content {
        object.insert("content".to_owned(), content);
    }
    if !message.reasoning.is_empty() {
        let reasoning = message.reasoning.as_str();
        if needs.reasoning_field == PARTS {
            let mut parts = vec![json!({"type": "thinking", "thinking": reasoning})];
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                let text = ContentForm::Parts.value(text);
                parts.extend(text.as_array().into_iter().flatten().cloned());
            }
            object.insert("content".to_owned(), parts.into());
        } else {
            let field = Some(needs.reasoning_field.as_str()).filter(|field| !field.is_empty());
            object.insert(field.unwrap_or("reasoning_content").to_owned(), reasoning.into());
        }
    }
    if !message.tool_calls.is_empty() {
        let calls: Value = message.tool_calls.iter().map(|call| written(call, needs)).collect();
        object.insert("tool_calls".to_owned(), calls);
    }
    if let Some(id) = &message.tool_call_id {
        object.insert("tool_call_id".to_owned(), id.as_str().into());
    }
    if let Some(name) = message.name.as_deref().or(called) {
        object.insert("name".to_owned(), name.into());
    }
    Value::Object(object)
}

fn written(call: &ToolCall, needs: &TemplateNeeds) -> Value {
    let arguments = match needs.arguments {
        ArgumentsForm::Text => call.arguments.as_str().into(),
        ArgumentsForm::Object => object(&call.arguments),
    };
    let mut written = Map::new();
    if let Some(id) = &call.id {
        written.insert("id".to_owned(), id.as_str().into());
    }
    written.insert("type".to_owned(), "function".into());
    written.insert("function".to_owned(), json!({"name": call.name, "arguments": arguments}));
    Value::Object(written)
}

/// Arguments as an object. Broken arguments come back from clients, because they were delivered to them: what can be read of
/// them is kept.
fn object(arguments: &str) -> Value {
    let value: Value = serde_json::from_str(arguments)
        .or_else(|_| serde_json::from_str(&close_json(arguments)))
        .unwrap_or_else(|_| json!({}));
    // Some clients encode twice.
    let inner = value.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    match inner.filter(Value::is_object).unwrap_or(value) {
        Value::Object(object) => Value::Object(object),
        _ => json!({"arguments": arguments}),
    }
}
