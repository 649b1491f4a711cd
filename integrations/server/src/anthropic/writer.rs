//! Writes the events of a parser as a stream of blocks.

use unjinja_runtime::{Event, Message};

use super::event::{BlockDelta, ContentBlock, EndDelta, MessageResponse, StreamEvent};
use crate::calls::{CallPiece, CallWriter};
use crate::finish::{Finish, Usage};
use unjinja_spec::CallIds;

use crate::ids::unique_id;

/// Writes the events of one turn as blocks, in the order in which the model wrote them.
///
/// The input of a call is always a JSON object, because clients stop at anything else. Arguments that were cut short are
/// closed. Text that is not JSON goes into a member `unparsed` of the input.
///
/// ```
/// use unjinja_runtime::Event;
/// use unjinja_server::anthropic::EventWriter;
/// use unjinja_server::{CallIdShape, CallIds, Finish, Usage};
///
/// let mut writer = EventWriter::new("my-model", CallIds::new(CallIdShape::Free).prefix("toolu_"));
/// let mut events = writer.start(None);
/// for event in [Event::Reasoning("Easy."), Event::Content("Hello!")] {
///     events.extend(writer.event(&event));
/// }
/// events.extend(writer.finish(&Finish::Stop, Usage::new(5, 3)));
/// let names: Vec<&str> = events.iter().map(|event| event.name()).collect();
/// assert_eq!(names, [
///     "message_start",
///     "content_block_start", "content_block_delta", "content_block_delta", "content_block_stop", // thinking, signature
///     "content_block_start", "content_block_delta", "content_block_stop", // text
///     "message_delta", "message_stop",
/// ]);
/// ```
#[derive(Debug)]
pub struct EventWriter {
    /// It is made with the first event, if nobody gives one before: where there is no clock, as in WebAssembly, the caller has to.
    id: Option<String>,
    model: String,
    calls: CallWriter,
    write_diagnostics: bool,
    begun: bool,
    /// The position of the next block.
    next: usize,
    open: Option<Block>,
    /// Text that came while a call was open. It follows the call, because blocks do not overlap.
    waiting: Vec<(Block, String)>,
    usage: Usage,
    /// Collects what the last event tells: broken markup and diagnostics.
    told: Message,
}

/// A kind of block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    Thinking,
    Text,
    ToolUse,
}

impl EventWriter {
    /// A writer for one turn of this model. `call_ids` come from [`Prepared`](crate::Prepared).
    pub fn new(model: impl Into<String>, call_ids: CallIds) -> Self {
        Self {
            id: None,
            model: model.into(),
            calls: CallWriter::new(call_ids).with_objects(),
            write_diagnostics: false,
            begun: false,
            next: 0,
            open: None,
            waiting: Vec::new(),
            usage: Usage::default(),
            told: Message::default(),
        }
    }

    /// The id of the message, if it is not to be a new one.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Whether the diagnostics are written, in the event `message_delta`.
    pub fn diagnostics(mut self, on: bool) -> Self {
        self.write_diagnostics = on;
        self
    }

    /// The first event, with the usage until now, if it is known. Without this call, it precedes the first block.
    pub fn start(&mut self, usage: Option<Usage>) -> Vec<StreamEvent> {
        self.usage = usage.unwrap_or(self.usage);
        let mut events = Vec::new();
        self.begin(&mut events);
        events
    }

    /// The events for an event of the parser; often one.
    pub fn event(&mut self, event: &Event<'_>) -> Vec<StreamEvent> {
        let mut events = Vec::new();
        match event {
            Event::Reasoning(text) => self.text(Block::Thinking, text, &mut events),
            Event::Content(text) => self.text(Block::Text, text, &mut events),
            Event::Unparsed(_) | Event::Diagnostic(_) => self.told.apply(event),
            _ => {
                for piece in self.calls.event(event) {
                    self.call(piece, &mut events);
                }
            }
        }
        events
    }

    /// The last events: the block that is open ends, and the reason and the usage are reported.
    pub fn finish(&mut self, finish: &Finish, usage: Usage) -> Vec<StreamEvent> {
        let mut events = Vec::new();
        for piece in self.calls.finish() {
            self.call(piece, &mut events);
        }
        self.close(&mut events);
        self.begin(&mut events);
        let mut delta = EndDelta::new(finish, self.calls.handed_over());
        delta.unparsed = std::mem::take(&mut self.told.unparsed);
        if self.write_diagnostics {
            delta.diagnostics = std::mem::take(&mut self.told.diagnostics);
        }
        events.push(StreamEvent::MessageDelta { delta, usage: usage.into() });
        events.push(StreamEvent::MessageStop);
        events
    }

    fn begin(&mut self, events: &mut Vec<StreamEvent>) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        let message = MessageResponse {
            id: self.id.take().unwrap_or_else(|| unique_id("msg_")),
            kind: "message".to_owned(),
            role: "assistant".to_owned(),
            model: self.model.clone(),
            content: Vec::new(),
            end: EndDelta::default(),
            usage: self.usage.into(),
        };
        events.push(StreamEvent::MessageStart { message });
    }

    fn text(&mut self, block: Block, text: &str, events: &mut Vec<StreamEvent>) {
        if text.is_empty() {
            return;
        }
        if self.open == Some(Block::ToolUse) {
            self.waiting.push((block, text.to_owned()));
            return;
        }
        if self.open != Some(block) {
            let (thinking, signature, text) = Default::default();
            let empty = match block {
                Block::Thinking => ContentBlock::Thinking { thinking, signature },
                _ => ContentBlock::Text { text },
            };
            self.open(block, empty, events);
        }
        let text = text.to_owned();
        self.delta(
            match block {
                Block::Thinking => BlockDelta::ThinkingDelta { thinking: text },
                _ => BlockDelta::TextDelta { text },
            },
            events,
        );
    }

    fn call(&mut self, piece: CallPiece, events: &mut Vec<StreamEvent>) {
        match piece {
            CallPiece::Start { id, name, .. } => {
                let block = ContentBlock::ToolUse { id, name, input: serde_json::Map::new() };
                self.open(Block::ToolUse, block, events);
            }
            CallPiece::Arguments { json, .. } => self.delta(BlockDelta::InputJsonDelta { partial_json: json }, events),
            CallPiece::End { .. } => {
                self.close(events);
                for (block, text) in std::mem::take(&mut self.waiting) {
                    self.text(block, &text, events);
                }
            }
        }
    }

    fn open(&mut self, block: Block, content_block: ContentBlock, events: &mut Vec<StreamEvent>) {
        self.begin(events);
        self.close(events);
        self.open = Some(block);
        events.push(StreamEvent::ContentBlockStart { index: self.next, content_block });
        self.next += 1;
    }

    fn delta(&self, delta: BlockDelta, events: &mut Vec<StreamEvent>) {
        events.push(StreamEvent::ContentBlockDelta { index: self.next.saturating_sub(1), delta });
    }

    fn close(&mut self, events: &mut Vec<StreamEvent>) {
        let Some(block) = self.open.take() else { return };
        if block == Block::Thinking {
            // Clients wait for the signature before they take a thinking block as complete.
            self.delta(BlockDelta::SignatureDelta { signature: String::new() }, events);
        }
        events.push(StreamEvent::ContentBlockStop { index: self.next.saturating_sub(1) });
    }
}
