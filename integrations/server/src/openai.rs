//! OpenAI's chat completions: reads requests, and writes chunks and completions.

mod chunk;
mod completion;
mod message;
mod request;
mod writer;

pub use chunk::{
    ChatCompletionChunk, ChunkChoice, CompletionTokens, CompletionUsage, CustomDelta, Delta, FunctionDelta, Logprobs,
    PromptTokens, ReasoningName, ToolCallDelta,
};
pub use completion::{ChatCompletion, CompletionChoice, CompletionMessage};
pub use request::ChatRequest;
pub(crate) use request::{allowed_tools, function_name, is_strict, json_format, stop, tool_word, top_logprobs};
pub use writer::ChunkWriter;
