//! The parts of the conversations that a template is probed with: assistant messages, calls, and the ways to hand them
//! over. This module makes JSON for the template; it renders nothing.

use serde_json::{Map, Value, json};

use crate::sentinels::Sentinels;

/// How calls are passed to a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Style {
    /// Arguments as an object, or as JSON text.
    pub object_arguments: bool,
    /// The value of `content` in a message without content.
    pub empty: Empty,
}

/// The value of `content` in a message without content: an empty text or null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Empty {
    Text,
    Null,
}

/// A call to be rendered.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub name: String,
    pub id: String,
    pub arguments: Map<String, Value>,
}

impl Style {
    /// The style for messages without calls.
    pub(crate) const PLAIN: Self = Self { object_arguments: true, empty: Empty::Text };

    /// The style in words.
    pub(crate) fn words(self) -> &'static str {
        match (self.object_arguments, self.empty) {
            (true, Empty::Text) => "arguments as an object, content an empty text",
            (true, Empty::Null) => "arguments as an object, content null",
            (false, Empty::Text) => "arguments as JSON text, content an empty text",
            (false, Empty::Null) => "arguments as JSON text, content null",
        }
    }
}

impl Call {
    pub(crate) fn new(name: &str, id: &str, arguments: &[(&str, Value)]) -> Self {
        let arguments = arguments.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
        Self { name: name.to_owned(), id: id.to_owned(), arguments }
    }
}

/// Stands for a field name where reasoning is passed as a content part of the type `thinking`.
pub(crate) const PARTS: &str = "content.thinking";

/// An assistant message to be rendered.
#[derive(Clone, Debug, Default)]
pub(crate) struct AssistantMessage {
    pub content: String,
    pub reasoning: Option<(String, String)>,
    pub calls: Vec<Call>,
}

impl AssistantMessage {
    pub(crate) fn content(text: &str) -> Self {
        Self { content: text.to_owned(), ..Self::default() }
    }

    pub(crate) fn calls(calls: &[Call]) -> Self {
        Self { calls: calls.to_vec(), ..Self::default() }
    }

    pub(crate) fn with_content(mut self, text: &str) -> Self {
        self.content = text.to_owned();
        self
    }

    pub(crate) fn with_reasoning(mut self, field: &str, text: &str) -> Self {
        if !field.is_empty() {
            self.reasoning = Some((field.to_owned(), text.to_owned()));
        }
        self
    }

    pub(crate) fn message(&self, style: Style) -> Value {
        let mut message = Map::new();
        message.insert("role".into(), "assistant".into());
        let content = match (self.content.is_empty() && !self.calls.is_empty(), style.empty) {
            (true, Empty::Null) => Value::Null,
            _ => self.content.as_str().into(),
        };
        message.insert("content".into(), content);
        match &self.reasoning {
            Some((field, text)) if field == PARTS => {
                let mut parts = vec![json!({"type": "thinking", "thinking": text})];
                if !self.content.is_empty() {
                    parts.push(json!({"type": "text", "text": self.content}));
                }
                message.insert("content".into(), parts.into());
            }
            Some((field, text)) => {
                message.insert(field.clone(), text.as_str().into());
            }
            None => {}
        }
        if !self.calls.is_empty() {
            let calls = self.calls.iter().map(|call| {
                let arguments = match style.object_arguments {
                    true => Value::Object(call.arguments.clone()),
                    false => Value::Object(call.arguments.clone()).to_string().into(),
                };
                json!({"type": "function", "id": call.id, "function": {"name": call.name, "arguments": arguments}})
            });
            message.insert("tool_calls".into(), calls.collect());
        }
        Value::Object(message)
    }
}

/// Tools that offer the functions and arguments of the calls.
pub(crate) fn tools_for(s: &Sentinels, calls: &[Call]) -> Value {
    let mut names: Vec<&str> = s.functions.to_vec();
    names.extend(calls.iter().map(|call| call.name.as_str()));
    let mut tools: Vec<Value> = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for name in names {
        if seen.contains(&name) {
            continue;
        }
        seen.push(name);
        let mut properties = Map::new();
        for key in s.arguments {
            properties.insert(key.into(), json!({"type": "string", "description": "a text"}));
        }
        for (key, value) in calls.iter().filter(|call| call.name == name).flat_map(|call| &call.arguments) {
            properties.insert(key.clone(), json!({"type": type_of(value), "description": "a value"}));
        }
        tools.push(json!({"type": "function", "function": {
            "name": name,
            "description": "does something",
            "parameters": {"type": "object", "properties": properties, "required": []},
        }}));
    }
    Value::Array(tools)
}

pub(crate) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
