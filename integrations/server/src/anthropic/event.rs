//! The events of a streamed message, and the whole message.

use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use unjinja_runtime::Diagnostic;
use unjinja_spec::json_text;

use crate::finish::{Finish, Usage};
use crate::sse;

/// An event of a streamed message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StreamEvent {
    /// The first event: the message without its content.
    MessageStart {
        /// The message.
        message: MessageResponse,
    },
    /// A block begins.
    ContentBlockStart {
        /// Its position.
        index: usize,
        /// The block, still empty.
        content_block: ContentBlock,
    },
    /// More of a block.
    ContentBlockDelta {
        /// Its position.
        index: usize,
        /// What is added.
        delta: BlockDelta,
    },
    /// A block is over.
    ContentBlockStop {
        /// Its position.
        index: usize,
    },
    /// Why the output ended, and what it cost.
    MessageDelta {
        /// Why the output ended.
        delta: EndDelta,
        /// What it cost.
        usage: MessageUsage,
    },
    /// The last event.
    MessageStop,
    /// Keeps the connection open.
    Ping,
}

impl StreamEvent {
    /// The name of the event: its type.
    pub fn name(&self) -> &'static str {
        match self {
            Self::MessageStart { .. } => "message_start",
            Self::ContentBlockStart { .. } => "content_block_start",
            Self::ContentBlockDelta { .. } => "content_block_delta",
            Self::ContentBlockStop { .. } => "content_block_stop",
            Self::MessageDelta { .. } => "message_delta",
            Self::MessageStop => "message_stop",
            Self::Ping => "ping",
        }
    }

    /// The event as a server-sent event.
    pub fn to_sse(&self) -> String {
        sse::event(Some(self.name()), self)
    }
}

/// A block of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    /// Reasoning.
    Thinking {
        /// Its text.
        thinking: String,
        /// Always empty: only Anthropic signs reasoning.
        signature: String,
    },
    /// The answer, or a part of it.
    Text {
        /// Its text.
        text: String,
    },
    /// A call.
    ToolUse {
        /// Its id.
        id: String,
        /// The tool's name.
        name: String,
        /// The arguments, with objects in place of integers beyond 64 bits, see [`unjinja_spec::big_integer`]. As JSON they are the
        /// integers.
        #[serde(serialize_with = "exact")]
        input: Map<String, Value>,
    },
}

/// Writes arguments with all digits of their integers.
fn exact<S: Serializer>(input: &Map<String, Value>, serializer: S) -> Result<S::Ok, S::Error> {
    RawValue::from_string(json_text(&input.clone().into())).map_err(S::Error::custom)?.serialize(serializer)
}

/// What is added to a block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum BlockDelta {
    /// More reasoning.
    ThinkingDelta {
        /// Its text.
        thinking: String,
    },
    /// The signature of the reasoning, before its block ends.
    SignatureDelta {
        /// Always empty.
        signature: String,
    },
    /// More of the answer.
    TextDelta {
        /// Its text.
        text: String,
    },
    /// More of the arguments.
    InputJsonDelta {
        /// A fragment of JSON text.
        partial_json: String,
    },
}

/// Why the output ended.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct EndDelta {
    /// `end_turn`, `tool_use`, `max_tokens`, `stop_sequence` or `refusal`.
    pub stop_reason: Option<String>,
    /// The stop sequence that was written, if known.
    pub stop_sequence: Option<String>,
    /// Broken markup. Anthropic has no such field.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unparsed: String,
    /// The diagnostics. Anthropic has no such field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<Diagnostic>,
}

impl EndDelta {
    /// Anthropic's words for why an output ended. `called` says that it ended with complete calls.
    pub(super) fn new(finish: &Finish, called: bool) -> Self {
        let (reason, sequence) = match finish {
            Finish::Length => ("max_tokens", ""),
            Finish::ContentFilter => ("refusal", ""),
            Finish::Stop | Finish::StopSequence(_) if called => ("tool_use", ""),
            Finish::Stop => ("end_turn", ""),
            Finish::StopSequence(text) => ("stop_sequence", text.as_str()),
        };
        let stop_sequence = Some(sequence.to_owned()).filter(|text| !text.is_empty());
        Self { stop_reason: Some(reason.to_owned()), stop_sequence, ..Self::default() }
    }
}

/// A message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageResponse {
    /// The id of the message.
    pub id: String,
    /// `message`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `assistant`.
    pub role: String,
    /// The model's name.
    pub model: String,
    /// The blocks, in the order in which the model wrote them.
    pub content: Vec<ContentBlock>,
    /// Why the output ended; nothing in the first event of a stream.
    #[serde(flatten)]
    pub end: EndDelta,
    /// What the message cost.
    pub usage: MessageUsage,
}

/// The usage in Anthropic's form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MessageUsage {
    /// Tokens of the prompt that did not come from a cache.
    pub input_tokens: u64,
    /// Tokens that the model wrote.
    pub output_tokens: u64,
    /// Tokens of the prompt that came from a cache, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read_input_tokens: Option<u64>,
}

impl From<Usage> for MessageUsage {
    fn from(usage: Usage) -> Self {
        Self {
            input_tokens: usage.input.saturating_sub(usage.cached.unwrap_or_default()),
            output_tokens: usage.output,
            cache_read_input_tokens: usage.cached,
        }
    }
}
