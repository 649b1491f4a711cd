//! Writes a whole message as a completion.

use serde::Serialize;
use serde_json::Value;
use unjinja_runtime::{Diagnostic, Message, ToolCall};

use super::chunk::{CompletionUsage, Logprobs, ReasoningName, reason};
use crate::calls::{are_done, is_done};
use crate::finish::{Finish, Usage};
use crate::responses::CalledTools;
use crate::responses::custom::input_of;
use unjinja_spec::CallIds;

use crate::ids::{now, unique_id};

/// A whole completion.
///
/// ```
/// use unjinja_runtime::{Message, ToolCall};
/// use unjinja_server::openai::ChatCompletion;
/// use unjinja_server::{CallIdShape, CallIds, Finish, Usage};
///
/// let message = Message::new("", vec![ToolCall::new("now", "{}")]);
/// let mut ids = CallIds::new(CallIdShape::Free);
/// let completion = ChatCompletion::new("my-model", message, &mut ids, &Finish::Stop).usage(Usage::new(10, 4));
/// let json = serde_json::to_value(&completion)?;
/// assert_eq!(json["choices"][0]["finish_reason"], "tool_calls");
/// assert!(json["choices"][0]["message"]["tool_calls"][0]["id"].as_str().is_some_and(|id| id.starts_with("call_")));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChatCompletion {
    /// The id of the response.
    pub id: String,
    /// `chat.completion`.
    pub object: &'static str,
    /// When the response was made, in seconds since 1970.
    pub created: u64,
    /// The model's name.
    pub model: String,
    /// The answers; one, unless a client wants more.
    pub choices: Vec<CompletionChoice>,
    /// The usage, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<CompletionUsage>,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CompletionChoice {
    /// Which of the answers this is, from 0.
    pub index: u32,
    /// The message.
    pub message: CompletionMessage,
    /// Why the output ended.
    pub finish_reason: &'static str,
    /// The probabilities of the tokens that the model wrote, if they were asked for.
    pub logprobs: Option<Logprobs>,
}

/// A message with the fields that OpenAI's clients expect.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(from = "MessageForm<'static>", into = "MessageForm<'static>"))]
pub struct CompletionMessage {
    /// The message. Its calls have ids.
    pub message: Message,
    /// The name of the reasoning.
    pub reasoning: ReasoningName,
    /// Whether the diagnostics are written.
    pub write_diagnostics: bool,
    /// The custom tools, whose calls have a text as input.
    pub custom: CalledTools,
}

impl ChatCompletion {
    /// The completion for a message. Its calls get ids, in their order.
    pub fn new(model: impl Into<String>, mut message: Message, call_ids: &mut CallIds, finish: &Finish) -> Self {
        for call in &mut message.tool_calls {
            call.id = Some(call_ids.next(&call.name, call.id.as_deref()));
        }
        let finish_reason =
            reason(finish, are_done(message.tool_calls.iter().map(|call| is_done(call.complete, &call.arguments))));
        let (reasoning, custom) = Default::default();
        let message = CompletionMessage { message, reasoning, write_diagnostics: false, custom };
        Self {
            id: unique_id("chatcmpl-"),
            object: "chat.completion",
            created: now(),
            model: model.into(),
            choices: vec![CompletionChoice { index: 0, message, finish_reason, logprobs: None }],
            usage: None,
        }
    }

    /// Adds the usage.
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage.into());
        self
    }

    /// The name of the reasoning.
    pub fn reasoning(mut self, name: ReasoningName) -> Self {
        for choice in &mut self.choices {
            choice.message.reasoning = name;
        }
        self
    }

    /// The custom tools of the request: their calls have a text as input.
    pub fn custom_tools(mut self, tools: &CalledTools) -> Self {
        for choice in &mut self.choices {
            choice.message.custom = tools.clone();
        }
        self
    }

    /// Adds the probabilities of the tokens: one object for each, in OpenAI's form.
    pub fn logprobs(mut self, tokens: Vec<Value>) -> Self {
        for choice in &mut self.choices {
            choice.logprobs = Some(Logprobs { content: tokens.clone() });
        }
        self
    }

    /// Writes the diagnostics, in a field `diagnostics` of the message.
    pub fn diagnostics(mut self) -> Self {
        for choice in &mut self.choices {
            choice.message.write_diagnostics = true;
        }
        self
    }
}

impl Serialize for CompletionMessage {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Message { reasoning_content, content, tool_calls, unparsed, diagnostics, .. } = &self.message;
        let reasoning = |name| if self.reasoning == name { reasoning_content.as_str() } else { "" };
        let form = MessageForm {
            role: "assistant",
            content: (!content.is_empty() || tool_calls.is_empty()).then_some(content),
            refusal: (),
            reasoning_content: reasoning(ReasoningName::ReasoningContent),
            reasoning: reasoning(ReasoningName::Reasoning),
            tool_calls: tool_calls.iter().map(|call| CallForm::of(call, &self.custom)).collect(),
            unparsed,
            diagnostics: if self.write_diagnostics { diagnostics } else { &[] },
        };
        form.serialize(serializer)
    }
}

/// The form in which a [`CompletionMessage`] is written.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "CompletionMessage"))]
struct MessageForm<'m> {
    /// `assistant`.
    role: &'static str,
    /// The answer; null if there are only calls.
    content: Option<&'m str>,
    /// Always null.
    refusal: (),
    /// The chain of thought, if it goes by this name; absent if there is none.
    #[serde(skip_serializing_if = "str::is_empty")]
    reasoning_content: &'m str,
    /// The chain of thought, if it goes by this name; absent if there is none.
    #[serde(skip_serializing_if = "str::is_empty")]
    reasoning: &'m str,
    /// The calls, each with an id; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<ToolCall>"))]
    tool_calls: Vec<CallForm<'m>>,
    /// Broken markup; absent if there is none.
    #[serde(skip_serializing_if = "str::is_empty")]
    unparsed: &'m str,
    /// The diagnostics, if they were asked for; absent if there are none. OpenAI has no such field.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    diagnostics: &'m [Diagnostic],
}

/// A call as it is written.
#[derive(Serialize)]
#[serde(untagged)]
enum CallForm<'m> {
    /// Of a function.
    Function(&'m ToolCall),
    /// Of a custom tool.
    Custom {
        /// The id.
        id: Option<&'m str>,
        /// `custom`.
        r#type: &'static str,
        /// The tool.
        custom: CustomForm<'m>,
    },
}

impl<'m> CallForm<'m> {
    fn of(call: &'m ToolCall, custom: &CalledTools) -> Self {
        let ToolCall { name, arguments, id, .. } = call;
        match custom.is_custom(name) {
            true => {
                let custom = CustomForm { name, input: input_of(arguments) };
                Self::Custom { id: id.as_deref(), r#type: "custom", custom }
            }
            false => Self::Function(call),
        }
    }
}

/// The custom tool of a call.
#[derive(Serialize)]
struct CustomForm<'m> {
    /// The tool's name.
    name: &'m str,
    /// The input, as it is.
    input: String,
}
