//! A message that borrows from the output: text that appears unchanged in the output is not copied.

use std::borrow::Cow;

use super::event::Event;
use super::parts::Amounts;
use super::{Diagnostic, Message, PartOrder, ToolCall};

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
    /// Broken markup; see [`Message::unparsed`].
    pub unparsed: Cow<'t, str>,
    /// What was unusual about the output: first what concerns each call, in their order, then the rest.
    pub diagnostics: Vec<Diagnostic>,
    /// In which order the parts came; see [`Message::parts`].
    pub order: PartOrder,
}

/// One call of a tool. See [`ToolCall`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BorrowedToolCall<'t> {
    /// The call's id, if the model wrote one.
    pub id: Option<Cow<'t, str>>,
    /// The function's name.
    pub name: Cow<'t, str>,
    /// The arguments as JSON text; see [`ToolCall::arguments`].
    pub arguments: Cow<'t, str>,
    /// Whether the model closed the call as its format demands.
    pub complete: bool,
}

impl<'t> BorrowedMessage<'t> {
    /// Copies what is borrowed.
    pub fn into_owned(self) -> Message {
        let call = |call: BorrowedToolCall<'_>| ToolCall {
            id: call.id.map(Cow::into_owned),
            name: call.name.into_owned(),
            arguments: call.arguments.into_owned(),
            complete: call.complete,
        };
        Message {
            reasoning_content: self.reasoning_content.into_owned(),
            content: self.content.into_owned(),
            tool_calls: self.tool_calls.into_iter().map(call).collect(),
            unparsed: self.unparsed.into_owned(),
            diagnostics: self.diagnostics,
            order: self.order,
        }
    }

    fn amounts(&self) -> Amounts {
        [self.reasoning_content.len(), self.content.len(), self.tool_calls.len(), self.unparsed.len()]
    }

    /// Builds the message from events. Their texts are borrowed if they lie in `output`.
    pub(crate) fn of<'m>(&'m mut self, output: &'t str) -> Pieces<'m, 't> {
        Pieces { message: self, locator: Locator { output, copy: None } }
    }
}

/// Builds a message from events.
pub(crate) struct Pieces<'m, 't> {
    message: &'m mut BorrowedMessage<'t>,
    locator: Locator<'t>,
}

/// Finds the texts of events in the output.
#[derive(Clone, Copy)]
struct Locator<'t> {
    output: &'t str,
    copy: Option<Copied>,
}

/// Memory that currently holds a copy of a part of the output.
#[derive(Clone, Copy)]
struct Copied {
    start: usize,
    len: usize,
    /// The offset in the memory, and the offset in the output that corresponds to it.
    at: usize,
    output: usize,
}

impl<'t> Pieces<'_, 't> {
    /// From now on the texts of events lie in `copy`. Its bytes from offset `before` on are those of the output from
    /// `at` on.
    pub(crate) fn stand_in(&mut self, copy: &[u8], at: usize, before: usize) {
        self.locator.copy = Some(Copied { start: copy.as_ptr() as usize, len: copy.len(), at: before, output: at });
    }

    /// Adds one event to the message that it is a piece of.
    pub(crate) fn apply(&mut self, event: Event<'_>) {
        let locator = self.locator;
        let message = &mut *self.message;
        let before = message.amounts();
        message.order.note(&event, before);
        match event {
            Event::Reasoning(text) => append(&mut message.reasoning_content, locator, text),
            Event::Content(text) => append(&mut message.content, locator, text),
            Event::Unparsed(text) => append(&mut message.unparsed, locator, text),
            Event::ToolCallStart { name, id, .. } => {
                let (id, name) = (id.map(|id| locator.borrowed(id)), locator.borrowed(name));
                message.tool_calls.push(BorrowedToolCall { id, name, ..BorrowedToolCall::default() });
            }
            Event::ToolCallId { index, id } => {
                if let Some(call) = message.tool_calls.get_mut(index) {
                    call.id = Some(locator.borrowed(id));
                }
            }
            Event::ToolCallArguments { index, json } => {
                if let Some(call) = message.tool_calls.get_mut(index) {
                    append(&mut call.arguments, locator, json);
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

/// Appends a piece. As long as the pieces are adjacent in the output, the text stays a slice of it.
fn append<'t>(text: &mut Cow<'t, str>, locator: Locator<'t>, piece: &str) {
    if piece.is_empty() {
        return;
    }
    let Cow::Borrowed(start) = text else {
        match text {
            Cow::Owned(text) if !text.is_empty() => text.push_str(piece),
            _ => *text = locator.borrowed(piece),
        }
        return;
    };
    if let (Some((from, _)), Some((at, _))) = (locator.within(start), locator.of(piece))
        && from + start.len() == at
    {
        *start = &locator.output[from..at + piece.len()];
        return;
    }
    let mut owned = String::with_capacity(start.len() + piece.len());
    owned.push_str(start);
    owned.push_str(piece);
    *text = Cow::Owned(owned);
}

impl<'t> Locator<'t> {
    /// The piece, borrowed from the output if it lies there.
    fn borrowed(self, piece: &str) -> Cow<'t, str> {
        self.of(piece).map_or_else(|| Cow::Owned(piece.to_owned()), |(_, piece)| Cow::Borrowed(piece))
    }

    /// The piece as a slice of the output, and its offset there. `None` if it does not lie in the output.
    fn of(self, piece: &str) -> Option<(usize, &'t str)> {
        self.within(piece).or_else(|| {
            let copy = self.copy?;
            let at = (piece.as_ptr() as usize).checked_sub(copy.start).filter(|at| at + piece.len() <= copy.len)?;
            let at = (copy.output + at).checked_sub(copy.at)?;
            // A text that was corrected differs from the output.
            let piece = self.output.get(at..at + piece.len()).filter(|text| *text == piece)?;
            Some((at, piece))
        })
    }

    /// The same for a slice of the output itself.
    fn within(self, piece: &str) -> Option<(usize, &'t str)> {
        let at = (piece.as_ptr() as usize).checked_sub(self.output.as_ptr() as usize)?;
        Some((at, self.output.get(at..at + piece.len())?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_side_by_side_stay_borrowed() {
        let output = String::from("one two three");
        let locator = Locator { output: &output, copy: None };
        let mut text = Cow::default();
        for (piece, borrowed) in [(&output[..3], true), (&output[3..7], true), (&output[8..], false), ("!", false)] {
            append(&mut text, locator, piece);
            assert_eq!(matches!(text, Cow::Borrowed(_)), borrowed, "{text}");
        }
        assert_eq!(text, "one twothree!");
        let mut other = Cow::default();
        append(&mut other, locator, "else");
        append(&mut other, locator, &output[..3]);
        assert_eq!(other, "elseone");
    }
}
