//! What a machine's steps are made of: the text at hand, the events that go out, and all state between two pushes.
//! Nothing here knows a model. Every primitive can stop at any byte and go on with the next push.
//!
//! An application links the readers that its machines name and no others: what all machines share must name none, but
//! calls what a primitive of a reader left behind for it.

mod acts;
mod names;
#[cfg(feature = "trace")]
mod place;
mod send;
mod straight;
mod values;

use crate::call_object::CallObject;
use crate::event::{Channel, Event};
use crate::fence::Filter;
use crate::json::Scanner;
use crate::machine::Found;
use crate::markers::{Marker, Markers};
use crate::options::Options;
use crate::program::StateId;
use crate::python::Translator;
use crate::quoted::Translator as Quoted;
use crate::search::{self, Candidate, Look, Skip};
use crate::short::Short;
use crate::value::ValueWriter;

#[cfg(feature = "trace")]
pub use place::Place;
pub(crate) use straight::Straight;

/// The longest function name, argument name or call id that is still taken for one, in bytes.
pub const MAX_NAME: usize = 256;

/// How much text is held back, in bytes, while it is not yet certain that a call has begun.
pub const MAX_HELD: usize = 64 * 1024;

/// How much white space may stand where only markers may follow, in bytes, before it is taken for text.
pub const MAX_SPACE: usize = 64;

/// How much of a value is translated at a time, in bytes.
pub(crate) const PIECE: usize = 32 * 1024;

/// Text that looks like a call but is not one yet.
#[derive(Clone, Copy, Debug)]
struct Hold {
    /// Where the text begins that becomes plain text if it is no call after all.
    text: usize,
    /// Where the opening marker stands.
    marker: usize,
    /// Where to go on then.
    state: StateId,
}

/// Which of the readers is in the middle of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    Nothing,
    Json,
    Python,
    Quoted,
    Object,
    Value,
}

/// What reads values, kept from one to the next.
#[derive(Default)]
struct Readers {
    json: Scanner,
    python: Translator,
    quoted: Quoted,
    object: CallObject,
    value: ValueWriter,
}

/// How the arguments of the open call are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Written {
    /// Nothing yet.
    Nothing,
    /// JSON text as the model wrote it.
    Whole,
    /// Our own object, at least one member of it.
    Members,
}

/// The call that is open.
#[derive(Debug)]
struct Call {
    index: usize,
    /// The tool of that name, by its position.
    tool: Option<usize>,
    written: Written,
    malformed: bool,
}

/// Writes the rest of a value to `out`. Says whether the value held bytes that are no UTF-8.
type Abort = fn(&mut Readers, &mut Vec<u8>) -> bool;

/// All that a parser remembers between two pushes. Offsets count from the start of the text at hand.
pub(crate) struct Memory {
    /// Up to here everything is settled.
    pub(crate) pos: usize,
    /// How far the current primitive has looked.
    pub(crate) look: Look,
    /// What the next piece may be passed on as without a look at the machine.
    pub(crate) straight: Straight,
    /// Where the text before the last marker ended.
    text_end: usize,
    /// Where the last marker stood.
    marker_at: usize,
    /// Up to here text was read twice already.
    retried: usize,
    hold: Option<Hold>,
    /// White space that still belongs to the last marker.
    skip: Skip,
    /// With reasoning left in the content: the opening marker, until there is reasoning.
    opener: Vec<u8>,
    reasoning_written: bool,
    /// How far the name being read was looked at.
    name_so_far: names::SoFar,
    capture: Short,
    id: Short,
    name: Short,
    argument: Short,
    call: Option<Call>,
    calls: usize,
    reading: Reading,
    readers: Readers,
    /// The token that strings stand between.
    quote: Short,
    /// What writes the rest of the value that is open where the text ends.
    abort: Option<Abort>,
    out: Vec<u8>,
    /// What waited and a piece behind it, put together to be sent.
    pub(crate) json: String,
    filter: Option<Box<dyn Filter>>,
    invalid_utf8: bool,
}

impl Memory {
    pub(crate) fn new(options: &Options) -> Self {
        let filter = options.filter.map(|make| make());
        Self {
            pos: 0,
            look: Look::default(),
            straight: Straight::NOTHING,
            text_end: 0,
            marker_at: 0,
            retried: 0,
            hold: None,
            skip: Skip::default(),
            opener: Vec::new(),
            reasoning_written: false,
            name_so_far: names::SoFar::default(),
            capture: Short::new(),
            id: Short::new(),
            name: Short::new(),
            argument: Short::new(),
            call: None,
            calls: 0,
            reading: Reading::Nothing,
            readers: Readers::default(),
            quote: Short::new(),
            abort: None,
            out: Vec::new(),
            json: String::new(),
            filter,
            invalid_utf8: false,
        }
    }

    /// The generation prompt opened reasoning with this text.
    pub(crate) fn reasoning_opened(&mut self, text: &str) {
        self.opener.extend_from_slice(text.as_bytes());
    }

    /// How many bytes at the start of the text at hand are not needed any more.
    pub(crate) fn settled(&self) -> usize {
        self.hold.map_or(self.pos, |hold| hold.text)
    }

    /// The first `count` bytes of the text at hand are gone.
    pub(crate) fn rebase(&mut self, count: usize) {
        self.pos -= count;
        self.look.rebase(count);
        self.text_end = self.text_end.saturating_sub(count);
        self.marker_at = self.marker_at.saturating_sub(count);
        self.retried = self.retried.saturating_sub(count);
        if let Some(hold) = &mut self.hold {
            hold.text -= count;
            hold.marker -= count;
        }
    }
}

/// The text at hand and the way out, for the length of one push.
pub struct Io<'a> {
    pub(crate) memory: &'a mut Memory,
    pub(crate) options: &'a Options,
    pub(crate) text: &'a [u8],
    /// The same text, where it is known to be UTF-8.
    pub(crate) valid: Option<&'a str>,
    pub(crate) last: bool,
    /// The name that was read last, where it is known to be UTF-8.
    pub(crate) captured: Option<&'a str>,
    /// The id that was read for the next call, likewise.
    pub(crate) captured_id: Option<&'a str>,
    pub(crate) sink: &'a mut dyn FnMut(Event<'_>),
}

/// A stretch of plain text that ends at a marker, or with the text at hand.
struct Stretch {
    from: usize,
    to: usize,
    found: Found,
    /// What follows it can only be white space before a marker, or the first byte of one.
    quiet: bool,
}

impl Io<'_> {
    // ----- reading -----

    /// Plain text of a channel, up to one of `markers`.
    pub fn text(&mut self, channel: Channel, markers: &Markers) -> Found {
        let stretch = self.until(markers);
        if stretch.from < stretch.to {
            self.emit_text(channel, stretch.from, stretch.to);
        }
        if stretch.quiet {
            self.go_straight_in_text(channel, markers);
        }
        stretch.found
    }

    /// The raw text of an argument's value, up to one of `markers`; it was announced by
    /// [`argument`](Self::argument).
    pub fn value(&mut self, markers: &Markers) -> Found {
        let stretch = self.until(markers);
        if stretch.from < stretch.to {
            self.emit_value(stretch.from, stretch.to);
        }
        if stretch.quiet {
            self.go_straight_in_value(markers);
        }
        stretch.found
    }

    /// One of `markers`, white space aside; `Found::Other` where something else stands.
    pub fn expect(&mut self, markers: &Markers) -> Found {
        self.one_of(markers, false)
    }

    /// One of `markers`, with no other white space before it than its own; `Found::Other` where something else stands.
    pub fn expect_here(&mut self, markers: &Markers) -> Found {
        self.one_of(markers, true)
    }

    fn one_of(&mut self, markers: &Markers, exactly: bool) -> Found {
        if !self.skip_layout() {
            return Found::Wait;
        }
        let pos = self.memory.pos;
        let other = |io: &mut Self| {
            io.memory.look.restart(pos);
            Found::Other
        };
        // What was looked at before is white space.
        let mut at = self.memory.look.from.max(pos);
        if !self.memory.look.pending() {
            let from = at;
            while at - pos <= MAX_SPACE && self.text.get(at).is_some_and(u8::is_ascii_whitespace) {
                at += 1;
            }
            self.memory.look.work.add(at - from);
            if at - pos > MAX_SPACE || (at == self.text.len() && self.last) {
                return other(self);
            }
            self.memory.look.from = at;
            if at == self.text.len() {
                return Found::Wait;
            }
        }
        match self.memory.look.compare(self.text, at, markers, self.last) {
            Candidate::Full { index, .. } => {
                let marker = &markers.list()[index];
                let end = search::trim_before(&self.text[pos..at], &marker.before);
                if exactly && end > 0 {
                    return other(self);
                }
                self.take(marker, at, pos + end);
                Found::Marker(index)
            }
            Candidate::Partial { .. } => Found::Wait,
            Candidate::None => other(self),
        }
    }

    // ----- inside -----

    /// Takes white space that belongs to the last marker. `false` while more text is needed.
    #[inline]
    fn skip_layout(&mut self) -> bool {
        self.memory.skip.is_empty() || self.skip_more_layout()
    }

    #[inline(never)]
    fn skip_more_layout(&mut self) -> bool {
        let from = self.memory.pos;
        let taken = self.memory.skip.take(&self.text[from..]);
        self.memory.look.work.add(taken);
        if !self.options.extract_reasoning && !self.memory.opener.is_empty() {
            self.memory.opener.extend_from_slice(&self.text[from..from + taken]);
        }
        self.memory.pos += taken;
        self.memory.look.restart(self.memory.pos);
        if self.last {
            self.memory.skip.clear();
        }
        self.memory.skip.is_empty()
    }

    /// Goes on to one of `markers`, and takes it. What is before it is left to be sent.
    fn until(&mut self, markers: &Markers) -> Stretch {
        let from = self.memory.pos;
        if !self.skip_layout() {
            return Stretch { from, to: from, found: Found::Wait, quiet: false };
        }
        let from = self.memory.pos;
        self.memory.look.from = self.memory.look.from.max(from);
        let (at, found) = match self.memory.look.find(self.text, markers, self.last) {
            Candidate::Full { index, at } => (at, Some(index)),
            Candidate::Partial { at } => (at, None),
            Candidate::None => (self.text.len(), None),
        };
        if let Some(index) = found {
            let marker = &markers.list()[index];
            let to = from + search::trim_before(&self.text[from..at], &marker.before);
            self.take(marker, at, to);
            return Stretch { from, to, found: Found::Marker(index), quiet: false };
        }
        let layout = if self.last { 0 } else { search::trailing_layout(&self.text[from..at], markers) };
        let to = if self.last { self.text.len() } else { from + self.whole(from, at - layout) };
        self.memory.pos = to;
        // The first byte of a marker at the very end may wait as white space does.
        let first = usize::from(at + 1 == self.text.len());
        let quiet = to + layout + first == self.text.len();
        if quiet {
            self.memory.look.restart(at);
        }
        Stretch { from, to, found: Found::Wait, quiet }
    }

    /// How many bytes between two offsets are whole characters: of the last, more may be to come.
    fn whole(&mut self, from: usize, to: usize) -> usize {
        if self.valid.is_some_and(|text| text.is_char_boundary(to)) {
            return to - from;
        }
        search::whole_characters(&self.text[from..to])
    }

    fn take(&mut self, marker: &Marker, at: usize, text_end: usize) {
        self.memory.text_end = text_end;
        self.memory.marker_at = at;
        self.memory.pos = at;
        self.memory.skip.clear();
        if marker.take {
            self.memory.pos += marker.core.len();
            self.memory.skip.set(&marker.after);
        }
        self.memory.look.restart(self.memory.pos);
    }
}
