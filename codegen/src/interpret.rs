//! The interpreter: walks a plan's machine with the same primitives that generated code calls. For analysis,
//! verification and tests; an application links generated code instead.

use std::sync::Arc;

use unjinja_runtime::grammar;
use unjinja_runtime::{CallShape, Confirm, Entry, Facts, Flow, Found, Io, Machine, Marker, Markers, State};
use unjinja_spec::FormatSpec;

use crate::automaton::{self, Arm, Automaton, Step};
use crate::plan::{Action, ArgumentKind, Hole};
use crate::{Lowered, gbnf, runtime_channel};

/// A parser that interprets a spec. Cheap to clone.
///
/// It borrows nothing: the spec's texts live as long as the interpreter does.
#[derive(Clone)]
pub struct Interpreter<'s> {
    spec: &'s FormatSpec,
    automaton: Arc<Automaton>,
    entries: Arc<[Entry<'s>]>,
    files: Arc<[&'s str]>,
    preserved: Arc<[&'s str]>,
}

impl<'s> Interpreter<'s> {
    pub(crate) fn new(spec: &'s FormatSpec, lowered: &Lowered) -> Self {
        let entries = spec.generation_prompt.iter().zip(lowered.entries()).map(|(prompt, state)| Entry {
            thinking: prompt.thinking,
            text: &prompt.text,
            channel: runtime_channel(prompt.starts_in),
            state: State(state as u16),
            read: crate::read_again(spec, prompt),
        });
        let files = std::iter::once(&spec.template.file).chain(&spec.template.also);
        Self {
            spec,
            automaton: Arc::clone(&lowered.automaton),
            entries: entries.collect(),
            files: files.map(String::as_str).collect(),
            preserved: spec.tokens.preserved.iter().map(String::as_str).collect(),
        }
    }

    pub(crate) fn facts_and_entries(&self) -> (Facts<'_>, &[Entry<'_>]) {
        (Machine::facts(self), &self.entries)
    }

    pub(crate) fn state(&self, state: State) -> &automaton::State {
        &self.automaton.states[usize::from(state.0)]
    }

    /// Does what a step says. `false` where the text turned out not to fit.
    fn perform(&self, actions: &[Action], state: State, at_marker: bool, io: &mut Io<'_>) -> bool {
        for action in actions {
            match action {
                Action::StartOffered => {
                    if !io.start_offered_call() {
                        return false;
                    }
                }
                Action::Hold if at_marker => io.hold(self.fallback(state)),
                Action::Hold => io.hold_here(self.fallback(state)),
                Action::StartCall => io.start_call(),
                Action::StartLabelled { prefix, separator } => io.start_call_labelled(prefix, separator),
                Action::Id => io.id(),
                Action::Argument(ArgumentKind::BySchema { python }) => io.argument(*python),
                Action::Argument(ArgumentKind::Text) => io.argument_text(),
                Action::Argument(ArgumentKind::Other { python }) => io.argument_other(*python),
                Action::Argument(ArgumentKind::Literal) => io.argument_literal(),
                Action::EndArgument => io.end_argument(),
                Action::EndCall => io.end_call(),
                Action::EndCallIncomplete => io.end_call_incomplete(),
                Action::OpenReasoning => io.open_reasoning(),
                Action::CloseReasoning => io.close_reasoning(),
            }
        }
        true
    }

    fn fallback(&self, state: State) -> State {
        State(self.automaton.fallback(usize::from(state.0)) as u16)
    }

    fn go(&self, step: &Step, state: State, at_marker: bool, io: &mut Io<'_>) -> Flow {
        if self.perform(&step.actions, state, at_marker, io) { Flow::Go(State(step.next as u16)) } else { Flow::Misfit }
    }

    /// What stands in the text, as far as the state reads it.
    pub(crate) fn find(&self, state: State, io: &mut Io<'_>) -> Found {
        let here = self.state(state);
        let nexts: Vec<Vec<&str>> = here.arms.iter().map(next_cores).collect();
        let list: Vec<Marker<'_>> = here.arms.iter().zip(&nexts).map(|(arm, next)| marker(arm, next)).collect();
        let markers = Markers::new(&list);
        match &here.hole {
            None if here.exact => io.expect_here(&markers),
            None => io.expect(&markers),
            Some(Hole::Text { channel, .. }) => io.text(*channel, &markers),
            Some(Hole::Name | Hole::Id | Hole::ArgumentName) => io.name(&markers),
            Some(Hole::Value) => io.value(&markers),
            Some(Hole::Json) => io.json_arguments(&markers),
            Some(Hole::Python) => io.python_arguments(),
            Some(Hole::Literal { quote }) if quote.is_empty() => io.literal_value(),
            Some(Hole::Literal { quote }) => io.quoted_value(quote),
            Some(Hole::Object(shape)) => {
                let offered = shape.bare;
                let keys: Vec<&str> = shape.other_keys.iter().map(String::as_str).collect();
                let shape = CallShape {
                    function_field: &shape.function_field,
                    name_field: &shape.name_field,
                    args_field: &shape.args_field,
                    id_field: &shape.id_field,
                    name_is_key: shape.name_is_key,
                    python: shape.python,
                    keys: &keys,
                    strict: shape.bare,
                };
                match shape.python {
                    true => io.call_dict(&shape, offered, &markers),
                    false => io.call_object(&shape, offered, &markers),
                }
            }
        }
    }

    /// The way that leads on from what was found, where one does.
    pub(crate) fn way(&self, state: State, found: Found) -> Option<&Step> {
        let here = self.state(state);
        match (found, &here.otherwise) {
            (Found::Marker(index), _) => Some(&here.arms[index].step),
            (Found::Done, Some(step)) => Some(step),
            (Found::Other, Some(step)) if here.hole.is_none() => Some(step),
            _ => None,
        }
    }

    /// Goes where what was found leads.
    pub(crate) fn follow(&self, state: State, found: Found, io: &mut Io<'_>) -> Flow {
        match (found, self.way(state, found)) {
            (Found::Wait, _) => Flow::Wait,
            (_, Some(step)) => self.go(step, state, matches!(found, Found::Marker(_)), io),
            (_, None) => Flow::Misfit,
        }
    }
}

impl Machine for Interpreter<'_> {
    fn facts(&self) -> Facts<'_> {
        let spec = self.spec;
        Facts {
            name: &spec.template.name,
            source: &spec.template.source,
            files: &self.files,
            sha256: &spec.template.sha256,
            assistant_start: &spec.turn.assistant_start,
            thinking_switch: &spec.reasoning.switch,
            preserved_tokens: &self.preserved,
        }
    }

    fn start(&self) -> State {
        State(self.automaton.start as u16)
    }

    fn plain(&self) -> State {
        State(self.automaton.content as u16)
    }

    fn entries(&self) -> &[Entry<'_>] {
        &self.entries
    }

    fn step(&self, state: State, io: &mut Io<'_>) -> Flow {
        let found = self.find(state, io);
        self.follow(state, found, io)
    }

    fn end(&self, state: State, io: &mut Io<'_>) -> bool {
        match &self.state(state).end {
            Some(actions) => self.perform(actions, state, false, io),
            None => false,
        }
    }

    fn with_plan(&self, with: &mut dyn FnMut(&grammar::Plan<'_>)) {
        gbnf::with_plan(&self.automaton, self.spec.content.after_calls, with);
    }
}

pub(crate) fn next_cores(arm: &Arm) -> Vec<&str> {
    match &arm.confirm {
        automaton::Confirm::Next(cores) => cores.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    }
}

pub(crate) fn marker<'a>(arm: &'a Arm, next: &'a [&'a str]) -> Marker<'a> {
    let confirm = match &arm.confirm {
        automaton::Confirm::Nothing => Confirm::Nothing,
        automaton::Confirm::Next(_) => Confirm::Next(next),
        automaton::Confirm::End => Confirm::End,
    };
    Marker { core: &arm.core, before: &arm.before, after: &arm.after, confirm, take: !arm.peek }
}
