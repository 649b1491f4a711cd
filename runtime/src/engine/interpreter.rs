//! The interpreter: runs a program by walking its data. With it, a spec can be loaded at run time. An application that knows
//! its models when it is built links generated code instead, which does the same faster.
//!
//! It must not decide how text is read: the program and the primitives do.

use std::sync::Arc;

use super::io::Io;
use super::machine::{Flow, Found, Machine};
use crate::message::Channel;
use crate::program::{Action, ArgumentKind, Hole, Program, StateId, Transition};

/// A parser that runs a [`Program`] without compiled code. It owns the program, is cheap to clone, and is
/// `Send + Sync + 'static`.
///
/// ```
/// use unjinja_runtime::{ChatParser, Interpreter, Options, abi::*};
///
/// // Usually a program comes from a spec: `unjinja_codegen::program(&spec)?`.
/// static PROGRAM: Program = Program::new(
///     ModelInfo::named("plain"),
///     const { &[State::new("CONTENT", Some(Hole::Text(Channel::Content))).end(&[])] },
///     StateId(0),
/// );
/// let parser = Interpreter::new(PROGRAM.clone());
///
/// // It owns its program, so it can be sent to another thread.
/// let message = std::thread::spawn(move || parser.parse("Hello".into(), &Options::new())).join().expect("no panic");
/// assert_eq!(message.content, "Hello");
/// ```
#[derive(Clone, Debug)]
pub struct Interpreter {
    program: ProgramRef,
}

#[derive(Clone, Debug)]
enum ProgramRef {
    Static(&'static Program),
    Shared(Arc<Program>),
}

impl Interpreter {
    /// A parser for a program that was made at run time.
    pub fn new(program: impl Into<Arc<Program>>) -> Self {
        Self { program: ProgramRef::Shared(program.into()) }
    }

    /// A parser for a constant program, such as the `PROGRAM` of a generated module.
    pub const fn from_static(program: &'static Program) -> Self {
        Self { program: ProgramRef::Static(program) }
    }

    /// The program that the parser runs.
    pub fn program(&self) -> &Program {
        match &self.program {
            ProgramRef::Static(program) => program,
            ProgramRef::Shared(program) => program,
        }
    }

    /// Reads what the state expects: its hole, up to one of its markers.
    pub(crate) fn find(&self, state: StateId, io: &mut Io<'_>) -> Found {
        let Some(here) = self.program().state(state) else { return Found::Other };
        let markers = &here.markers;
        match &here.hole {
            None if here.exact => io.expect_here(markers),
            None if markers.hold_name() => io.expect_named(markers),
            None => io.expect(markers),
            Some(Hole::Text(Channel::Unparsed)) if !markers.list().is_empty() => io.broken_call(markers),
            Some(Hole::Text(channel)) => io.text(*channel, markers),
            Some(Hole::Name | Hole::Id | Hole::ArgumentName) => io.name(markers),
            Some(Hole::Value) if markers.hold_name() => io.named_value(markers),
            Some(Hole::Value) => io.value(markers),
            Some(Hole::Json) if markers.hold_name() => io.named_json_arguments(markers),
            Some(Hole::Json) => io.json_arguments(markers),
            Some(Hole::Python) => io.python_arguments(),
            Some(Hole::Literal(quote)) if quote.is_empty() => io.literal_value(),
            Some(Hole::Literal(quote)) => io.quoted_value(quote, markers),
            Some(Hole::Object(shape)) => io.call_object(shape, markers),
        }
    }

    /// The transition for what was found; `None` if the text does not fit.
    pub(crate) fn transition(&self, state: StateId, found: Found) -> Option<&Transition> {
        let (rows, index) = self.program().state(state)?.row(found)?;
        rows.get(index)
    }

    pub(crate) fn follow(&self, state: StateId, found: Found, io: &mut Io<'_>) -> Flow {
        match (found, self.transition(state, found)) {
            (Found::Wait, _) => Flow::Wait,
            (_, Some(transition)) => {
                let at_marker = matches!(found, Found::Marker(_));
                let fits = self.perform(&transition.actions, state, at_marker, io);
                if fits { Flow::Go(transition.next) } else { Flow::Mismatch }
            }
            (_, None) => Flow::Mismatch,
        }
    }

    fn reads_reasoning(&self, state: StateId) -> bool {
        self.program().state(state).is_some_and(|state| state.hole == Some(Hole::Text(Channel::Reasoning)))
    }

    /// Performs actions. Returns `false` if the text turned out to be no call.
    fn perform(&self, actions: &[Action], state: StateId, at_marker: bool, io: &mut Io<'_>) -> bool {
        for action in actions {
            match action {
                Action::Speculate if at_marker && self.reads_reasoning(state) => {
                    if !io.speculate_in_reasoning(state) {
                        return false;
                    }
                }
                Action::Speculate if at_marker => io.speculate(self.program().fallback(state)),
                Action::Speculate => io.speculate_here(self.program().fallback(state)),
                Action::HoldBack => io.speculate_here(self.program().content),
                Action::StartCall => io.start_call(),
                Action::StartKnown => {
                    if !io.start_known_call() {
                        return false;
                    }
                }
                Action::StartOffered => {
                    if !io.start_offered_call() {
                        return false;
                    }
                }
                Action::StartRecipient => io.start_recipient(),
                Action::StartLabelled(label) => io.start_call_labelled(&label.prefix, &label.separator),
                Action::StartSplit => {
                    if !io.start_split_call() {
                        return false;
                    }
                }
                Action::Id => io.id(),
                Action::Argument(ArgumentKind::BySchema { python }) => io.argument(*python),
                Action::Argument(ArgumentKind::Quotable { python }) => io.argument_quotable(*python),
                Action::Argument(ArgumentKind::Text) => io.argument_text(),
                Action::Argument(ArgumentKind::Other { python }) => io.argument_other(*python),
                Action::Argument(ArgumentKind::Literal) => io.argument_literal(),
                Action::Argument(ArgumentKind::TightLiteral) => io.argument_tight_literal(),
                Action::EndArgument => io.end_argument(),
                Action::NestedArgument(nesting) => io.nested_argument(nesting),
                Action::EndNestedArgument(nesting) => io.end_nested_argument(nesting),
                Action::EndCall => io.end_call(),
                Action::EndCallIncomplete if at_marker || actions.contains(&Action::HoldBack) => {
                    io.end_call_incomplete()
                }
                Action::EndCallIncomplete => {
                    if !io.end_unclosed_call() {
                        return false;
                    }
                }
                Action::EndCalls => io.end_calls(),
                Action::OpenFence => {
                    if !io.open_fence() {
                        return false;
                    }
                }
                Action::CloseFence => io.close_fence(),
                Action::OpenReasoning => io.open_reasoning(),
                Action::CloseReasoning => io.close_reasoning(),
                Action::Unparsed => io.unparsed(),
                Action::OtherToken => io.other_token(),
                Action::AfterEnd => io.after_end(),
                Action::MissingMarker(text) => io.missing_marker(text),
                Action::OpenContent | Action::CloseContent => {}
            }
        }
        true
    }
}

impl Machine for Interpreter {
    fn program(&self) -> &Program {
        Interpreter::program(self)
    }

    fn step(&self, state: StateId, io: &mut Io<'_>) -> Flow {
        let found = self.find(state, io);
        self.follow(state, found, io)
    }

    fn end(&self, state: StateId, io: &mut Io<'_>) -> bool {
        match self.program().state(state).and_then(|state| state.end.as_ref()) {
            Some(actions) => {
                self.perform(actions, state, false, io);
                true
            }
            None => false,
        }
    }
}
