//! What becomes of a call that is cut off. Events cannot be taken back, so what is sent of a call waits as long as its end can
//! change it.

use crate::message::{Event, OwnedEvent};
use crate::readers::json::{StableText, close};

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
    /// The one with this name, by which commands and bindings take it: `keep`, `close` or `drop`.
    ///
    /// ```
    /// use unjinja_runtime::CutCalls;
    ///
    /// assert_eq!(CutCalls::named("drop"), Some(CutCalls::Drop));
    /// assert_eq!(CutCalls::named("cut"), None);
    /// ```
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "keep" => Some(Self::Keep),
            "close" => Some(Self::Close),
            "drop" => Some(Self::Drop),
            _ => None,
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
                let counts = |event: &OwnedEvent| complete || !is_of_call(event);
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

/// Whether the event is about a call: the open one, because nothing else waits.
fn is_of_call(event: &OwnedEvent) -> bool {
    match event {
        OwnedEvent::ToolCallStart { .. }
        | OwnedEvent::ToolCallId { .. }
        | OwnedEvent::ToolCallArguments { .. }
        | OwnedEvent::ToolCallEnd { .. } => true,
        OwnedEvent::Diagnostic(diagnostic) => diagnostic.call.is_some(),
        OwnedEvent::Reasoning(_) | OwnedEvent::Content(_) | OwnedEvent::Unparsed(_) => false,
    }
}

/// The end of the arguments waits.
struct Arguments(StableText);

impl Arguments {
    fn new() -> Self {
        Self(StableText::new(usize::MAX))
    }
}

impl Hold for Arguments {
    fn pass(&mut self, event: Event<'_>, sink: &mut dyn FnMut(Event<'_>)) {
        match event {
            Event::ToolCallArguments { index, json } => {
                let json = self.0.push(json);
                if !json.is_empty() {
                    sink(Event::ToolCallArguments { index, json });
                }
            }
            Event::ToolCallEnd { index, complete } => {
                let Self(held) = std::mem::replace(self, Self::new());
                let json = held.finish(|text| if complete { text.to_owned() } else { close(text) });
                if !json.is_empty() {
                    sink(Event::ToolCallArguments { index, json: &json });
                }
                sink(Event::ToolCallEnd { index, complete });
            }
            event => sink(event),
        }
    }
}
