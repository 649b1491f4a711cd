//! Builds a whole message from the events of a parser: the same blocks that a stream has.

use serde_json::Map;
use unjinja_runtime::{Event, Message};
use unjinja_spec::exact_json;

use super::event::{BlockDelta, ContentBlock, MessageResponse, StreamEvent};
use super::writer::EventWriter;
use crate::arguments::UNPARSED;
use crate::finish::{Finish, Usage};

/// Builds a whole message.
///
/// ```
/// use unjinja_runtime::{Event, Message, ToolCall};
/// use unjinja_server::anthropic::{EventWriter, ResponseBuilder};
/// use unjinja_server::{CallIdShape, CallIds, Finish, Usage};
///
/// let ids = || CallIds::new(CallIdShape::Free).prefix("toolu_");
/// // From events, the blocks have the order in which the model wrote them.
/// let mut builder = ResponseBuilder::new(EventWriter::new("my-model", ids()));
/// builder.event(&Event::ToolCallStart { index: 0, name: "now", id: None });
/// builder.event(&Event::ToolCallEnd { index: 0, complete: true });
/// builder.event(&Event::Content("Done."));
/// let response = builder.finish(&Finish::Stop, Usage::new(9, 5));
/// assert_eq!(response.end.stop_reason.as_deref(), Some("tool_use"));
/// assert_eq!(response.content.len(), 2);
///
/// // A message does not know that order: reasoning, answer, calls.
/// let message = Message::new("", vec![ToolCall::new("now", "{}")]);
/// let mut builder = ResponseBuilder::new(EventWriter::new("my-model", ids()));
/// builder.message(&message);
/// assert_eq!(builder.finish(&Finish::Stop, Usage::new(9, 5)).content.len(), 1);
/// ```
#[derive(Debug)]
pub struct ResponseBuilder {
    writer: EventWriter,
    response: Option<MessageResponse>,
    /// The input of the call that is open, as JSON text.
    input: String,
}

impl ResponseBuilder {
    /// A builder that takes ids and options from a writer.
    pub fn new(writer: EventWriter) -> Self {
        Self { writer, response: None, input: String::new() }
    }

    /// Adds an event.
    pub fn event(&mut self, event: &Event<'_>) {
        for event in self.writer.event(event) {
            self.apply(event);
        }
    }

    /// Adds all events of a message: reasoning, answer, calls.
    pub fn message(&mut self, message: &Message) {
        self.event(&Event::Reasoning(&message.reasoning_content));
        self.event(&Event::Content(&message.content));
        for (index, call) in message.tool_calls.iter().enumerate() {
            self.event(&Event::ToolCallStart { index, name: &call.name, id: call.id.as_deref() });
            if let Some(id) = &call.id {
                self.event(&Event::ToolCallId { index, id });
            }
            self.event(&Event::ToolCallArguments { index, json: &call.arguments });
            self.event(&Event::ToolCallEnd { index, complete: call.complete });
        }
        self.event(&Event::Unparsed(&message.unparsed));
        for diagnostic in &message.diagnostics {
            self.event(&Event::Diagnostic(diagnostic.clone()));
        }
    }

    /// The whole message.
    pub fn finish(mut self, finish: &Finish, usage: Usage) -> MessageResponse {
        let mut start = self.writer.start(None);
        start.extend(self.writer.finish(finish, usage));
        for event in start {
            self.apply(event);
        }
        self.response.unwrap_or_else(|| MessageResponse {
            id: String::new(),
            kind: "message".to_owned(),
            role: "assistant".to_owned(),
            model: String::new(),
            content: Vec::new(),
            end: super::event::EndDelta::default(),
            usage: usage.into(),
        })
    }

    fn apply(&mut self, event: StreamEvent) {
        let Some(response) = &mut self.response else {
            if let StreamEvent::MessageStart { message } = event {
                self.response = Some(message);
            }
            return;
        };
        match event {
            StreamEvent::ContentBlockStart { content_block, .. } => {
                self.input.clear();
                response.content.push(content_block);
            }
            StreamEvent::ContentBlockDelta { delta, .. } => match (response.content.last_mut(), delta) {
                (Some(ContentBlock::Thinking { thinking, .. }), BlockDelta::ThinkingDelta { thinking: more }) => {
                    thinking.push_str(&more);
                }
                (Some(ContentBlock::Text { text }), BlockDelta::TextDelta { text: more }) => text.push_str(&more),
                (_, BlockDelta::InputJsonDelta { partial_json }) => self.input.push_str(&partial_json),
                _ => {}
            },
            StreamEvent::ContentBlockStop { .. } => {
                if let Some(ContentBlock::ToolUse { input, .. }) = response.content.last_mut() {
                    // The writer makes an object of all arguments. What it does not check is the size of numbers.
                    let text = if self.input.is_empty() { "{}" } else { &self.input };
                    let read = exact_json(text);
                    let unread = || Map::from_iter([(UNPARSED.to_owned(), text.into())]);
                    *input = read.and_then(|read| read.as_object().cloned()).unwrap_or_else(unread);
                }
            }
            StreamEvent::MessageDelta { delta, usage } => {
                response.end = delta;
                response.usage = usage;
            }
            StreamEvent::MessageStart { .. } | StreamEvent::MessageStop | StreamEvent::Ping => {}
        }
    }
}
