//! Shows how an output is read: what each byte is taken for, and where and why the text stopped fitting. It runs the
//! interpreter and watches every step.
//!
//! For tools that explain a format. It decides nothing, and no parser links it.

mod object;
mod states;

use std::cell::{Cell, RefCell};
use std::ops::Range;

use serde::{Serialize, Serializer};

use crate::engine::interpreter::Interpreter;
use crate::engine::io::Io;
use crate::engine::machine::{Flow, Found, Machine};
use crate::engine::place::Place;
use crate::engine::stream::read_at_once;
use crate::message::Message;
use crate::message::{Channel, Event};
use crate::options::Options;
use crate::program::{Action, Hole, Program, StateId};

pub use states::{MarkerView, StateView, states};

/// What a piece of an output is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// The answer.
    Content,
    /// The chain of thought.
    Reasoning,
    /// A function's name.
    FunctionName,
    /// A call's id.
    CallId,
    /// An argument's name.
    ArgumentName,
    /// A call's arguments, or the value of one.
    Arguments,
    /// A marker of the spec with its layout, by the marker's key; empty where no key names it.
    Syntax(&'static str),
    /// Held back: what comes next decides.
    Held,
}

impl Taken {
    /// The name of its kind, in snake case.
    pub fn name(self) -> &'static str {
        match self {
            Taken::Content => "content",
            Taken::Reasoning => "reasoning",
            Taken::FunctionName => "function_name",
            Taken::CallId => "call_id",
            Taken::ArgumentName => "argument_name",
            Taken::Arguments => "arguments",
            Taken::Syntax(_) => "syntax",
            Taken::Held => "held",
        }
    }
}

impl Serialize for Taken {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// A piece of an output and what it is taken for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte behind the last.
    pub end: usize,
    /// What it is taken for.
    pub taken: Taken,
    /// The key of the marker, of syntax that has one.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub key: &'static str,
    /// The call that it belongs to, by its position from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<usize>,
}

/// A place where the text stopped fitting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stop {
    /// The offset of the byte that does not fit; the length of the output where its end does not.
    pub at: usize,
    /// The state that was reading.
    pub state: String,
    /// What the state reads beside markers; empty where only markers may stand.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub reads: &'static str,
    /// The markers that would have led on.
    pub expected: Vec<Expected>,
    /// Why it does not fit.
    pub why: Why,
    /// Where the text begins that was held back and became plain text; absent where nothing was held back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_from: Option<usize>,
    /// The call that was given up, by its position from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<usize>,
}

/// A marker that would have led on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Expected {
    /// Its key in the spec.
    pub key: &'static str,
    /// What must stand there.
    pub text: String,
}

/// Why a text does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Why {
    /// Something else stands there.
    Unexpected,
    /// No tool of this name was offered, and nothing but the name would make it a call.
    NotOffered,
    /// The output ended.
    Ended,
    /// The call is over, but what closes it is missing.
    NotClosed,
}

/// An output and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// What the prompt wrote of the turn that is read with the output; offsets count from the start of the output behind
    /// it, and what the prompt wrote has no spans.
    pub prompt: usize,
    /// What each byte of the output is taken for: every byte once, in order.
    pub spans: Vec<Span>,
    /// Where the text stopped fitting, in order.
    pub stops: Vec<Stop>,
    /// The state in which reading ended.
    pub state: String,
    /// The message.
    pub message: Message,
}

impl Interpreter {
    /// Reads an output, and tells what each of its bytes is taken for. `over` says whether the output is complete.
    /// Reasoning is always extracted.
    pub fn read(&self, output: &[u8], options: &Options, over: bool) -> Reading {
        let options = options.clone().extract_reasoning(true).json_response(false);
        let watched = Watched { inner: self.clone(), log: RefCell::default(), state: Cell::new(StateId(0)) };
        let mut message = Message::default();
        let (prompt, settled) = read_at_once(&watched, output, &options, over, &mut |event| {
            watched.log.borrow_mut().note(&event);
            message.apply(&event);
        });
        let last = watched.state.get();
        let Watched { inner, log, .. } = watched;
        let mut log = log.into_inner();
        let end = prompt + output.len();
        if over {
            let rest = hole_of(inner.program(), last).map_or(Taken::Syntax(""), taken_for);
            log.mark(log.covered()..end, rest, log.call);
        } else {
            log.rewind(settled);
            log.mark(settled..end, Taken::Held, None);
        }
        let behind = |at: usize| at.saturating_sub(prompt);
        let spans = log.spans.into_iter().filter(|span| span.end > prompt);
        let spans = spans.map(|span| Span { start: behind(span.start), end: behind(span.end), ..span });
        let stops = log.stops.into_iter().map(|stop| Stop {
            at: behind(stop.at).min(output.len()),
            held_from: stop.held_from.map(behind),
            ..stop
        });
        let state = inner.program().state(last).map_or_else(String::new, |state| state.name.to_string());
        Reading { prompt, spans: spans.collect(), stops: stops.collect(), state, message }
    }
}

/// What was seen so far. Offsets count from the start of what the prompt wrote.
#[derive(Default)]
struct Log {
    spans: Vec<Span>,
    stops: Vec<Stop>,
    /// The key of the last marker: white space behind it is its layout.
    key: &'static str,
    /// The call that is being read.
    call: Option<usize>,
    /// Where the text at hand lies in memory: arguments that pass through untouched are pieces of it.
    text: Range<usize>,
    /// Those pieces, of the step that is being made.
    passed: Option<Range<usize>>,
    /// Behind them stand bytes that are no UTF-8, and arguments too.
    replaced: bool,
}

impl Log {
    fn covered(&self) -> usize {
        self.spans.last().map_or(0, |span| span.end)
    }

    /// What was read from `at` on is read again.
    fn rewind(&mut self, at: usize) {
        while self.spans.last().is_some_and(|span| span.end > at) {
            match self.spans.last_mut() {
                Some(span) if span.start < at => span.end = at,
                _ => drop(self.spans.pop()),
            }
        }
    }

    /// A step begins.
    fn begin(&mut self, text: &[u8]) {
        let start = text.as_ptr().addr();
        self.text = start..start + text.len();
        self.passed = None;
        self.replaced = false;
    }

    /// Notes which bytes of the text are arguments, where an event hands on a piece of the text itself.
    fn note(&mut self, event: &Event<'_>) {
        let Event::ToolCallArguments { json, .. } = event else { return };
        let start = json.as_ptr().addr().checked_sub(self.text.start);
        match start.map(|start| start..start + json.len()) {
            Some(piece) if piece.end <= self.text.len() && !piece.is_empty() => {
                let from = self.passed.as_ref().map_or(piece.start, |passed| passed.start);
                self.passed = Some(from..piece.end);
                self.replaced = false;
            }
            _ => self.replaced = *json == "\u{FFFD}",
        }
    }

    fn mark(&mut self, range: Range<usize>, taken: Taken, call: Option<usize>) {
        let start = range.start.max(self.covered());
        if start >= range.end {
            return;
        }
        let (key, call) = match taken {
            Taken::Syntax(key) => (key, call),
            Taken::Content | Taken::Reasoning | Taken::Held => ("", None),
            _ => ("", call),
        };
        match self.spans.last_mut() {
            Some(last) if last.taken == taken && last.call == call => last.end = range.end,
            _ => self.spans.push(Span { start, end: range.end, taken, key, call }),
        }
    }

    /// Marks a name or a value that ends by itself, and the white space before it as syntax. White space behind a name is
    /// left to the marker that follows.
    fn mark_trimmed(&mut self, text: &[u8], range: Range<usize>, taken: Taken, call: Option<usize>) {
        let piece = text.get(range.clone()).unwrap_or_default();
        let from = range.start + (piece.len() - piece.trim_ascii_start().len());
        let to = if taken == Taken::Arguments { range.end } else { from + piece.trim_ascii().len() };
        self.mark(range.start..from, Taken::Syntax(self.key), call);
        self.mark(from..to, taken, call);
    }
}

/// An interpreter whose steps are seen.
struct Watched {
    inner: Interpreter,
    log: RefCell<Log>,
    state: Cell<StateId>,
}

impl Watched {
    /// What was read from one place to another.
    fn account(&self, state: StateId, text: &[u8], before: Place, after: Place, found: Found) {
        let Some(here) = self.inner.program().state(state) else { return };
        let log = &mut *self.log.borrow_mut();
        log.rewind(before.pos);
        let call = call_of(here.hole.as_ref(), before);
        log.call = call;
        let begin = (before.pos + before.layout).min(after.pos);
        log.mark(before.pos..begin, Taken::Syntax(log.key), layout_call(before));
        let transition = match found {
            Found::Marker(index) => here.transitions.get(index),
            _ => None,
        };
        let end = if transition.is_some() { after.text_end } else { after.pos };
        match &here.hole {
            Some(Hole::Object(shape)) => object::mark(log, text, begin..end, shape, call),
            Some(hole @ (Hole::Text(_) | Hole::Value)) => log.mark(begin..end, taken_for(hole), call),
            Some(hole) => log.mark_trimmed(text, begin..end, taken_for(hole), call),
            None => {}
        }
        if let Some(transition) = transition {
            // What opens a call belongs to it.
            let opens = transition.does(&Action::Speculate);
            let call = if opens { Some(after.calls) } else { call };
            log.mark(
                log.covered().max(before.pos)..after.pos.max(after.marker_at),
                Taken::Syntax(transition.key),
                call,
            );
            if after.pos > after.marker_at {
                log.key = transition.key;
            } else {
                // It is left to be read by what follows.
                log.rewind(after.marker_at);
            }
        }
    }

    fn stop(&self, state: StateId, place: Place, at: usize, why: Why) {
        let Some(here) = self.inner.program().state(state) else { return };
        let mut expected: Vec<Expected> = Vec::new();
        for (marker, transition) in here.arrows() {
            let one = Expected { key: transition.key, text: marker.core.to_string() };
            if !expected.contains(&one) {
                expected.push(one);
            }
        }
        self.log.borrow_mut().stops.push(Stop {
            at,
            state: here.name.to_string(),
            reads: here.hole.as_ref().map_or("", states::reads),
            expected,
            why,
            held_from: place.held,
            call: (place.held.is_none() && place.open).then(|| place.calls.saturating_sub(1)),
        });
    }
}

/// The call that a state reads at a place.
fn call_of(hole: Option<&Hole>, place: Place) -> Option<usize> {
    match hole {
        Some(Hole::Text(_)) => None,
        Some(Hole::Name | Hole::Object(_)) => Some(place.calls),
        _ if place.held.is_some() => Some(place.calls),
        _ if place.open => Some(place.calls.saturating_sub(1)),
        _ => None,
    }
}

/// The call to which the layout of the last marker belongs.
fn layout_call(place: Place) -> Option<usize> {
    match (place.held.is_some(), place.open) {
        (true, _) => Some(place.calls),
        (false, true) => Some(place.calls.saturating_sub(1)),
        (false, false) => None,
    }
}

/// What a state reads beside markers.
fn hole_of(program: &Program, state: StateId) -> Option<&Hole> {
    program.state(state)?.hole.as_ref()
}

fn taken_for(hole: &Hole) -> Taken {
    match hole {
        Hole::Text(Channel::Content) => Taken::Content,
        Hole::Text(Channel::Reasoning) => Taken::Reasoning,
        Hole::Name => Taken::FunctionName,
        Hole::Id => Taken::CallId,
        Hole::ArgumentName => Taken::ArgumentName,
        Hole::Value | Hole::Literal(_) | Hole::Json | Hole::Python | Hole::Object(_) => Taken::Arguments,
    }
}

impl Machine for Watched {
    fn program(&self) -> &Program {
        self.inner.program()
    }

    fn step(&self, state: StateId, io: &mut Io<'_>) -> Flow {
        self.state.set(state);
        let before = io.place();
        self.log.borrow_mut().begin(io.at_hand());
        let found = self.inner.find(state, io);
        let after = io.place();
        self.account(state, io.at_hand(), before, after, found);
        let unclosed =
            self.inner.transition(state, found).is_some_and(|transition| transition.does(&Action::EndCallIncomplete));
        let flow = self.inner.follow(state, found, io);
        // One transition can both announce a call and end it.
        if unclosed && (after.open || io.place().calls > after.calls) {
            let place = Place { held: None, open: true, calls: io.place().calls, ..after };
            self.stop(state, place, after.pos, Why::NotClosed);
        }
        match flow {
            // Plain text that simply goes on elsewhere is no mismatch.
            Flow::Mismatch if io.place().held.is_some() || io.place().open => {
                let offered = self.inner.transition(state, found).is_none();
                let why = if offered { Why::Unexpected } else { Why::NotOffered };
                self.stop(state, io.place(), after.looked, why);
            }
            Flow::Wait if io.is_last() && io.place().held.is_some() => {
                self.stop(state, io.place(), io.at_hand().len(), Why::Ended);
            }
            _ => {}
        }
        flow
    }

    fn end(&self, state: StateId, io: &mut Io<'_>) -> bool {
        let ends = self.inner.end(state, io);
        if io.place().open {
            self.stop(state, io.place(), io.at_hand().len(), Why::Ended);
        }
        ends
    }
}
