//! A message whose texts are slices of the output that it was parsed from, wherever the output holds them as they are.

use std::borrow::Cow;

use super::{Diagnostic, Message, ToolCall};
use crate::event::Event;

/// An assistant message that borrows from the output that it was parsed from. See [`Message`].
///
/// ```
/// use std::borrow::Cow;
/// use unjinja_runtime::BorrowedMessage;
///
/// let message = BorrowedMessage { content: Cow::Borrowed("Hello!"), ..BorrowedMessage::default() };
/// assert_eq!(message.into_owned().content, "Hello!");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BorrowedMessage<'t> {
    /// The chain of thought; empty if there is none.
    pub reasoning_content: Cow<'t, str>,
    /// The answer; empty if there is none.
    pub content: Cow<'t, str>,
    /// The tools that the model called, in the order of the output.
    pub tool_calls: Vec<BorrowedToolCall<'t>>,
    /// What was odd about the output: of each call in turn, then what is about none.
    pub diagnostics: Vec<Diagnostic>,
}

/// One call of a tool. See [`ToolCall`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BorrowedToolCall<'t> {
    /// The call's id, where the model writes one.
    pub id: Option<String>,
    /// The function's name.
    pub name: Cow<'t, str>,
    /// The arguments as JSON text, just as they came.
    pub arguments: Cow<'t, str>,
    /// Whether the call was closed as its format wants.
    pub complete: bool,
}

impl<'t> BorrowedMessage<'t> {
    /// The message with texts of its own.
    pub fn into_owned(self) -> Message {
        let call = |call: BorrowedToolCall<'_>| ToolCall {
            id: call.id,
            name: call.name.into_owned(),
            arguments: call.arguments.into_owned(),
            complete: call.complete,
        };
        Message {
            reasoning_content: self.reasoning_content.into_owned(),
            content: self.content.into_owned(),
            tool_calls: self.tool_calls.into_iter().map(call).collect(),
            diagnostics: self.diagnostics,
        }
    }

    /// The same message, put together from events whose texts stand in `output`, if anywhere.
    pub(crate) fn of<'m>(&'m mut self, output: &'t str) -> Pieces<'m, 't> {
        Pieces { message: self, output }
    }
}

/// Puts a message together.
pub(crate) struct Pieces<'m, 't> {
    message: &'m mut BorrowedMessage<'t>,
    output: &'t str,
}

impl<'t> Pieces<'_, 't> {
    /// Adds one event to the message that it is a piece of.
    pub(crate) fn apply(&mut self, event: Event<'_>) {
        let output = self.output;
        let message = &mut *self.message;
        match event {
            Event::Reasoning(text) => append(&mut message.reasoning_content, output, text),
            Event::Content(text) => append(&mut message.content, output, text),
            Event::ToolCallStart { name, id, .. } => {
                let mut call = BorrowedToolCall { id: id.map(str::to_owned), ..BorrowedToolCall::default() };
                append(&mut call.name, output, name);
                message.tool_calls.push(call);
            }
            Event::ToolCallId { index, id } => {
                if let Some(call) = message.tool_calls.get_mut(index) {
                    call.id = Some(id.to_owned());
                }
            }
            Event::ToolCallArguments { index, json } => {
                if let Some(call) = message.tool_calls.get_mut(index) {
                    append(&mut call.arguments, output, json);
                }
            }
            Event::ToolCallEnd { index, complete } => {
                if let Some(call) = message.tool_calls.get_mut(index) {
                    call.complete = complete;
                }
            }
            Event::Diagnostic(diagnostic) => diagnostic.insert_into(&mut message.diagnostics),
        }
    }
}

/// Appends a piece: as a slice of the output as long as the pieces stand there side by side.
fn append<'t>(text: &mut Cow<'t, str>, output: &'t str, piece: &str) {
    if piece.is_empty() {
        return;
    }
    match text {
        Cow::Owned(text) if !text.is_empty() => text.push_str(piece),
        Cow::Borrowed(text) if !text.is_empty() => match (place(output, text), place(output, piece)) {
            (Some(start), Some(next)) if start + text.len() == next => {
                *text = &output[start..next + piece.len()];
                return;
            }
            _ => {}
        },
        _ => {
            *text = match place(output, piece) {
                Some(at) => Cow::Borrowed(&output[at..at + piece.len()]),
                None => Cow::Owned(piece.to_owned()),
            };
            return;
        }
    }
    if let Cow::Borrowed(start) = text {
        let mut owned = String::with_capacity(start.len() + piece.len());
        owned.push_str(start);
        owned.push_str(piece);
        *text = Cow::Owned(owned);
    }
}

/// Where `piece` stands in `output`, if it is a slice of it.
fn place(output: &str, piece: &str) -> Option<usize> {
    let at = (piece.as_ptr() as usize).checked_sub(output.as_ptr() as usize)?;
    output.get(at..at + piece.len()).map(|_| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_side_by_side_stay_borrowed() {
        let output = String::from("one two three");
        let mut text = Cow::default();
        for (piece, borrowed) in [(&output[..3], true), (&output[3..7], true), (&output[8..], false), ("!", false)] {
            append(&mut text, &output, piece);
            assert_eq!(matches!(text, Cow::Borrowed(_)), borrowed, "{text}");
        }
        assert_eq!(text, "one twothree!");
        let mut other = Cow::default();
        append(&mut other, &output, "else");
        append(&mut other, &output, &output[..3]);
        assert_eq!(other, "elseone");
    }
}
