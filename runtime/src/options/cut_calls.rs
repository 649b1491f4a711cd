//! What becomes of a call that is cut off. Events cannot be taken back, so what is sent of a call waits as long as its end can
//! change it.

use crate::message::{Event, OwnedEvent};
use crate::readers::json::{StablePrefix, close};

/// What becomes of a call that is cut off: the output ends, or continues with something else, before the call is closed as its
/// format demands. A diagnostic of the kind [`IncompleteCall`](crate::DiagnosticKind::IncompleteCall) tells of it in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CutCalls {
    /// It is a call, with its arguments as far as they came. They may be no JSON. It is marked as not
    /// [complete](crate::ToolCall::complete).
    #[default]
    Keep,
    /// The same, but its arguments are completed as [`close_json`](crate::close_json) does. In a stream, arguments of any call
    /// come as far as nothing that follows can change how they are completed.
    Close,
    /// It is no call of the message but broken markup, and its text goes where [`Unparsed`](crate::Unparsed) says. In a stream,
    /// the events of any call come when it is closed.
    Drop,
}

/// Holds back events of a call.
pub(crate) trait Hold: Send + Sync {
    /// Sends an event, what waits before it, or neither.
    fn pass(&mut self, event: Event<'_>, sink: &mut dyn FnMut(Event<'_>));
}

impl CutCalls {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Keep, Self::Close, Self::Drop];

    /// The name that commands and bindings use, such as `close`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Close => "close",
            Self::Drop => "drop",
        }
    }

    /// Makes what holds events back; `None` if nothing is held back. It is linked only into applications that set the option.
    pub(crate) fn hold(self) -> Option<fn() -> Box<dyn Hold>> {
        match self {
            Self::Keep => None,
            Self::Close => Some(|| Box::new(Arguments::new())),
            Self::Drop => Some(|| Box::new(Events::default())),
        }
    }
}

/// All events of the open call wait.
#[derive(Default)]
struct Events {
    is_open: bool,
    waiting: Vec<OwnedEvent>,
}

impl Hold for Events {
    fn pass(&mut self, event: Event<'_>, sink: &mut dyn FnMut(Event<'_>)) {
        self.is_open |= matches!(event, Event::ToolCallStart { .. });
        match (event, self.waiting.last_mut()) {
            (event, _) if !self.is_open => sink(event),
            (Event::ToolCallEnd { index, complete }, _) => {
                self.is_open = false;
                let counts = |event: &OwnedEvent| complete || !is_of_call(event, index);
                self.waiting.drain(..).filter(counts).for_each(|event| sink(event.as_event()));
                if complete {
                    sink(Event::ToolCallEnd { index, complete });
                }
            }
            (Event::ToolCallArguments { json, .. }, Some(OwnedEvent::ToolCallArguments { json: before, .. })) => {
                before.push_str(json);
            }
            (event, _) => self.waiting.push(event.into_owned()),
        }
    }
}

/// Whether the event is about this call, the open one.
fn is_of_call(event: &OwnedEvent, call: usize) -> bool {
    match event {
        OwnedEvent::ToolCallStart { .. }
        | OwnedEvent::ToolCallId { .. }
        | OwnedEvent::ToolCallArguments { .. }
        | OwnedEvent::ToolCallEnd { .. } => true,
        OwnedEvent::Diagnostic(diagnostic) => diagnostic.call == Some(call),
        OwnedEvent::Reasoning(_) | OwnedEvent::Content(_) | OwnedEvent::Unparsed(_) => false,
    }
}

/// The end of the arguments waits.
struct Arguments {
    text: String,
    sent: usize,
    prefix: StablePrefix,
}

impl Arguments {
    fn new() -> Self {
        Self { text: String::new(), sent: 0, prefix: StablePrefix::new(usize::MAX) }
    }
}

impl Hold for Arguments {
    fn pass(&mut self, event: Event<'_>, sink: &mut dyn FnMut(Event<'_>)) {
        match event {
            Event::ToolCallArguments { index, json } => {
                self.text.push_str(json);
                self.prefix.push(json);
                let ready = self.text.get(self.sent..self.prefix.kept()).unwrap_or_default();
                if !ready.is_empty() {
                    sink(Event::ToolCallArguments { index, json: ready });
                    self.sent = self.prefix.kept();
                }
            }
            Event::ToolCallEnd { index, complete } => {
                let Self { text, sent, .. } = std::mem::replace(self, Self::new());
                let whole = if complete { text } else { close(&text) };
                let rest = whole.get(sent..).unwrap_or_default();
                if !rest.is_empty() {
                    sink(Event::ToolCallArguments { index, json: rest });
                }
                sink(Event::ToolCallEnd { index, complete });
            }
            event => sink(event),
        }
    }
}
