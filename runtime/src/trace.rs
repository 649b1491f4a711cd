//! Shows how an output is read: what each byte is taken for, and where and why the text did not fit. It runs the
//! interpreter and observes every step.
//!
//! It is for tools that explain a format. It must not change how the output is read, and no parser links it.

mod log;
mod object;
mod states;

use std::cell::{Cell, RefCell};
use std::ops::Range;

use log::Log;

use crate::engine::input::Token;
use crate::engine::interpreter::Interpreter;
use crate::engine::io::Io;
use crate::engine::machine::{Flow, Found, Machine};
use crate::engine::place::Place;
use crate::engine::stream::read_at_once;
use crate::message::Channel;
use crate::message::Message;
use crate::options::{Options, Unparsed};
use crate::program::{Action, Hole, Origin, Program, StateId};

pub use log::{Expected, Span, Stop, Taken, Why};
pub use states::{MarkerView, StateView, states};

/// An output, and how it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// How many bytes of the turn the prompt wrote. They are read before the output. Offsets count from the start of
    /// the output, and there are no spans for the prompt.
    pub prompt: usize,
    /// What the output is taken for: every byte is in one span, in order.
    pub spans: Vec<Span>,
    /// Where the text did not fit, in order.
    pub stops: Vec<Stop>,
    /// The state in which reading ended.
    pub state: String,
    /// The message.
    pub message: Message,
}

impl Interpreter {
    /// Reads an output and reports what each of its bytes is taken for. `over` says whether the output is complete.
    /// Reasoning and broken markup are always separated from the content.
    pub fn read(&self, output: &[u8], options: &Options, over: bool) -> Reading {
        self.read_parts(output, &[], &Options { special_tokens: None, ..options.clone() }, over)
    }

    /// The same for an output by its tokens. Offsets count in their joined text.
    pub fn read_tokens<'t>(
        &self,
        tokens: impl IntoIterator<Item = Token<'t>>,
        options: &Options,
        over: bool,
    ) -> Reading {
        let (mut output, mut special) = (Vec::new(), Vec::new());
        for token in tokens {
            let start = output.len();
            output.extend_from_slice(token.piece().as_bytes());
            if token.is_special() {
                special.push(start..output.len());
            }
        }
        self.read_parts(&output, &special, options, over)
    }

    fn read_parts(&self, output: &[u8], special: &[Range<usize>], options: &Options, over: bool) -> Reading {
        let options = options.clone().extract_reasoning(true).unparsed(Unparsed::Separate).json_response(false);
        let watched = Watched { inner: self.clone(), log: RefCell::default(), state: Cell::new(StateId(0)) };
        let mut message = Message::default();
        let (prompt, settled) = read_at_once(&watched, (output, special), &options, over, &mut |event| {
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
            if let Some(tail) = log.tail {
                log.rewind(tail);
                log.mark(tail..end, Taken::Unparsed, None);
            }
        } else {
            log.rewind(settled);
            log.mark(settled..end, Taken::Held, None);
        }
        let in_output = |at: usize| at.saturating_sub(prompt);
        let spans = log.spans.into_iter().filter(|span| span.end > prompt);
        let spans = spans.map(|span| Span { start: in_output(span.start), end: in_output(span.end), ..span });
        let stops = log.stops.into_iter().map(|stop| Stop {
            at: in_output(stop.at).min(output.len()),
            held_from: stop.held_from.map(in_output),
            ..stop
        });
        let state = inner.program().state(last).map_or_else(String::new, |state| state.name.to_string());
        Reading { prompt, spans: spans.collect(), stops: stops.collect(), state, message }
    }
}

/// An interpreter whose steps are observed.
struct Watched {
    inner: Interpreter,
    log: RefCell<Log>,
    state: Cell<StateId>,
}

impl Watched {
    /// Logs what a step read between two places.
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
        let end = if transition.is_some() { after.text_end } else { after.cut.unwrap_or(after.pos) };
        match &here.hole {
            Some(Hole::Object(shape)) => object::mark(log, text, begin..end, shape, call),
            Some(hole @ (Hole::Text(_) | Hole::Value)) => log.mark(begin..end, taken_for(hole), call),
            Some(hole) => log.mark_trimmed(text, begin..end, taken_for(hole), call),
            // White space before a marker that the end of the output cuts off.
            None => log.mark(begin..end.max(begin), Taken::Syntax(log.key), call),
        }
        if let (None, Some(cut)) = (transition, after.cut) {
            log.mark(cut..after.pos, Taken::Unparsed, None);
        }
        if let Some(transition) = transition {
            // The marker that opens a call belongs to the call.
            let opens = transition.does(&Action::Speculate);
            let call = if opens { Some(after.calls) } else { call };
            let broken = transition.does(&Action::Unparsed) || transition.does(&Action::AfterEnd);
            let from = if broken { before.held.unwrap_or(after.marker_at) } else { log.covered().max(before.pos) };
            if broken {
                log.rewind(from);
            }
            // A code fence stays in the answer.
            let fence = transition.does(&Action::OpenFence) || transition.does(&Action::CloseFence);
            let taken = match (broken, fence) {
                (true, _) => Taken::Unparsed,
                (false, true) => Taken::Content,
                (false, false) => Taken::Syntax(transition.key),
            };
            let call = if broken { None } else { call };
            if let Found::Marker(index) = found {
                log.row = Some((usize::from(state.0), index));
            }
            log.mark(from..after.pos.max(after.marker_at), taken, call);
            log.row = None;
            if after.pos > after.marker_at {
                log.key = transition.key;
            } else {
                // The marker is left for the next state to read.
                log.rewind(after.marker_at);
            }
        }
    }

    fn stop(&self, state: StateId, place: Place, at: usize, why: Why) {
        let Some(here) = self.inner.program().state(state) else { return };
        let mut expected: Vec<Expected> = Vec::new();
        let written = here.arrows().filter(|(_, transition)| transition.origin == Origin::Canonical);
        for (marker, transition) in written {
            let one = Expected { key: transition.key, text: marker.core_for("NAME").into_owned() };
            if !expected.contains(&one) {
                expected.push(one);
            }
        }
        self.log.borrow_mut().stops.push(Stop {
            at,
            state: here.name.to_string(),
            reads: here.hole.as_ref().map_or("", Hole::what),
            expected,
            why,
            held_from: place.held,
            call: (place.held.is_none() && place.open).then(|| place.calls.saturating_sub(1)),
        });
    }
}

/// The call that a state reads.
fn call_of(hole: Option<&Hole>, place: Place) -> Option<usize> {
    match hole {
        Some(Hole::Text(_)) => None,
        Some(Hole::Object(shape)) if shape.announced => Some(place.calls.saturating_sub(1)),
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

/// What a state reads besides markers.
fn hole_of(program: &Program, state: StateId) -> Option<&Hole> {
    program.state(state)?.hole.as_ref()
}

fn taken_for(hole: &Hole) -> Taken {
    match hole {
        Hole::Text(Channel::Content) => Taken::Content,
        Hole::Text(Channel::Reasoning) => Taken::Reasoning,
        Hole::Text(Channel::Unparsed) => Taken::Unparsed,
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
        if io.is_trial() {
            return self.inner.step(state, io);
        }
        self.state.set(state);
        let before = io.place();
        self.log.borrow_mut().begin(io.at_hand(), io.from_prompt());
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
            // It is read again, once it is known whether it is a call.
            Flow::Mismatch if io.is_call_in_doubt() => {}
            // Only text of a call can fail to fit. Plain text is read in another state.
            Flow::Mismatch if !unclosed && (io.place().held.is_some() || io.place().open) => {
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
        if io.is_trial() {
            return self.inner.end(state, io);
        }
        let place = io.place();
        let ends = self.inner.end(state, io);
        let actions = self.inner.program().state(state).and_then(|state| state.end.as_ref());
        let unclosed = actions.is_some_and(|actions| actions.contains(&Action::EndCallIncomplete));
        if place.open && (unclosed || io.place().open) {
            self.stop(state, place, io.at_hand().len(), Why::Ended);
        }
        ends
    }
}
