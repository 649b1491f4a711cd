//! The chunks of a streamed completion, and the usage.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use unjinja_runtime::Diagnostic;

use crate::finish::{Finish, Usage};
use crate::sse;

/// One chunk of a streamed completion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChatCompletionChunk {
    /// The id of the response; the same in all chunks.
    pub id: String,
    /// `chat.completion.chunk`.
    pub object: String,
    /// When the response was made, in seconds since 1970.
    pub created: u64,
    /// The model's name.
    pub model: String,
    /// A choice; none in the chunk that holds the usage.
    pub choices: Vec<ChunkChoice>,
    /// The usage. If it was asked for, it is null in all chunks but the last.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "explicit_null")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<CompletionUsage>"))]
    pub usage: Option<Option<CompletionUsage>>,
}

impl ChatCompletionChunk {
    /// The chunk as a server-sent event. [`sse::DONE`] comes after the last one.
    pub fn to_sse(&self) -> String {
        sse::event(None, self)
    }
}

/// What a chunk adds to the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChunkChoice {
    /// Of which answer this is, from 0.
    pub index: u32,
    /// What is added to the message.
    pub delta: Delta,
    /// The probabilities of further tokens, if they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logprobs: Option<Logprobs>,
    /// Why the output ended; null until it does.
    pub finish_reason: Option<String>,
}

/// The probabilities of the tokens that the model wrote. These are all tokens, also those of reasoning, of calls and of markup.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Logprobs {
    /// An object for each token: `token`, `logprob`, `bytes` and `top_logprobs`.
    pub content: Vec<Value>,
}

/// What is added to a message. What is absent stays as it is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Delta {
    /// `assistant`, in the first chunk only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// More of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// More of the reasoning, if it goes by this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_content: Option<String>,
    /// More of the reasoning, if it goes by this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// More of the calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCallDelta>,
    /// More broken markup. OpenAI has no such field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unparsed: Option<String>,
    /// All diagnostics, in the last chunk with a choice. OpenAI has no such field.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<Diagnostic>,
}

/// What is added to a call.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolCallDelta {
    /// The call's position among those of the message.
    pub index: usize,
    /// The id, in the call's first delta only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `function`, in the call's first delta only.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The function.
    #[serde(default, skip_serializing_if = "FunctionDelta::is_empty")]
    pub function: FunctionDelta,
    /// A custom tool in the place of the function. The type is `custom` then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub custom: Option<CustomDelta>,
}

/// What is added to the custom tool of a call.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CustomDelta {
    /// The name, in the call's first delta only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The input: empty in the first delta, and whole in the second.
    #[serde(default)]
    pub input: String,
}

/// What is added to the function of a call.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FunctionDelta {
    /// The name, in the call's first delta only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// More of the arguments.
    #[serde(default)]
    pub arguments: String,
}

impl FunctionDelta {
    fn is_empty(&self) -> bool {
        self.name.is_none() && self.arguments.is_empty()
    }
}

/// The usage in OpenAI's form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CompletionUsage {
    /// Tokens of the prompt.
    pub prompt_tokens: u64,
    /// Tokens that the model wrote.
    pub completion_tokens: u64,
    /// Both.
    pub total_tokens: u64,
    /// How many tokens of the prompt came from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_tokens_details: Option<PromptTokens>,
    /// How many tokens that the model wrote were reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_tokens_details: Option<CompletionTokens>,
}

/// Details about the tokens of the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PromptTokens {
    /// Tokens that came from a cache.
    pub cached_tokens: u64,
}

/// Details about the tokens that the model wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CompletionTokens {
    /// Tokens of the reasoning.
    pub reasoning_tokens: u64,
}

impl From<Usage> for CompletionUsage {
    fn from(usage: Usage) -> Self {
        Self {
            prompt_tokens: usage.input,
            completion_tokens: usage.output,
            total_tokens: usage.input.saturating_add(usage.output),
            prompt_tokens_details: usage.cached.map(|cached_tokens| PromptTokens { cached_tokens }),
            completion_tokens_details: usage.reasoning.map(|reasoning_tokens| CompletionTokens { reasoning_tokens }),
        }
    }
}

/// The name by which clients know the reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReasoningName {
    /// `reasoning_content`.
    #[default]
    ReasoningContent,
    /// `reasoning`.
    Reasoning,
}

impl ReasoningName {
    /// The name of the field.
    pub fn field(self) -> &'static str {
        match self {
            Self::ReasoningContent => "reasoning_content",
            Self::Reasoning => "reasoning",
        }
    }
}

/// OpenAI's word for why an output ended. `called` says that it ended with complete calls.
pub(super) fn reason(finish: &Finish, called: bool) -> &'static str {
    match finish {
        Finish::Length => "length",
        Finish::ContentFilter => "content_filter",
        Finish::Stop | Finish::StopSequence(_) if called => "tool_calls",
        Finish::Stop | Finish::StopSequence(_) => "stop",
    }
}

/// Tells a field that is null from one that is absent.
mod explicit_null {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::option_option, reason = "null and absent mean different things here")]
    pub(super) fn serialize<T: Serialize, S: Serializer>(
        value: &Option<Option<T>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.as_ref().and_then(Option::as_ref).serialize(serializer)
    }

    #[expect(clippy::option_option, reason = "null and absent mean different things here")]
    pub(super) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Option<T>>, D::Error> {
        Option::<T>::deserialize(deserializer).map(Some)
    }
}
