//! Anthropic's messages: reads requests, and writes events and messages.

mod block;
mod event;
mod request;
mod response;
mod tools;
mod writer;

pub use event::{BlockDelta, ContentBlock, EndDelta, MessageResponse, MessageUsage, StreamEvent};
pub use request::MessagesRequest;
pub use response::ResponseBuilder;
pub use writer::EventWriter;
