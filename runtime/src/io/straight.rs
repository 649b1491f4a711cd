//! The straight way: where a parser is in the middle of plain text, or of a string of a call's arguments, a piece that
//! holds nothing of interest is passed on as it is, without a look at the machine. It must never pass what the machine
//! would treat in another way.

use super::{Io, Reading, Target};
use crate::event::{Channel, Event};
use crate::markers::{ByteSet, Markers};
use crate::stream::Chunk;

/// The longest piece that is looked at byte by byte; longer ones are searched.
const LONGEST: usize = 32;

/// What may be passed on, and as what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Straight {
    to: To,
    /// The bytes that the machine has to see.
    special: ByteSet,
    /// The bytes that it has to see at the end of a piece.
    at_end: ByteSet,
}

#[derive(Clone, Copy, Debug)]
enum To {
    Nothing,
    Text(Channel),
    /// The arguments of the call with this index.
    Arguments(usize),
}

impl Straight {
    /// Nothing may.
    pub(crate) const NOTHING: Self = Self { to: To::Nothing, special: ByteSet::EMPTY, at_end: ByteSet::EMPTY };

    /// The event that a piece is, if it is nothing else.
    #[inline]
    pub(crate) fn pass<'t>(&self, chunk: Chunk<'t>) -> Option<Event<'t>> {
        if matches!(self.to, To::Nothing) {
            return None;
        }
        let bytes = chunk.as_bytes();
        let last = *bytes.last()?;
        if bytes.len() > LONGEST || self.at_end.has(last) || bytes.iter().any(|&byte| self.special.has(byte)) {
            return None;
        }
        let text = match chunk {
            Chunk::Text(text) => text,
            Chunk::Bytes(bytes) => std::str::from_utf8(bytes).ok()?,
        };
        Some(match self.to {
            To::Text(Channel::Reasoning) => Event::Reasoning(text),
            To::Arguments(index) => Event::ToolCallArguments { index, json: text },
            To::Text(Channel::Content) | To::Nothing => Event::Content(text),
        })
    }
}

impl Io<'_> {
    /// All text at hand was passed on, up to its end, and no marker is near: the next piece may go straight.
    pub(super) fn go_straight(&mut self, target: Target, markers: &Markers<'_>) {
        let memory = &mut *self.memory;
        if memory.hold.is_some() || self.last {
            return;
        }
        let (to, special) = match target {
            Target::Channel(Channel::Reasoning) if self.options.extract_reasoning => {
                (To::Text(Channel::Reasoning), markers.firsts)
            }
            Target::Channel(_) if memory.fence.is_some() || !memory.opener.is_empty() => return,
            Target::Channel(_) => (To::Text(Channel::Content), markers.firsts),
            Target::Value if memory.reading == Reading::Value && memory.readers.value.writes_text() => {
                let Some(call) = &memory.call else { return };
                (To::Arguments(call.index), markers.firsts.and(ByteSet::JSON_TEXT))
            }
            Target::Value => return,
        };
        memory.straight = Straight { to, special, at_end: markers.layout };
    }

    /// The same for arguments: the next piece is part of a string if it has none of the bytes that end one.
    pub(super) fn go_straight_in_string(&mut self, special: ByteSet) {
        if !self.last
            && self.memory.hold.is_none()
            && let Some(call) = &self.memory.call
        {
            self.memory.straight = Straight { to: To::Arguments(call.index), special, at_end: ByteSet::EMPTY };
        }
    }
}
