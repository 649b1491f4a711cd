//! OpenAI's Responses API: reads requests, and writes responses, whole and as events.

mod built_in;
mod changes;
mod custom;
mod input;
mod request;
mod token_queue;
mod writer;

pub use custom::{CalledTools, ToolKind};
pub use request::ResponsesRequest;
pub use writer::{ResponseEvent, ResponseWriter};
