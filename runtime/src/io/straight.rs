//! The straight way: where a parser is in the middle of plain text or of a call's arguments, a piece in which no marker
//! can begin is passed on, or given to the reader of the value, without a look at the machine. It must never do what
//! the machine would do in another way.

use super::{Io, Memory, Reading, Target, Written};
use crate::event::{Channel, Event};
use crate::json::{Progress, escape_into};
use crate::markers::{ByteSet, Markers};
use crate::stream::Chunk;

/// The longest piece that is looked at byte by byte; longer ones are searched.
const LONGEST: usize = 32;

/// What may be done with the next piece.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Straight {
    /// As what it may be passed on as it is.
    to: To,
    /// The bytes that forbid that.
    special: ByteSet,
    /// Where none of these follows a marker does not go on, and they do not.
    seconds: ByteSet,
    /// The bytes that wait at the end of a piece, for a marker may follow,
    layout: ByteSet,
    /// and at most so many of them.
    layout_length: usize,
    /// Which reader may take it.
    reader: Reading,
    /// The bytes with which a marker may begin: those the reader must not take.
    markers: ByteSet,
}

#[derive(Clone, Copy, Debug)]
enum To {
    Nothing,
    Text(Channel),
    /// The arguments of the call with this index.
    Arguments(usize),
}

impl Straight {
    /// Nothing may be done.
    pub(crate) const NOTHING: Self = Self {
        to: To::Nothing,
        special: ByteSet::EMPTY,
        seconds: ByteSet::ALL,
        layout: ByteSet::EMPTY,
        layout_length: 0,
        reader: Reading::Nothing,
        markers: ByteSet::EMPTY,
    };

    /// The text that a piece is, if it is nothing else, and how much of it may be passed on: white space at its end
    /// waits. `waiting` says that some waits from before.
    #[inline]
    pub(crate) fn pass<'t>(&self, chunk: Chunk<'t>, waiting: bool) -> Option<(&'t str, usize)> {
        // Bytes of a marker matter where it may go on; those that end a JSON string always do.
        let seconds = match self.to {
            To::Text(_) => &self.seconds,
            // White space that waits is to be escaped.
            To::Arguments(_) if !waiting => &ByteSet::ALL,
            To::Arguments(_) | To::Nothing => return None,
        };
        let end = self.end(chunk.as_bytes(), waiting, &self.special, seconds)?;
        Some((chunk.to_text()?, end))
    }

    /// How much of a piece may be passed on, if there are none of these bytes in it, or none that one of `seconds`
    /// follows.
    #[inline]
    fn end(&self, bytes: &[u8], waiting: bool, special: &ByteSet, seconds: &ByteSet) -> Option<usize> {
        let (&first, &last) = (bytes.first()?, bytes.last()?);
        if bytes.len() > LONGEST || (waiting && self.layout.has(first)) {
            return None;
        }
        for (at, &byte) in bytes.iter().enumerate() {
            if special.has(byte) && bytes.get(at + 1).is_none_or(|&next| seconds.has(next)) {
                return None;
            }
        }
        if self.layout.has(last) { self.without_layout(bytes) } else { Some(bytes.len()) }
    }

    #[inline]
    fn without_layout(&self, bytes: &[u8]) -> Option<usize> {
        let mut end = bytes.len();
        while end > 0 && bytes.len() - end < self.layout_length && self.layout.has(bytes[end - 1]) {
            end -= 1;
        }
        (end > 0).then_some(end)
    }

    /// The event that a text is.
    #[inline]
    pub(crate) fn event<'t>(&self, text: &'t str) -> Event<'t> {
        match self.to {
            To::Text(Channel::Reasoning) => Event::Reasoning(text),
            To::Arguments(index) => Event::ToolCallArguments { index, json: text },
            To::Text(Channel::Content) | To::Nothing => Event::Content(text),
        }
    }
}

impl Memory {
    /// A piece was passed on but for its end, of which so many bytes wait.
    #[inline]
    pub(crate) fn passed(&mut self, waiting: usize) {
        self.look.restart(waiting);
    }

    /// Gives a piece to the reader of the value that is open. Returns whether that was all; if not, the machine goes on
    /// with what the reader left of it. `carry` is what waits from before and from now on.
    pub(crate) fn read_straight(
        &mut self,
        chunk: Chunk<'_>,
        carry: &mut Vec<u8>,
        sink: &mut dyn FnMut(Event<'_>),
    ) -> bool {
        let straight = &self.straight;
        if straight.reader == Reading::Nothing {
            return false;
        }
        let (Some(text), Some(call)) = (chunk.to_text(), &self.call) else { return false };
        let bytes = text.as_bytes();
        let index = call.index;
        let mut all = true;
        match straight.reader {
            Reading::Json | Reading::Object => {
                let scanner = match straight.reader {
                    Reading::Json => &mut self.readers.json,
                    _ => self.readers.object.scanner(),
                };
                let (taken, more) = match scanner.feed_until(bytes, 0, &straight.markers) {
                    Progress::More => (bytes.len(), !scanner.malformed()),
                    Progress::Done(n) | Progress::Stop(n) => (n, false),
                };
                // In the middle of a string not even the reader has to look.
                self.straight.to = if scanner.in_plain_string() { To::Arguments(index) } else { To::Nothing };
                self.look.work.add(taken);
                if taken > 0 {
                    sink(Event::ToolCallArguments { index, json: &text[..taken] });
                }
                if !more {
                    self.pos += taken;
                    self.look.restart(self.pos);
                }
                return more;
            }
            Reading::Value => {
                let Some(end) = straight.end(bytes, !carry.is_empty(), &straight.markers, &straight.seconds) else {
                    return false;
                };
                self.readers.value.feed(carry, &mut self.out);
                self.readers.value.feed(&bytes[..end], &mut self.out);
                carry.clear();
                carry.extend_from_slice(&bytes[end..]);
                self.look.restart(carry.len());
                if self.readers.value.writes_text() {
                    self.straight.to = To::Arguments(index);
                }
            }
            Reading::Quoted => {
                if straight.end(bytes, false, &straight.markers, &ByteSet::ALL).is_none() {
                    return false;
                }
                escape_into(text, &mut self.out);
            }
            Reading::Python => {
                let progress = self.readers.python.feed(bytes, &mut self.out);
                if let Progress::Done(n) | Progress::Stop(n) = progress {
                    self.pos += n;
                    self.look.restart(self.pos);
                }
                all = progress == Progress::More && !self.readers.python.malformed();
            }
            Reading::Nothing => return false,
        }
        self.look.work.add(bytes.len());
        if let Ok(json) = std::str::from_utf8(&self.out)
            && !json.is_empty()
        {
            sink(Event::ToolCallArguments { index, json });
        }
        self.out.clear();
        all
    }
}

impl Io<'_> {
    /// All text at hand was passed on, but for white space at its end, and no marker is near: the next piece may go
    /// straight.
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
            Target::Value if memory.reading != Reading::Value => return,
            Target::Value => match &memory.call {
                Some(call) if memory.readers.value.writes_text() => {
                    (To::Arguments(call.index), markers.firsts.and(ByteSet::JSON_TEXT))
                }
                _ => (To::Nothing, markers.firsts.and(ByteSet::JSON_TEXT)),
            },
        };
        let reader = if target == Target::Value { Reading::Value } else { Reading::Nothing };
        memory.straight = Straight {
            to,
            special,
            seconds: markers.seconds,
            layout: markers.layout,
            layout_length: markers.layout_length,
            reader,
            markers: markers.firsts,
        };
    }

    /// The same for JSON: outside of strings one of `stops` may begin.
    pub(super) fn go_straight_in_json(&mut self, stops: &Markers<'_>) {
        let memory = &mut *self.memory;
        let reader = memory.reading;
        if self.goes_on_as(Written::Whole) {
            let special = ByteSet::JSON_TEXT;
            self.memory.straight = Straight { special, reader, markers: stops.firsts, ..Straight::NOTHING };
        }
    }

    /// The same for a literal; `ends` is what may end the string that it is in.
    pub(super) fn go_straight_in_literal(&mut self, written: Written, ends: Option<ByteSet>) {
        let memory = &*self.memory;
        let Some(call) = memory.call.as_ref().filter(|_| self.goes_on_as(written)) else { return };
        let reader = memory.reading;
        let nothing = Straight { reader, ..Straight::NOTHING };
        let straight = match ends {
            Some(ends) if reader == Reading::Quoted => Straight {
                to: To::Arguments(call.index),
                special: ends.and(ByteSet::JSON_TEXT),
                markers: ends,
                ..nothing
            },
            _ if reader == Reading::Python => nothing,
            _ => return,
        };
        self.memory.straight = straight;
    }

    /// Whether all text at hand was passed on, and what comes next are more arguments of the open call.
    fn goes_on_as(&self, written: Written) -> bool {
        let memory = &*self.memory;
        !self.last
            && memory.pos == self.text.len()
            && memory.hold.is_none()
            && memory.call.as_ref().is_some_and(|call| call.written == written)
    }
}
