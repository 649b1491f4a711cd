//! The fast path for pieces: where a parser is in the middle of plain text or of arguments, a short piece in which no marker
//! can begin is passed on without a look at the machine.
//!
//! It gives exactly the events that the machine would give, or takes nothing. This file decides how much of a piece may be
//! passed on; `pieces.rs` does it.

use crate::byte_set::{ByteSet, Needles, Pairs};
use crate::message::{Channel, Event};
use crate::program::Markers;
use crate::readers::json::{escape_ascii_into, escape_into};
use crate::readers::structure::StringEnd;

/// The longest piece that is looked at byte by byte, in bytes. Longer pieces are left to the machine, which searches them.
pub(super) const LONGEST: usize = 32;

/// What may be done with the next piece. `M` is what a reader of values needs.
#[derive(Debug)]
pub(super) struct FastPath<M> {
    /// What the piece is, if it may be passed on unchanged.
    pub(super) target: Target,
    /// The bytes that forbid to pass a piece on unchanged.
    special: Needles,
    /// The bytes that wait at the end of a piece, because they may be the layout of a marker.
    layout: ByteSet,
    /// The maximum of them that wait.
    layout_length: usize,
    /// Escapes a piece of raw text in a JSON string; `None` if the arguments are JSON already.
    pub(super) escape: Option<Escape<M>>,
    /// Reads a piece that may not be passed on unchanged.
    pub(super) read: Option<Read<M>>,
    /// The bytes with which a marker may begin. The reader must not take them.
    pub(super) markers: Needles,
    /// The pairs of bytes with which a marker may begin. A byte that begins no such pair forbids nothing.
    pub(super) pairs: Pairs,
    /// The bytes that a marker may have in the third place.
    thirds: ByteSet,
    /// What ends the strings of the literal that is read.
    string_end: Option<StringEnd>,
}

impl<M> Clone for FastPath<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for FastPath<M> {}

/// Reads a piece of the value that is open. The bytes are those that wait from earlier pieces, and afterwards those that wait
/// from now on. `None`: nothing was taken, and the machine has to look.
pub(super) type Read<M> = fn(&mut M, &str, &mut Vec<u8>) -> Option<Taken>;

pub(super) struct Taken {
    pub(super) count: usize,
    /// The value continues after these bytes. If not, the machine continues there.
    pub(super) more: bool,
    /// The bytes are the arguments, unchanged. If not, the arguments were written to the emitter.
    pub(super) unchanged: bool,
}

/// What a piece is passed on as.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    Nothing,
    Text(Channel),
    /// A part of a string in the arguments of the call with this index.
    Arguments(usize),
}

/// Appends what waits and a piece of a string to JSON, as far as [`FastPath::end`] says, and returns that offset. A pointer,
/// because only programs with raw strings link it.
pub(super) type Escape<M> = fn(&FastPath<M>, &[u8], &str, &mut String) -> Option<usize>;

fn escape<M>(path: &FastPath<M>, waiting: &[u8], text: &str, json: &mut String) -> Option<usize> {
    let end = path.end(text.as_bytes(), waiting.last().copied(), &path.markers)?;
    // White space and single bytes of markers wait, and both are ASCII.
    debug_assert!(waiting.is_ascii());
    waiting.iter().for_each(|&byte| escape_ascii_into(byte, json));
    escape_into(&text[..end], json);
    Some(end)
}

impl<M> FastPath<M> {
    pub(super) const NONE: Self = Self {
        target: Target::Nothing,
        special: Needles::NONE,
        pairs: Pairs::ALL,
        thirds: ByteSet::ALL,
        string_end: None,
        layout: ByteSet::EMPTY,
        layout_length: 0,
        escape: None,
        read: None,
        markers: Needles::NONE,
    };

    /// Nothing may be done until another path is taken.
    #[inline]
    pub(super) fn clear(&mut self) {
        (self.target, self.escape, self.read) = (Target::Nothing, None, None);
    }

    /// In plain text up to one of `markers`. `None` if bytes of `markers` may be inside a character.
    pub(super) fn in_text(markers: &Markers, channel: Channel) -> Option<Self> {
        let path = Self::before(markers)?;
        Some(Self { target: Target::Text(channel), special: path.markers, ..path })
    }

    /// In the raw text of an argument, up to one of `markers`; `read` reads it, and `string_of` is the call if the rest of
    /// the text is certain to be a string.
    pub(super) fn in_raw_value(markers: &Markers, string_of: Option<usize>, read: Read<M>) -> Option<Self> {
        let target = string_of.map_or(Target::Nothing, Target::Arguments);
        let special = Needles::of(markers.begins.firsts.union(ByteSet::JSON_TEXT));
        Some(Self { target, special, escape: Some(escape), read: Some(read), ..Self::before(markers)? })
    }

    fn before(markers: &Markers) -> Option<Self> {
        // What waits is cut off between bytes.
        let ascii = markers.layout.is_ascii() && markers.begins.firsts.is_ascii();
        ascii.then(|| Self {
            pairs: markers.begins.pairs,
            thirds: markers.thirds,
            layout: markers.layout,
            layout_length: markers.layout_length,
            markers: Needles::of(markers.begins.firsts),
            ..Self::NONE
        })
    }

    /// In JSON arguments. Outside of strings, one of `stops` may begin.
    pub(super) fn in_json(stops: &Markers, read: Read<M>) -> Self {
        let (markers, pairs) = (Needles::of(stops.begins.firsts), stops.begins.pairs);
        Self { special: Needles::of(ByteSet::JSON_TEXT), pairs, read: Some(read), markers, ..Self::NONE }
    }

    /// In a literal that is translated, in the call with this index; `end` is what may end the string, if it is in one.
    pub(super) fn in_literal(call: usize, end: Option<StringEnd>, read: Read<M>) -> Self {
        let mut path = Self { read: Some(read), ..Self::NONE };
        path.in_string(call, end);
        path
    }

    /// The reader of a literal is in a string that this may end, or in none.
    #[inline]
    pub(super) fn in_string(&mut self, call: usize, end: Option<StringEnd>) {
        self.target = if end.is_some() { Target::Arguments(call) } else { Target::Nothing };
        if let Some(end) = end
            && self.string_end != Some(end)
        {
            self.end_strings_with(end);
        }
    }

    #[inline(never)]
    fn end_strings_with(&mut self, end: StringEnd) {
        let (bytes, pairs) = match end {
            // JSON writes these bytes in another way than Python.
            StringEnd::Quote(quote) => (ByteSet::of(b"\\\n\r").with(quote), Pairs::ALL),
            StringEnd::Token(first, None, _) => (ByteSet::EMPTY.with(first), Pairs::ALL),
            StringEnd::Token(first, Some(second), None) => (ByteSet::EMPTY.with(first), Pairs::one(first, second)),
            StringEnd::Token(first, Some(second), Some([other, next])) => {
                let pairs = Pairs::one(first, second).union(Pairs::one(other, next));
                (ByteSet::EMPTY.with(first).with(other), pairs)
            }
        };
        self.string_end = Some(end);
        self.escape = Some(escape);
        self.markers = Needles::of(bytes);
        self.pairs = pairs;
        self.special = Needles::of(bytes.union(ByteSet::JSON_TEXT));
    }

    /// How much of a piece may be passed on unchanged. White space at its end waits, and so does a byte with which a marker may
    /// begin. `waiting` is the last byte of what waits from earlier pieces.
    #[inline(always)]
    pub(super) fn pass(&self, text: &str, waiting: Option<u8>) -> Option<usize> {
        match self.target {
            Target::Text(_) => self.end(text.as_bytes(), waiting, &self.special),
            // White space that waits has to be escaped. Bytes that end a JSON string count wherever they are.
            Target::Arguments(_) if waiting.is_none() => {
                let bytes = text.as_bytes();
                let unusual = bytes.is_empty() || bytes.len() > LONGEST || self.special.any(bytes);
                (!unusual).then(|| self.without_layout(bytes)).flatten()
            }
            Target::Arguments(_) | Target::Nothing => None,
        }
    }

    /// How much of a piece may be passed on, if no marker can begin in it except at its very end.
    #[inline(always)]
    pub(super) fn end(&self, bytes: &[u8], waiting: Option<u8>, firsts: &Needles) -> Option<usize> {
        let (&first, &last) = (bytes.first()?, bytes.last()?);
        if bytes.len() > LONGEST {
            return None;
        }
        if let Some(before) = waiting
            && (self.layout.has(first) || self.begins(before, bytes, firsts))
        {
            return None;
        }
        let mut end = bytes.len();
        if firsts.any(bytes) {
            // A marker of one byte is whole where its byte is.
            if self.pairs == Pairs::ALL || self.may_begin(bytes, firsts) {
                return None;
            }
            end -= usize::from(firsts.has(last));
        }
        if end < bytes.len() || self.layout.has(last) { self.without_layout(&bytes[..end]) } else { Some(end) }
    }

    /// Whether a marker may begin before the last byte.
    #[inline(never)]
    fn may_begin(&self, bytes: &[u8], firsts: &Needles) -> bool {
        (1..bytes.len()).any(|at| self.begins(bytes[at - 1], &bytes[at..], firsts))
    }

    /// Whether a marker may begin with this byte and what follows it, as far as the first three bytes show.
    #[inline(always)]
    fn begins(&self, byte: u8, after: &[u8], firsts: &Needles) -> bool {
        // The pairs rule out most bytes.
        after.first().is_some_and(|&second| self.pairs.has(byte, second))
            && firsts.has(byte)
            && after.get(1).is_none_or(|&third| self.thirds.has(third))
    }

    /// The length without the white space at the end that may belong to a marker; `None` if nothing is left.
    #[inline]
    fn without_layout(&self, bytes: &[u8]) -> Option<usize> {
        let mut end = bytes.len();
        while end > 0 && bytes.len() - end < self.layout_length && self.layout.has(bytes[end - 1]) {
            end -= 1;
        }
        (end > 0).then_some(end)
    }

    /// The event to send for a piece that is passed on.
    #[inline]
    pub(super) fn event<'t>(&self, text: &'t str) -> Event<'t> {
        match self.target {
            Target::Text(Channel::Reasoning) => Event::Reasoning(text),
            Target::Text(Channel::Unparsed) => Event::Unparsed(text),
            Target::Arguments(index) => Event::ToolCallArguments { index, json: text },
            Target::Text(Channel::Content) | Target::Nothing => Event::Content(text),
        }
    }
}
