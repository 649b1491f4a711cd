//! The reading position, for tools that show what each byte of a text was taken for. No parser asks for it.

use super::io::Io;

/// The reading position. Offsets count from the start of the buffered text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Everything before it is read.
    pub pos: usize,
    /// How much of what comes next is white space that belongs to the last marker.
    pub layout: usize,
    /// Where the text before the last marker ended.
    pub text_end: usize,
    /// Where the last marker began.
    pub marker_at: usize,
    /// Where a marker begins that the end of the output cuts off.
    pub cut: Option<usize>,
    /// How far the text was looked at to tell that it does not fit.
    pub looked: usize,
    /// Where the text begins that is held back until it is certain that it is a call.
    pub held: Option<usize>,
    /// How many calls have begun.
    pub calls: usize,
    /// Whether the last of them is open.
    pub open: bool,
}

impl Io<'_> {
    /// The reading position.
    pub fn place(&self) -> Place {
        let (cursor, calls) = (&self.memory.cursor, &self.memory.calls);
        Place {
            pos: cursor.pos,
            layout: cursor.layout.clone().take(&self.input.bytes[cursor.pos..]),
            text_end: cursor.text_end,
            marker_at: cursor.marker_at,
            cut: cursor.cut,
            looked: cursor.search.from.max(cursor.pos),
            held: self.memory.speculation.start(),
            calls: calls.count,
            open: calls.open.is_some(),
        }
    }

    /// How many bytes of the buffered text the prompt wrote.
    pub fn from_prompt(&self) -> usize {
        usize::try_from(-self.memory.emitter.base).unwrap_or_default()
    }

    /// Whether a call in reasoning is tried, and nothing of it is part of the message.
    pub fn is_trial(&self) -> bool {
        self.memory.speculation.trusts_calls()
    }

    /// The buffered text.
    pub fn at_hand(&self) -> &[u8] {
        self.input.bytes
    }

    /// Whether no more text comes.
    pub fn is_last(&self) -> bool {
        self.input.last
    }
}
