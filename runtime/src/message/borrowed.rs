//! A message whose texts are slices of the output that it was parsed from, wherever the output holds them as they are.

use std::borrow::Cow;

use super::event::Event;
use super::{Diagnostic, Message, ToolCall};

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
    pub id: Option<Cow<'t, str>>,
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
            id: call.id.map(Cow::into_owned),
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
        Pieces { message: self, place: Place { output, copy: None } }
    }
}

/// Puts a message together.
pub(crate) struct Pieces<'m, 't> {
    message: &'m mut BorrowedMessage<'t>,
    place: Place<'t>,
}

/// Where the texts of events stand.
#[derive(Clone, Copy)]
struct Place<'t> {
    output: &'t str,
    copy: Option<Copied>,
}

/// Memory that holds a part of the output at present.
#[derive(Clone, Copy)]
struct Copied {
    start: usize,
    len: usize,
    /// The offset in the memory at which the offset in the output stands.
    at: usize,
    output: usize,
}

impl<'t> Pieces<'_, 't> {
    /// From now on the texts of events stand in `copy`, which holds at offset `before` what the output holds at `at`.
    pub(crate) fn stand_in(&mut self, copy: &[u8], at: usize, before: usize) {
        self.place.copy = Some(Copied { start: copy.as_ptr() as usize, len: copy.len(), at: before, output: at });
    }

    /// Adds one event to the message that it is a piece of.
    pub(crate) fn apply(&mut self, event: Event<'_>) {
        let place = self.place;
        let message = &mut *self.message;
        match event {
            Event::Reasoning(text) => append(&mut message.reasoning_content, place, text),
            Event::Content(text) => append(&mut message.content, place, text),
            Event::ToolCallStart { name, id, .. } => {
                let (id, name) = (id.map(|id| place.borrowed(id)), place.borrowed(name));
                message.tool_calls.push(BorrowedToolCall { id, name, ..BorrowedToolCall::default() });
            }
            Event::ToolCallId { index, id } => {
                if let Some(call) = message.tool_calls.get_mut(index) {
                    call.id = Some(place.borrowed(id));
                }
            }
            Event::ToolCallArguments { index, json } => {
                if let Some(call) = message.tool_calls.get_mut(index) {
                    append(&mut call.arguments, place, json);
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
fn append<'t>(text: &mut Cow<'t, str>, place: Place<'t>, piece: &str) {
    if piece.is_empty() {
        return;
    }
    let Cow::Borrowed(start) = text else {
        match text {
            Cow::Owned(text) if !text.is_empty() => text.push_str(piece),
            _ => *text = place.borrowed(piece),
        }
        return;
    };
    if let (Some((from, _)), Some((at, _))) = (place.within(start), place.of(piece))
        && from + start.len() == at
    {
        *start = &place.output[from..at + piece.len()];
        return;
    }
    let mut owned = String::with_capacity(start.len() + piece.len());
    owned.push_str(start);
    owned.push_str(piece);
    *text = Cow::Owned(owned);
}

impl<'t> Place<'t> {
    /// The piece, copied only where the output does not hold it.
    fn borrowed(self, piece: &str) -> Cow<'t, str> {
        self.of(piece).map_or_else(|| Cow::Owned(piece.to_owned()), |(_, piece)| Cow::Borrowed(piece))
    }

    /// The piece as a slice of the output, and where it stands there, if it does.
    fn of(self, piece: &str) -> Option<(usize, &'t str)> {
        self.within(piece).or_else(|| {
            let copy = self.copy?;
            let at = (piece.as_ptr() as usize).checked_sub(copy.start).filter(|at| at + piece.len() <= copy.len)?;
            let at = (copy.output + at).checked_sub(copy.at)?;
            // What is mended on the way is not what the output holds.
            let piece = self.output.get(at..at + piece.len()).filter(|text| *text == piece)?;
            Some((at, piece))
        })
    }

    /// The same for what is a slice of the output itself.
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
        let place = Place { output: &output, copy: None };
        let mut text = Cow::default();
        for (piece, borrowed) in [(&output[..3], true), (&output[3..7], true), (&output[8..], false), ("!", false)] {
            append(&mut text, place, piece);
            assert_eq!(matches!(text, Cow::Borrowed(_)), borrowed, "{text}");
        }
        assert_eq!(text, "one twothree!");
        let mut other = Cow::default();
        append(&mut other, place, "else");
        append(&mut other, place, &output[..3]);
        assert_eq!(other, "elseone");
    }
}
