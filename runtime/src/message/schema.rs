//! What messages and events are as JSON, for schemas: the forms that `form` and `owned_event` write. The tests of the command
//! compare them with what is written.
#![expect(dead_code, reason = "only their schemas are used")]

use schemars::JsonSchema;

use super::{Diagnostic, ToolCall};

/// An assistant message in OpenAI's form.
#[derive(JsonSchema)]
#[schemars(rename = "Message")]
pub(super) struct MessageForm {
    /// Who speaks.
    role: Role,
    /// The answer; null if there are only calls.
    content: Option<String>,
    /// The chain of thought; absent if there is none.
    #[schemars(skip_serializing_if = "String::is_empty")]
    reasoning_content: String,
    /// The calls; absent if there are none.
    #[schemars(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ToolCall>,
    /// Broken markup; absent if there is none.
    #[schemars(skip_serializing_if = "String::is_empty")]
    unparsed: String,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
enum Role {
    Assistant,
}

/// A call in OpenAI's form.
#[derive(JsonSchema)]
#[schemars(rename = "ToolCall")]
pub(super) struct CallForm {
    /// The call's id; absent if the model wrote none.
    #[schemars(skip_serializing_if = "String::is_empty")]
    id: String,
    /// Always `function`.
    #[schemars(rename = "type")]
    kind: CallKind,
    /// What is called.
    function: Function,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
enum CallKind {
    Function,
}

#[derive(JsonSchema)]
struct Function {
    /// The function's name.
    name: String,
    /// The arguments as JSON text. If the call is malformed or incomplete, they may not be valid JSON.
    arguments: String,
}

/// An event that is a text.
#[derive(JsonSchema)]
pub(super) struct TextForm {
    /// The text.
    text: String,
}

/// The event of a diagnostic.
#[derive(JsonSchema)]
pub(super) struct DiagnosticForm {
    /// What is unusual about the output.
    diagnostic: Diagnostic,
}
