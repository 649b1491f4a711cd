//! OpenAI's Responses API: reads requests, and writes responses, whole and as events.

mod built_in;
mod changes;
pub(crate) mod custom;
mod input;
mod request;
mod token_queue;
mod writer;

pub use custom::{CalledTools, ToolKind};
#[cfg(feature = "http")]
pub(crate) use input::OPEN_SUMMARY;
pub use request::ResponsesRequest;
pub use writer::{ResponseEvent, ResponseWriter};
