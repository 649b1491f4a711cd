//! An assistant message before a template has written it, and the tools that go with it.

use serde_json::{Value, json};

/// An assistant message.
#[derive(Clone, Debug, Default)]
pub(super) struct WorkloadTurn {
    pub reasoning: String,
    pub content: String,
    pub calls: Vec<(String, Value)>,
    /// The tools that are offered, in OpenAI's form, where they are not the usual ones.
    pub tools: Option<Value>,
}

impl WorkloadTurn {
    /// The message as templates read it, with arguments as an object or as text.
    pub(super) fn message(&self, as_text: bool) -> Value {
        let mut message = json!({"role": "assistant", "content": self.content});
        if !self.reasoning.is_empty() {
            for field in ["reasoning_content", "reasoning", "thinking"] {
                message[field] = json!(self.reasoning);
            }
        }
        let calls = self.calls.iter().enumerate().map(|(number, (name, arguments))| {
            let arguments = if as_text { json!(arguments.to_string()) } else { arguments.clone() };
            let function = json!({"name": name, "arguments": arguments});
            json!({"id": format!("call{number:05}"), "type": "function", "function": function})
        });
        let calls: Vec<Value> = calls.collect();
        if !calls.is_empty() {
            message["tool_calls"] = json!(calls);
        }
        message
    }

    /// The tools that are offered: unless the turn names its own, the usual ones, or none where none is called.
    pub(super) fn tools(&self) -> Value {
        if let Some(tools) = &self.tools {
            return tools.clone();
        }
        if self.calls.is_empty() {
            return json!([]);
        }
        let text = json!({"type": "string"});
        let integer = json!({"type": "integer"});
        let tools = [
            ("write_file", json!({"path": text, "text": text})),
            ("get_weather", json!({"city": text, "days": integer})),
            ("build", json!({"tree": {"type": "object"}})),
            ("store", json!({"values": {"type": "array"}})),
            ("set", json!({})),
        ];
        offered(tools)
    }
}

/// Tools with these names and properties, in OpenAI's form.
pub(super) fn offered<const N: usize>(tools: [(&str, Value); N]) -> Value {
    let tool = |(name, properties): (&str, Value)| {
        let parameters = json!({"type": "object", "properties": properties});
        json!({"type": "function", "function": {"name": name, "description": "A tool.", "parameters": parameters}})
    };
    tools.into_iter().map(tool).collect()
}
