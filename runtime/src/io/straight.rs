//! The straight way: where a parser is in the middle of plain text or of a call's arguments, a piece in which no marker
//! can begin is passed on, or given to the reader of the value, without a look at the machine. It must never do what
//! the machine would do in another way.

use super::{Io, Memory, Reading, Written};
use crate::event::{Channel, Event};
use crate::json::{Progress, Scanner, escape_ascii_into, escape_into, lossy};
use crate::markers::{Begins, ByteSet, Markers, Pairs};

/// The longest piece that is looked at byte by byte; longer ones are searched.
const LONGEST: usize = 32;

/// What may be done with the next piece.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Straight {
    /// As what it may be passed on as it is.
    to: To,
    /// The bytes that forbid that.
    special: ByteSet,
    /// Where they come in none of these pairs a marker does not go on, and they do not.
    pairs: Pairs,
    /// The bytes that wait at the end of a piece, for a marker may follow,
    layout: ByteSet,
    /// and at most so many of them.
    layout_length: usize,
    /// What escapes it, in a string that is raw text; none where the arguments are JSON.
    escape: Option<Escape>,
    /// What reads it, where all that may not be.
    read: Option<Read>,
    /// The bytes with which a marker may begin: those the reader must not take.
    markers: ByteSet,
}

/// Reads a piece of the value that is open; `None` where the machine has to look. The bytes are what waits from before and
/// from now on.
pub(super) type Read = fn(&mut Memory, &str, &mut Vec<u8>) -> Option<Taken>;

/// What was read of a piece.
pub(super) struct Taken {
    /// So many bytes.
    count: usize,
    /// There is more of the value to come; if not, the machine goes on from there.
    more: bool,
    /// They are arguments as they stand; if not, what those are was written.
    as_it_is: bool,
}

#[derive(Clone, Copy, Debug)]
enum To {
    Nothing,
    Text(Channel),
    /// The arguments of the call with this index, within a string.
    Arguments(usize),
}

/// Appends what waits and a piece of a string to JSON, as far as [`Straight::end`] says; gives that. It comes with the
/// readers that have such strings.
type Escape = fn(&Straight, &[u8], &str, &mut String) -> Option<usize>;

fn escape(straight: &Straight, waiting: &[u8], text: &str, json: &mut String) -> Option<usize> {
    let end = straight.end(text.as_bytes(), waiting.last().copied(), &straight.markers)?;
    // What waits is white space and single bytes of markers.
    debug_assert!(waiting.is_ascii());
    waiting.iter().for_each(|&byte| escape_ascii_into(byte, json));
    escape_into(&text[..end], json);
    Some(end)
}

impl Straight {
    /// Nothing may be done.
    pub(crate) const NOTHING: Self = Self {
        to: To::Nothing,
        special: ByteSet::EMPTY,
        pairs: Pairs::ALL,
        layout: ByteSet::EMPTY,
        layout_length: 0,
        escape: None,
        read: None,
        markers: ByteSet::EMPTY,
    };

    /// How much of a piece may be passed on as it is, if it is nothing else: white space at its end waits, and a byte with
    /// which a marker may begin. `waiting` is the last byte of what waits from before.
    #[inline(always)]
    pub(crate) fn pass(&self, text: &str, waiting: Option<u8>) -> Option<usize> {
        match self.to {
            To::Text(_) => self.end(text.as_bytes(), waiting, &self.special),
            // White space that waits is to be escaped; bytes that end a JSON string matter wherever they stand.
            To::Arguments(_) if waiting.is_none() => {
                let bytes = text.as_bytes();
                let odd = bytes.is_empty() || bytes.len() > LONGEST || has_any(bytes, &self.special);
                (!odd).then(|| self.without_layout(bytes)).flatten()
            }
            To::Arguments(_) | To::Nothing => None,
        }
    }

    /// How much of a piece may be passed on, if no marker can begin in it but at its very end.
    #[inline(always)]
    fn end(&self, bytes: &[u8], waiting: Option<u8>, firsts: &ByteSet) -> Option<usize> {
        let (&first, &last) = (bytes.first()?, bytes.last()?);
        if bytes.len() > LONGEST {
            return None;
        }
        if let Some(before) = waiting
            && (self.layout.has(first) || (firsts.has(before) && self.pairs.has(before, first)))
        {
            return None;
        }
        // Without a branch for each byte: as a rule there is none of them.
        let mut end = bytes.len();
        if has_any(bytes, firsts) {
            // A marker of one byte is whole where it stands.
            if self.pairs == Pairs::ALL || self.may_begin(bytes, firsts) {
                return None;
            }
            end -= usize::from(firsts.has(last));
        }
        if end < bytes.len() || self.layout.has(last) { self.without_layout(&bytes[..end]) } else { Some(end) }
    }

    /// Whether a marker may begin before the last byte.
    #[inline(never)]
    fn may_begin(&self, bytes: &[u8], firsts: &ByteSet) -> bool {
        bytes.windows(2).any(|pair| firsts.has(pair[0]) && self.pairs.has(pair[0], pair[1]))
    }

    /// How much there is without the white space at its end that may belong to a marker.
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

    /// The reader stands in a string that these bytes may end, or in none.
    #[inline]
    fn in_text(&mut self, index: usize, ends: Option<ByteSet>) {
        let Some(ends) = ends else {
            self.to = To::Nothing;
            return;
        };
        self.to = To::Arguments(index);
        self.escape = Some(escape);
        self.markers = ends;
        self.special = ends.and(ByteSet::JSON_TEXT);
    }
}

/// Whether one of the bytes is in the set; with no branch for each, for as a rule there is none.
#[inline(always)]
fn has_any(bytes: &[u8], set: &ByteSet) -> bool {
    bytes.iter().fold(false, |found, &byte| found | set.has(byte))
}

impl Memory {
    /// Escapes a piece of a string, or gives it to the reader of the value that is open. Returns whether that was all; if
    /// not, the machine goes on with what the reader left of it. `carry` is what waits from before and from now on.
    pub(crate) fn read_straight(&mut self, text: &str, carry: &mut Vec<u8>, sink: &mut impl FnMut(Event<'_>)) -> bool {
        if let Some(escape) = self.straight.escape
            && let To::Arguments(_) = self.straight.to
            && let Some(end) = escape(&self.straight, carry, text, &mut self.json)
        {
            self.look.work.add(text.len());
            self.send_and_wait(&text[end..], carry, sink);
            return true;
        }
        let (Some(read), Some(call)) = (self.straight.read, &self.call) else { return false };
        let index = call.index;
        let Some(taken) = read(self, text, carry) else { return false };
        if !taken.as_it_is {
            let json = lossy(&self.out);
            if !json.is_empty() {
                sink(Event::ToolCallArguments { index, json: &json });
            }
            self.out.clear();
        } else {
            let (json, rest) = text.split_at(taken.count);
            if !carry.is_empty() {
                // What is long is not copied.
                let (head, tail) = if json.len() <= LONGEST { (json, "") } else { ("", json) };
                self.put_together(carry, head);
                sink(Event::ToolCallArguments { index, json: &self.json });
                self.json.clear();
                carry.clear();
                if !tail.is_empty() {
                    sink(Event::ToolCallArguments { index, json: tail });
                }
            } else if !json.is_empty() {
                sink(Event::ToolCallArguments { index, json });
            }
            if taken.more && !rest.is_empty() {
                self.wait(rest.as_bytes(), carry);
            }
        }
        self.was_read(&taken)
    }

    /// What waits, and the text behind it. What waits is ASCII, for a piece of text ends with no other byte that could.
    #[inline]
    pub(crate) fn put_together(&mut self, waiting: &[u8], text: &str) {
        debug_assert!(waiting.is_ascii());
        waiting.iter().for_each(|&byte| self.json.push(char::from(byte & 0x7f)));
        self.json.push_str(text);
    }

    /// Sends the text that was put together, and keeps the end of the piece.
    #[inline]
    pub(crate) fn send_and_wait(&mut self, end: &str, carry: &mut Vec<u8>, sink: &mut impl FnMut(Event<'_>)) {
        sink(self.straight.event(&self.json));
        self.json.clear();
        self.wait(end.as_bytes(), carry);
    }

    /// The end of a piece waits: white space, and the first byte of a marker.
    #[inline]
    fn wait(&mut self, end: &[u8], carry: &mut Vec<u8>) {
        carry.clear();
        // A byte or two, as a rule.
        end.iter().for_each(|&byte| carry.push(byte));
        let begins = end.last().is_some_and(|&last| self.straight.markers.has(last));
        self.look.restart(end.len() - usize::from(begins));
    }

    #[inline]
    fn was_read(&mut self, taken: &Taken) -> bool {
        self.look.work.add(taken.count);
        if !taken.more {
            self.pos += taken.count;
            self.look.restart(self.pos);
        }
        taken.more
    }

    /// Reads on in JSON. The first byte of a marker may wait at its end.
    #[inline]
    fn read_json(
        &mut self,
        text: &str,
        carry: &[u8],
        scanner: impl FnOnce(&mut Self) -> &mut Scanner,
    ) -> Option<Taken> {
        let stops = Begins { firsts: self.straight.markers, pairs: self.straight.pairs };
        let bytes = text.as_bytes();
        let scanner = scanner(self);
        if !carry.is_empty() && !goes_on_behind(carry, bytes, scanner, &stops) {
            return None;
        }
        let (count, more) = match scanner.feed_until(bytes, 0, &stops) {
            Progress::More => (bytes.len(), !scanner.malformed()),
            Progress::Done(n) => (n, false),
            // A bracket that may be the last of the arguments is not waited with.
            Progress::Stop(n) => {
                let waits = matches!(&bytes[n..], [first] if !matches!(first, b'}' | b']'));
                (n, waits && stops.pairs != Pairs::ALL && !scanner.malformed())
            }
        };
        // In the middle of a string not even the reader has to look.
        let plain = scanner.in_plain_string();
        self.straight.to = match &self.call {
            Some(call) if plain => To::Arguments(call.index),
            _ => To::Nothing,
        };
        Some(Taken { count, more, as_it_is: true })
    }

    /// Arguments in JSON.
    pub(super) fn read_json_arguments(&mut self, text: &str, carry: &[u8]) -> Option<Taken> {
        self.read_json(text, carry, |memory| &mut memory.readers.json)
    }

    /// Those of a call object in JSON.
    pub(super) fn read_object_arguments(&mut self, text: &str, carry: &[u8]) -> Option<Taken> {
        self.read_json(text, carry, |memory| memory.readers.object.scanner())
    }

    /// The raw text of a value.
    fn read_raw_value(&mut self, text: &str, carry: &mut Vec<u8>) -> Option<Taken> {
        let bytes = text.as_bytes();
        let end = self.straight.end(bytes, carry.last().copied(), &self.straight.markers)?;
        let value = &mut self.readers.value;
        value.feed(carry, &mut self.out);
        value.feed(&bytes[..end], &mut self.out);
        if let Some(call) = self.call.as_ref().filter(|_| value.writes_text()) {
            self.straight.to = To::Arguments(call.index);
        }
        self.wait(&bytes[end..], carry);
        Some(Taken { count: bytes.len(), more: true, as_it_is: false })
    }

    /// Reads on in a literal.
    pub(super) fn read_literal(&mut self, text: &str, feed: impl FnOnce(&mut Self, &str) -> Fed) -> Option<Taken> {
        let fed = feed(self, text);
        let (count, more) = match fed.progress {
            Progress::More => (text.len(), !fed.malformed),
            Progress::Done(n) | Progress::Stop(n) => (n, false),
        };
        if let Some(call) = &self.call {
            self.straight.in_text(call.index, fed.text_ends);
        }
        Some(Taken { count, more, as_it_is: false })
    }
}

/// Whether what waited is no marker, as the text behind it shows; if so, it is read.
#[inline(never)]
fn goes_on_behind(waiting: &[u8], text: &[u8], scanner: &mut Scanner, stops: &Begins) -> bool {
    let pair = waiting.last().zip(text.first());
    let marker = pair.is_none_or(|(&first, &second)| stops.pairs.has(first, second));
    !marker && scanner.feed(waiting) == Progress::More
}

/// What the reader of a literal said to some bytes.
pub(super) struct Fed {
    pub(super) progress: Progress,
    /// The literal broke a rule so far.
    pub(super) malformed: bool,
    /// In a string: the bytes that may end it.
    pub(super) text_ends: Option<ByteSet>,
}

impl Io<'_> {
    /// All text at hand was passed on, but for white space at its end, and no marker is near: the next piece may go
    /// straight.
    pub(super) fn go_straight_in_text(&mut self, channel: Channel, markers: &Markers) {
        let memory = &mut *self.memory;
        let channel = match channel {
            Channel::Reasoning if self.options.extract_reasoning => Channel::Reasoning,
            _ if memory.filter.is_some() || !memory.opener.is_empty() => return,
            _ => Channel::Content,
        };
        let special = markers.begins.firsts;
        self.go_straight(markers, Straight { to: To::Text(channel), special, ..Straight::NOTHING });
    }

    /// The same for the raw text of a value.
    pub(super) fn go_straight_in_value(&mut self, markers: &Markers) {
        let memory = &mut *self.memory;
        if memory.reading != Reading::Value {
            return;
        }
        let to = match &memory.call {
            Some(call) if memory.readers.value.writes_text() => To::Arguments(call.index),
            _ => To::Nothing,
        };
        let special = markers.begins.firsts.and(ByteSet::JSON_TEXT);
        let (escape, read): (Option<Escape>, Option<Read>) = (Some(escape), Some(Memory::read_raw_value));
        self.go_straight(markers, Straight { to, special, escape, read, ..Straight::NOTHING });
    }

    /// What of it the markers say is filled in.
    fn go_straight(&mut self, markers: &Markers, straight: Straight) {
        let memory = &mut *self.memory;
        // What waits is cut off between bytes.
        if memory.hold.is_some() || self.last || !markers.layout.is_ascii() || !markers.begins.firsts.is_ascii() {
            return;
        }
        memory.straight = Straight {
            pairs: markers.begins.pairs,
            layout: markers.layout,
            layout_length: markers.layout_length,
            markers: markers.begins.firsts,
            ..straight
        };
    }

    /// The same for JSON: outside of strings one of `stops` may begin.
    pub(super) fn go_straight_in_json(&mut self, stops: &Markers, read: Read) {
        if self.goes_on_as(Written::Whole) {
            let Begins { firsts: markers, pairs } = stops.begins;
            let special = ByteSet::JSON_TEXT;
            self.memory.straight = Straight { special, pairs, read: Some(read), markers, ..Straight::NOTHING };
        }
    }

    /// The same for a literal that is translated; `ends` is what may end the string that it is in.
    pub(super) fn go_straight_in_literal(&mut self, written: Written, ends: Option<ByteSet>, read: Read) {
        if let Some(call) = self.memory.call.as_ref().filter(|_| self.goes_on_as(written)) {
            let mut straight = Straight { read: Some(read), ..Straight::NOTHING };
            straight.in_text(call.index, ends);
            self.memory.straight = straight;
        }
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
