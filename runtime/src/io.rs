//! What a machine's steps are made of: the text at hand, the events that go out, and all state between two pushes.
//! Nothing here knows a model. Every primitive can stop at any byte and go on with the next push.

mod acts;
mod send;
mod values;

use crate::call_object::CallObject;
use crate::event::{Channel, Event};
use crate::fence::Fence;
use crate::json::Scanner;
use crate::machine::{Found, Marker, State};
use crate::options::Options;
use crate::python::Translator;
use crate::quoted::Translator as Quoted;
use crate::search::{self, Candidate};
use crate::value::ValueWriter;

/// The longest function name, argument name or call id that is still taken for one, in bytes.
pub const MAX_NAME: usize = 256;

/// How much text is held back, in bytes, while it is not yet certain that a call has begun.
pub const MAX_HELD: usize = 64 * 1024;

/// How much white space may stand where only markers may follow, in bytes, before it is taken for text.
pub const MAX_SPACE: usize = 64;

/// Text that looks like a call but is not one yet.
#[derive(Clone, Copy, Debug)]
struct Hold {
    /// Where the text begins that becomes plain text if it is no call after all.
    text: usize,
    /// Where the opening marker stands.
    marker: usize,
    /// Where to go on then.
    state: State,
}

/// A value that is being read.
#[derive(Default)]
enum Reader {
    #[default]
    None,
    Json(Scanner),
    Python(Translator),
    Quoted(Quoted),
    Object(CallObject),
    Value(ValueWriter),
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
    written: Written,
    malformed: bool,
}

/// All that a parser remembers between two pushes. Offsets count from the start of the text at hand.
pub(crate) struct Memory {
    pub(crate) options: Options,
    /// Up to here everything is settled.
    pub(crate) pos: usize,
    /// Up to here the current primitive has looked.
    scan: usize,
    /// Where the text before the last marker ended.
    text_end: usize,
    /// Where the last marker stood.
    marker_at: usize,
    /// Up to here text was read twice already.
    retried: usize,
    hold: Option<Hold>,
    /// White space that still belongs to the last marker.
    skip: Vec<u8>,
    /// With reasoning left in the content: the opening marker, until there is reasoning.
    opener: Vec<u8>,
    reasoning_written: bool,
    capture: String,
    id: String,
    name: String,
    argument: String,
    call: Option<Call>,
    calls: usize,
    reader: Reader,
    out: Vec<u8>,
    fence: Option<Fence>,
    invalid_utf8: bool,
}

impl Memory {
    pub(crate) fn new(options: Options) -> Self {
        let fence = options.json_response.then(Fence::default);
        Self {
            options,
            pos: 0,
            scan: 0,
            text_end: 0,
            marker_at: 0,
            retried: 0,
            hold: None,
            skip: Vec::new(),
            opener: Vec::new(),
            reasoning_written: false,
            capture: String::new(),
            id: String::new(),
            name: String::new(),
            argument: String::new(),
            call: None,
            calls: 0,
            reader: Reader::None,
            out: Vec::new(),
            fence,
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
        self.scan = self.scan.saturating_sub(count);
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
    pub(crate) text: &'a [u8],
    pub(crate) last: bool,
    pub(crate) sink: &'a mut dyn FnMut(Event<'_>),
}

/// Where plain text goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Channel(Channel),
    Value,
    Capture,
}

impl Io<'_> {
    // ----- reading -----

    /// Plain text of a channel, up to one of `markers`.
    pub fn text(&mut self, channel: Channel, markers: &[Marker<'_>]) -> Found {
        self.until(Target::Channel(channel), markers)
    }

    /// A function's name, an argument's name or an id, up to one of `markers`. `Found::Other` where it cannot be one.
    pub fn name(&mut self, markers: &[Marker<'_>]) -> Found {
        self.until(Target::Capture, markers)
    }

    /// The raw text of an argument's value, up to one of `markers`; it was announced by
    /// [`argument`](Self::argument).
    pub fn value(&mut self, markers: &[Marker<'_>]) -> Found {
        self.until(Target::Value, markers)
    }

    /// One of `markers`, white space aside; `Found::Other` where something else stands.
    pub fn expect(&mut self, markers: &[Marker<'_>]) -> Found {
        self.one_of(markers, false)
    }

    /// One of `markers`, with no other white space before it than its own; `Found::Other` where something else stands.
    pub fn expect_here(&mut self, markers: &[Marker<'_>]) -> Found {
        self.one_of(markers, true)
    }

    fn one_of(&mut self, markers: &[Marker<'_>], exactly: bool) -> Found {
        if !self.skip_layout() {
            return Found::Wait;
        }
        let rest = &self.text[self.memory.pos..];
        let space = rest.iter().take(MAX_SPACE + 1).take_while(|b| b.is_ascii_whitespace()).count();
        let at = self.memory.pos + space;
        if space > MAX_SPACE || (at == self.text.len() && self.last) {
            return Found::Other;
        }
        if at == self.text.len() {
            return Found::Wait;
        }
        match search::matches_at(self.text, at, markers, self.last) {
            Candidate::Full { index, .. } => {
                let end = search::trim_before(&self.text[self.memory.pos..at], markers[index].before);
                if exactly && end > 0 {
                    return Found::Other;
                }
                let text_end = self.memory.pos + end;
                self.take(&markers[index], at, text_end);
                Found::Marker(index)
            }
            Candidate::Partial { .. } => Found::Wait,
            Candidate::None => Found::Other,
        }
    }

    // ----- inside -----

    /// Takes white space that belongs to the last marker. `false` while more text is needed.
    fn skip_layout(&mut self) -> bool {
        if self.memory.skip.is_empty() {
            return true;
        }
        let from = self.memory.pos;
        let taken = search::skip_after(&self.text[from..], &mut self.memory.skip);
        if !self.memory.options.extract_reasoning && !self.memory.opener.is_empty() {
            self.memory.opener.extend_from_slice(&self.text[from..from + taken]);
        }
        self.memory.pos += taken;
        self.memory.scan = self.memory.scan.max(self.memory.pos);
        if self.last {
            self.memory.skip.clear();
        }
        self.memory.skip.is_empty()
    }
    fn until(&mut self, target: Target, markers: &[Marker<'_>]) -> Found {
        if !self.skip_layout() {
            return Found::Wait;
        }
        let from = self.memory.scan.max(self.memory.pos);
        let (at, found) = match search::find(self.text, from, markers, self.last) {
            Candidate::Full { index, at } => (at, Some(index)),
            Candidate::Partial { at } => (at, None),
            Candidate::None => (self.text.len(), None),
        };
        let start = self.memory.pos;
        let Some(index) = found else {
            if target == Target::Capture {
                return self.name_so_far(start, at);
            }
            let safe = if self.last {
                self.text.len()
            } else {
                let layout = search::trailing_layout(&self.text[start..at], markers);
                start + search::whole_characters(&self.text[start..at - layout])
            };
            self.emit(target, start, safe);
            self.memory.pos = safe;
            self.memory.scan = at;
            return Found::Wait;
        };
        let marker = &markers[index];
        let end = start + search::trim_before(&self.text[start..at], marker.before);
        if target == Target::Capture {
            if let Found::Other = self.name_so_far(start, end) {
                return Found::Other;
            }
            let name = std::str::from_utf8(self.text[start..end].trim_ascii()).unwrap_or_default();
            self.memory.capture.clear();
            self.memory.capture.push_str(name);
            if name.is_empty() {
                self.memory.scan = at;
                return Found::Other;
            }
        } else {
            self.emit(target, start, end);
        }
        self.take(marker, at, end);
        Found::Marker(index)
    }

    /// Whether what stands between two offsets may be a name, or the beginning of one and white space after it.
    fn name_so_far(&mut self, start: usize, end: usize) -> Found {
        let bytes = &self.text[start..end];
        let name = bytes.trim_ascii();
        let bad =
            |b: &u8| b.is_ascii_whitespace() || b.is_ascii_control() || matches!(b, b'<' | b'>' | b'"' | b'{' | b'}');
        if name.iter().any(bad)
            || bytes.len() > MAX_NAME
            || std::str::from_utf8(&name[..search::whole_characters(name)]).is_err()
        {
            self.memory.scan = start + name.iter().position(bad).unwrap_or(name.len());
            return Found::Other;
        }
        Found::Wait
    }

    fn take(&mut self, marker: &Marker<'_>, at: usize, text_end: usize) {
        self.memory.text_end = text_end;
        self.memory.marker_at = at;
        self.memory.pos = at;
        self.memory.skip.clear();
        if marker.take {
            self.memory.pos += marker.core.len();
            self.memory.skip.extend_from_slice(marker.after.as_bytes());
        }
        self.memory.scan = self.memory.pos;
    }

    fn emit(&mut self, target: Target, from: usize, to: usize) {
        if from >= to {
            return;
        }
        match target {
            Target::Channel(channel) => self.emit_text(channel, from, to),
            Target::Value => {
                let mut out = std::mem::take(&mut self.memory.out);
                out.clear();
                if let Reader::Value(writer) = &mut self.memory.reader {
                    writer.feed(&self.text[from..to], &mut out);
                }
                self.emit_out(out, Written::Members);
            }
            Target::Capture => {}
        }
    }
}
