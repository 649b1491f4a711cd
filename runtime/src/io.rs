//! What a machine's steps are made of: the text at hand, the events that go out, and all state between two pushes.
//! Nothing here knows a model. Every primitive can stop at any byte and go on with the next push.

use crate::call_object::{CallObject, CallPart, CallShape};
use crate::event::{Channel, Event};
use crate::fence::Fence;
use crate::json::{self, Progress, Scanner};
use crate::machine::{Found, Marker, State};
use crate::message::{Diagnostic, DiagnosticKind};
use crate::options::Options;
use crate::python::Translator;
use crate::quoted::Translator as Quoted;
use crate::search::{self, Candidate};
use crate::value::{Types, ValueWriter};

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
                let text_end = self.memory.pos + end;
                self.take(&markers[index], at, text_end);
                Found::Marker(index)
            }
            Candidate::Partial { .. } => Found::Wait,
            Candidate::None => Found::Other,
        }
    }

    /// The arguments as one JSON value, passed through untouched.
    pub fn json_arguments(&mut self) -> Found {
        let Some(start) = self.value_start() else { return Found::Wait };
        if !matches!(self.memory.reader, Reader::Json(_)) {
            self.memory.reader = Reader::Json(Scanner::new());
        }
        let text = self.text;
        // A character that is cut waits for the rest of it.
        let whole = if self.last { text.len() } else { start + search::whole_characters(&text[start..]) };
        let rest = &text[start..whole];
        let Reader::Json(scanner) = &mut self.memory.reader else { return Found::Wait };
        let (end, mut done) = match scanner.feed(rest) {
            Progress::More => (rest.len(), false),
            Progress::Done(n) | Progress::Misfit(n) => (n, true),
        };
        if !done && self.last {
            done = scanner.finish();
        }
        let malformed = scanner.malformed();
        self.emit_arguments(start, start + end, Written::Whole);
        self.memory.pos = start + end;
        self.memory.scan = self.memory.pos;
        self.note_malformed(malformed);
        if done {
            self.memory.reader = Reader::None;
            Found::Done
        } else {
            Found::Wait
        }
    }

    /// The arguments as one Python literal, translated to JSON.
    pub fn python_arguments(&mut self) -> Found {
        self.literal(None, Written::Whole)
    }

    /// An argument's value as a Python or JSON literal; it was announced by
    /// [`argument_literal`](Self::argument_literal).
    pub fn literal_value(&mut self) -> Found {
        self.literal(None, Written::Members)
    }

    /// An argument's value as a literal whose strings stand between `quote` tokens.
    pub fn quoted_value(&mut self, quote: &str) -> Found {
        self.literal(Some(quote), Written::Members)
    }

    fn literal(&mut self, quote: Option<&str>, written: Written) -> Found {
        let Some(start) = self.value_start() else { return Found::Wait };
        if matches!(self.memory.reader, Reader::None) {
            self.memory.reader = match quote {
                Some(_) => Reader::Quoted(Quoted::new()),
                None => Reader::Python(Translator::new()),
            };
        }
        let mut out = std::mem::take(&mut self.memory.out);
        out.clear();
        // A character that is cut waits for the rest of it.
        let whole = if self.last { self.text.len() } else { start + search::whole_characters(&self.text[start..]) };
        let rest = &self.text[start..whole];
        let quote = quote.unwrap_or_default();
        let progress = match &mut self.memory.reader {
            Reader::Python(translator) => translator.feed(rest, &mut out),
            Reader::Quoted(translator) => translator.feed(quote, rest, &mut out),
            _ => Progress::Misfit(0),
        };
        let (end, mut done) = match progress {
            Progress::More => (rest.len(), false),
            Progress::Done(n) | Progress::Misfit(n) => (n, true),
        };
        if !done && self.last {
            done = match &mut self.memory.reader {
                Reader::Python(translator) => translator.finish(&mut out),
                Reader::Quoted(translator) => translator.finish(quote, &mut out),
                _ => true,
            };
        }
        let malformed = match &self.memory.reader {
            Reader::Python(translator) => translator.malformed(),
            Reader::Quoted(translator) => translator.malformed(),
            _ => true,
        };
        self.memory.pos = start + end;
        self.memory.scan = self.memory.pos;
        self.emit_out(out, written);
        self.note_malformed(malformed);
        if done {
            self.memory.reader = Reader::None;
            Found::Done
        } else {
            Found::Wait
        }
    }

    /// A call as one JSON object (or Python dict) that holds name and arguments. Announces the call by itself as
    /// soon as the name is known; with `offered`, only a name among the offered tools makes it a call.
    pub fn call_object(&mut self, shape: &CallShape<'_>, offered: bool) -> Found {
        let Some(start) = self.value_start() else { return Found::Wait };
        let mut object = match std::mem::take(&mut self.memory.reader) {
            Reader::Object(object) => object,
            _ => CallObject::new(),
        };
        let text = self.text;
        // Before the name is known, what is held back in case this is no call must not grow without bound.
        let bound = if object.named() { text.len() } else { self.hold_limit().min(text.len()) };
        let rest = &text[start..bound.max(start)];
        let mut refused = false;
        let mut progress = object.feed(shape, rest, &mut |part| match part {
            _ if refused => {}
            CallPart::Name(name) if offered && self.memory.options.tools.get(name).is_none() => refused = true,
            part => self.call_part(part),
        });
        if refused {
            return Found::Other;
        }
        if let (Progress::More, true) = (&progress, bound < text.len()) {
            if !object.named() {
                self.memory.scan = bound;
                return Found::Other;
            }
            progress = match object.feed(shape, &text[bound..], &mut |part| self.call_part(part)) {
                Progress::Done(n) => Progress::Done(rest.len() + n),
                other => other,
            };
        }
        if self.last && matches!(progress, Progress::More) && object.named() {
            object.finish(shape, &mut |part| self.call_part(part));
        }
        let malformed = object.malformed();
        if object.invalid_utf8() {
            self.note_invalid_utf8();
        }
        match progress {
            Progress::More => {
                self.memory.pos = text.len();
                self.memory.scan = text.len();
                if object.named() {
                    self.note_malformed(malformed);
                }
                self.memory.reader = Reader::Object(object);
                Found::Wait
            }
            Progress::Done(n) => {
                self.memory.pos = start + n;
                self.memory.scan = self.memory.pos;
                self.note_malformed(malformed);
                Found::Done
            }
            Progress::Misfit(n) => {
                self.memory.scan = start + n;
                Found::Other
            }
        }
    }

    // ----- acting -----

    /// The marker that was just found may open a call. Until [`start_call`](Self::start_call) everything from it on
    /// is held back; if the text stops fitting, `state` goes on with it as plain text.
    pub fn hold(&mut self, state: State) {
        if self.memory.hold.is_none() {
            self.memory.hold = Some(Hold { text: self.memory.text_end, marker: self.memory.marker_at, state });
        }
    }

    /// The name that was read announces a call.
    pub fn start_call(&mut self) {
        self.memory.name.clear();
        let capture = std::mem::take(&mut self.memory.capture);
        self.memory.name.push_str(&capture);
        self.memory.capture = capture;
        self.announce();
    }

    /// The label that was read is an id that holds the name: `prefix`, name, `separator`, index.
    pub fn start_call_labelled(&mut self, prefix: &str, separator: &str) {
        let label = std::mem::take(&mut self.memory.capture);
        let name = label.strip_prefix(prefix).unwrap_or(&label);
        let name = match name.rsplit_once(separator) {
            Some((name, index)) if !separator.is_empty() && index.bytes().all(|b| b.is_ascii_digit()) => name,
            _ => name,
        };
        self.memory.name.clear();
        self.memory.name.push_str(name);
        if name.len() < label.len() {
            self.memory.id.clear();
            self.memory.id.push_str(&label);
        }
        self.memory.capture = label;
        self.announce();
    }

    /// The text that was read is the call's id.
    pub fn id(&mut self) {
        let id = std::mem::take(&mut self.memory.capture);
        self.call_id(&id);
        self.memory.capture = id;
    }

    /// The name that was read announces a call, but only where it is among the tools offered. Returns whether it is.
    pub fn start_offered_call(&mut self) -> bool {
        let offered = self.memory.options.tools.get(&self.memory.capture).is_some();
        if offered {
            self.start_call();
        }
        offered
    }

    /// The text that was read is an argument's name; raw text follows, typed by the tool's schema. With `python`,
    /// values that are no strings may be Python literals.
    pub fn argument(&mut self, python: bool) {
        let types = self.memory.options.tools.argument_types(&self.memory.name, &self.memory.capture);
        self.begin_argument();
        self.memory.reader = Reader::Value(ValueWriter::new(types, python));
    }

    /// The text that was read is an argument's name; a string follows as raw text.
    pub fn argument_text(&mut self) {
        self.begin_argument();
        self.memory.reader = Reader::Value(ValueWriter::new(Types::STRING, false));
    }

    /// The text that was read is an argument's name; raw text follows that is no string.
    pub fn argument_other(&mut self, python: bool) {
        self.begin_argument();
        self.memory.reader = Reader::Value(ValueWriter::new(Types::NOT_STRING, python));
    }

    /// The text that was read is an argument's name; a literal follows.
    pub fn argument_literal(&mut self) {
        self.begin_argument();
        self.memory.reader = Reader::None;
    }

    fn begin_argument(&mut self) {
        std::mem::swap(&mut self.memory.argument, &mut self.memory.capture);
        let mut out = std::mem::take(&mut self.memory.out);
        out.clear();
        let first = self.memory.call.as_ref().is_none_or(|call| call.written == Written::Nothing);
        out.extend_from_slice(if first { b"{\"" } else { b", \"" });
        json::escape_into(&self.memory.argument, &mut out);
        out.extend_from_slice(b"\": ");
        self.emit_out(out, Written::Members);
    }

    /// The value that was being read is complete.
    pub fn end_argument(&mut self) {
        if let Reader::Value(mut writer) = std::mem::take(&mut self.memory.reader) {
            let mut out = std::mem::take(&mut self.memory.out);
            out.clear();
            writer.finish(&mut out);
            self.emit_out(out, Written::Members);
            if writer.mismatch() {
                let argument = std::mem::take(&mut self.memory.argument);
                let call = self.memory.call.as_ref().map(|call| call.index);
                self.note(DiagnosticKind::ArgumentTypeMismatch, call, &argument);
                self.memory.argument = argument;
            }
            if writer.invalid_utf8() {
                self.note_invalid_utf8();
            }
        }
    }

    /// The call that is open is closed as its format wants it.
    pub fn end_call(&mut self) {
        self.close_call(true);
    }

    /// The call that is open is over, though what should close it is missing.
    pub fn end_call_incomplete(&mut self) {
        self.close_call(false);
    }

    /// The marker that was just found opens reasoning.
    pub fn open_reasoning(&mut self) {
        self.memory.reasoning_written = false;
        self.memory.opener.clear();
        if !self.memory.options.extract_reasoning {
            self.memory.opener.extend_from_slice(&self.text[self.memory.marker_at..self.memory.pos]);
        }
    }

    /// The marker that was just found closes reasoning.
    pub fn close_reasoning(&mut self) {
        if !self.memory.options.extract_reasoning && self.memory.reasoning_written {
            let (from, to) = (self.memory.text_end, self.memory.pos);
            self.emit_text(Channel::Content, from, to);
            self.memory.skip.clear();
        }
        self.memory.opener.clear();
        self.memory.reasoning_written = false;
    }

    // ----- the engine's side -----

    /// The text does not fit: what was held becomes plain text. Returns the state that reads it.
    pub(crate) fn recover(&mut self) -> Option<State> {
        let hold = self.memory.hold.take()?;
        let memory = &mut *self.memory;
        let misfit = memory.scan.max(memory.pos).max(hold.marker + 1);
        // Text is read again once, so that a marker inside it is found; a second time it is just text.
        memory.scan = if hold.marker < memory.retried {
            memory.retried.min(misfit).max(hold.marker + 1)
        } else {
            memory.retried = misfit;
            hold.marker + 1
        };
        memory.pos = hold.text;
        memory.reader = Reader::None;
        memory.capture.clear();
        memory.id.clear();
        memory.skip.clear();
        Some(hold.state)
    }

    pub(crate) fn holding(&self) -> bool {
        self.memory.hold.is_some()
    }

    /// Settles what the end of the text leaves open.
    pub(crate) fn settle(&mut self) {
        if let Reader::Value(writer) = &mut self.memory.reader {
            let mut out = std::mem::take(&mut self.memory.out);
            out.clear();
            writer.abort(&mut out);
            self.emit_out(out, Written::Members);
        }
        self.memory.reader = Reader::None;
        self.close_call(false);
        if let Some(mut fence) = self.memory.fence.take() {
            fence.finish(&mut |text| (self.sink)(Event::Content(text)));
        }
    }

    // ----- inside -----

    fn call_part(&mut self, part: CallPart<'_>) {
        match part {
            CallPart::Name(name) => {
                self.memory.name.clear();
                self.memory.name.push_str(name);
                self.announce();
            }
            CallPart::Id(id) => self.call_id(id),
            CallPart::Arguments(json) => self.send_arguments(json, Written::Whole),
        }
    }

    /// The offset up to which text may be held back.
    fn hold_limit(&self) -> usize {
        self.memory.hold.map_or(self.memory.pos, |hold| hold.text) + MAX_HELD
    }

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

    /// Where a value that ends by itself goes on; leading white space before it is dropped.
    fn value_start(&mut self) -> Option<usize> {
        if matches!(self.memory.reader, Reader::None | Reader::Value(_)) {
            self.memory.skip.clear();
            let rest = &self.text[self.memory.pos..];
            let space = rest.iter().take_while(|b| b.is_ascii_whitespace()).count();
            self.memory.pos += space;
            self.memory.scan = self.memory.pos;
            if self.memory.pos == self.text.len() {
                return None;
            }
        }
        Some(self.memory.pos)
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
            let name = std::str::from_utf8(self.text[start..end].trim_ascii_end()).unwrap_or_default();
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
        let name = bytes.trim_ascii_end();
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

    fn emit_text(&mut self, channel: Channel, from: usize, to: usize) {
        let text = self.text;
        if channel == Channel::Reasoning && !self.memory.options.extract_reasoning {
            let opener = std::mem::take(&mut self.memory.opener);
            self.memory.reasoning_written = true;
            self.send_text(Channel::Content, &opener);
            self.send_text(Channel::Content, &text[from..to]);
            return;
        }
        self.send_text(channel, &text[from..to]);
    }

    fn send_text(&mut self, channel: Channel, bytes: &[u8]) {
        for chunk in bytes.utf8_chunks() {
            if !chunk.valid().is_empty() {
                self.send_str(channel, chunk.valid());
            }
            if !chunk.invalid().is_empty() {
                self.send_str(channel, "\u{FFFD}");
                self.note_invalid_utf8();
            }
        }
    }

    fn send_str(&mut self, channel: Channel, text: &str) {
        match channel {
            Channel::Reasoning => (self.sink)(Event::Reasoning(text)),
            Channel::Content => match &mut self.memory.fence {
                Some(fence) => fence.push(text, &mut |text| (self.sink)(Event::Content(text))),
                None => (self.sink)(Event::Content(text)),
            },
        }
    }

    fn note_invalid_utf8(&mut self) {
        if !self.memory.invalid_utf8 {
            self.memory.invalid_utf8 = true;
            self.note(DiagnosticKind::InvalidUtf8, None, "");
        }
    }

    fn note_malformed(&mut self, malformed: bool) {
        let Some(call) = &mut self.memory.call else { return };
        if malformed && !call.malformed {
            call.malformed = true;
            let index = call.index;
            self.note(DiagnosticKind::MalformedArguments, Some(index), "");
        }
    }

    fn note(&mut self, kind: DiagnosticKind, call: Option<usize>, detail: &str) {
        (self.sink)(Event::Diagnostic(Diagnostic { kind, call, detail: detail.to_owned() }));
    }

    fn announce(&mut self) {
        self.close_call(false);
        self.memory.hold = None;
        let index = self.memory.calls;
        self.memory.calls += 1;
        let id = (!self.memory.id.is_empty()).then_some(self.memory.id.as_str());
        (self.sink)(Event::ToolCallStart { index, name: &self.memory.name, id });
        let tools = &self.memory.options.tools;
        if !tools.is_empty() && tools.get(&self.memory.name).is_none() {
            let name = self.memory.name.clone();
            self.note(DiagnosticKind::UnknownTool, Some(index), &name);
        }
        if index > 0 && !self.memory.options.parallel_tool_calls {
            self.note(DiagnosticKind::ParallelCall, Some(index), "");
        }
        self.memory.call = Some(Call { index, written: Written::Nothing, malformed: false });
        self.memory.id.clear();
    }

    fn call_id(&mut self, id: &str) {
        match &self.memory.call {
            Some(call) => (self.sink)(Event::ToolCallId { index: call.index, id }),
            None => {
                self.memory.id.clear();
                self.memory.id.push_str(id);
            }
        }
    }

    fn send_arguments(&mut self, json: &str, written: Written) {
        if json.is_empty() {
            return;
        }
        if let Some(call) = &mut self.memory.call {
            call.written = written;
            (self.sink)(Event::ToolCallArguments { index: call.index, json });
        }
    }

    fn emit_arguments(&mut self, from: usize, to: usize, written: Written) {
        let text = self.text;
        for chunk in text[from..to].utf8_chunks() {
            self.send_arguments(chunk.valid(), written);
            if !chunk.invalid().is_empty() {
                self.send_arguments("\u{FFFD}", written);
                self.note_invalid_utf8();
            }
        }
    }

    fn emit_out(&mut self, out: Vec<u8>, written: Written) {
        match std::str::from_utf8(&out) {
            Ok(json) => self.send_arguments(json, written),
            Err(_) => self.send_arguments(&String::from_utf8_lossy(&out), written),
        }
        self.memory.out = out;
    }

    fn close_call(&mut self, complete: bool) {
        let Some(call) = self.memory.call.take() else { return };
        if complete {
            match call.written {
                Written::Nothing => (self.sink)(Event::ToolCallArguments { index: call.index, json: "{}" }),
                Written::Members => (self.sink)(Event::ToolCallArguments { index: call.index, json: "}" }),
                Written::Whole => {}
            }
        } else {
            self.note(DiagnosticKind::IncompleteCall, Some(call.index), "");
        }
        (self.sink)(Event::ToolCallEnd { index: call.index, complete });
    }
}
