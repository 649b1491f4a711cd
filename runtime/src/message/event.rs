//! Events: what a streaming parser reports. Their text is borrowed from the parser or its input.

use super::{Diagnostic, Message, ToolCall};

/// A channel of plain text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// The answer.
    Content,
    /// The chain of thought.
    Reasoning,
    /// Broken markup, which is neither.
    Unparsed,
}

/// One piece of a message. Pieces come in the order of the text and are never taken back.
///
/// ```
/// use unjinja_runtime::Event;
///
/// fn print(event: Event<'_>) {
///     match event {
///         Event::Reasoning(text) | Event::Content(text) => print!("{text}"),
///         Event::ToolCallStart { name, .. } => print!("\n{name} "),
///         Event::ToolCallArguments { json, .. } => print!("{json}"),
///         Event::ToolCallEnd { complete: false, .. } => println!(" (cut short)"),
///         Event::Diagnostic(diagnostic) => eprintln!("{diagnostic}"),
///         // Further kinds of events may come with a new version.
///         _ => {}
///     }
/// }
/// print(Event::Content("Hello!"));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(tag = "event", rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Event<'a> {
    /// More reasoning.
    #[cfg_attr(feature = "schema", schemars(with = "super::schema::TextForm"))]
    Reasoning(&'a str),
    /// More of the answer.
    #[cfg_attr(feature = "schema", schemars(with = "super::schema::TextForm"))]
    Content(&'a str),
    /// More broken markup, if `Unparsed::Separate` was asked for. Otherwise it is content.
    #[cfg_attr(feature = "schema", schemars(with = "super::schema::TextForm"))]
    Unparsed(&'a str),
    /// A tool call. It comes with the first byte of its arguments, or with the closer of the call.
    ToolCallStart {
        /// Position among the calls of this message, from 0.
        index: usize,
        /// The function's name.
        name: &'a str,
        /// The call's id, if the model wrote it before the arguments.
        id: Option<&'a str>,
    },
    /// The id of a call that was announced without one.
    ToolCallId {
        /// Position among the calls of this message, from 0.
        index: usize,
        /// The call's id.
        id: &'a str,
    },
    /// More of a call's arguments.
    ToolCallArguments {
        /// Position among the calls of this message, from 0.
        index: usize,
        /// A fragment of JSON text; the fragments of a call add up to its arguments.
        json: &'a str,
    },
    /// A call is over.
    ToolCallEnd {
        /// Position among the calls of this message, from 0.
        index: usize,
        /// Whether the model closed the call as its format demands.
        complete: bool,
    },
    /// Something unusual about the output. Its text is in the other events.
    #[cfg_attr(feature = "schema", schemars(with = "super::schema::DiagnosticForm"))]
    Diagnostic(Diagnostic),
}

impl Message {
    /// Adds one event to the message that it is a piece of.
    ///
    /// ```
    /// use unjinja_runtime::{Event, Message};
    /// let mut message = Message::default();
    /// message.apply(&Event::Content("Hello, "));
    /// message.apply(&Event::Content("world!"));
    /// assert_eq!(message.content, "Hello, world!");
    /// ```
    pub fn apply(&mut self, event: &Event<'_>) {
        let before = self.amounts();
        self.order.note(event, before);
        match event {
            Event::Reasoning(text) => self.reasoning_content.push_str(text),
            Event::Content(text) => self.content.push_str(text),
            Event::Unparsed(text) => self.unparsed.push_str(text),
            Event::ToolCallStart { name, id, .. } => self.tool_calls.push(ToolCall {
                id: id.map(str::to_owned),
                name: (*name).to_owned(),
                arguments: String::new(),
                complete: false,
            }),
            Event::ToolCallId { index, id } => {
                if let Some(call) = self.tool_calls.get_mut(*index) {
                    call.id = Some((*id).to_owned());
                }
            }
            Event::ToolCallArguments { index, json } => {
                if let Some(call) = self.tool_calls.get_mut(*index) {
                    call.arguments.push_str(json);
                }
            }
            Event::ToolCallEnd { index, complete } => {
                if let Some(call) = self.tool_calls.get_mut(*index) {
                    call.complete = *complete;
                }
            }
            Event::Diagnostic(diagnostic) => diagnostic.clone().insert_into(&mut self.diagnostics),
        }
    }
}
