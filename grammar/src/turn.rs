//! The rules of one turn. The machine that reads a turn is walked together with what a grammar has to remember beside
//! it: whether a call was made, which tool is being called, which of its arguments are written. Where those forbid a
//! step, there is no rule for it. So a grammar writes what the parser reads, and no other syntax is known here.
//!
//! A turn that has made a call goes on with further calls or ends; it goes back to plain text only where templates
//! write an answer behind calls.

mod arguments;
mod call_object;
mod markers;
mod names;
mod text;

use std::collections::HashMap;
use std::rc::Rc;

use serde_json::Value;

use unjinja_runtime::abi_2::{Action, Channel, Confirm, Hole, Marker, Origin, Program, State, StateId, Transition};

use super::graph::{Graph, NodeId, Piece, Way};
use super::syntax::Syntax;
use super::tool_rules::{Done, ToolRules};
use super::until::Until;
use super::values::Values;
use super::{Builder, text};

/// What may be called.
pub(super) enum Offered {
    /// Tools of any name, with any arguments.
    Any,
    /// These.
    These(Rc<[ToolRules]>),
}

/// What a grammar of a turn has to hold to.
pub(super) struct Rules<'a> {
    /// What may be called; nothing where calls are not allowed.
    pub(super) offered: Option<Offered>,
    /// A call has to be made.
    pub(super) required: bool,
    /// More than one call may be made.
    pub(super) parallel: bool,
    /// Reasoning may be written.
    pub(super) reasoning: bool,
    /// The schema that the answer must have.
    pub(super) response: Option<&'a Value>,
}

/// The call that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Call {
    /// None, or its name is not known yet.
    None,
    /// Of any tool.
    Any,
    /// Of this tool, with so many of its arguments written.
    Tool(usize, Done),
}

/// A state of the machine, and what has to be remembered beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct At {
    pub(super) state: StateId,
    /// A call was made or is open.
    pub(super) called: bool,
    /// The answer that a schema asks for was written.
    pub(super) answered: bool,
    pub(super) call: Call,
}

impl At {
    /// A state of a turn in which nothing was called.
    pub(super) fn new(state: StateId) -> Self {
        Self { state, called: false, answered: false, call: Call::None }
    }
}

/// What a node of the graph is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// What may come in a state.
    At(At),
    /// A point of the text that stands in a state.
    Text(At, usize),
    /// A point of an argument's raw text: its rules return behind the marker that closes it.
    Value(StateId, usize),
}

/// Free text in a state: its automaton, and where each of its stops leads.
struct Table {
    until: Until,
    exits: Vec<Vec<At>>,
}

/// An argument: the state of its name, the tool, and which of its properties it is, if any.
pub(super) type ArgumentKey = (StateId, usize, Option<usize>);

/// A turn in the making.
pub(super) struct Turn<'a> {
    pub(super) program: &'a Program,
    pub(super) rules: Rules<'a>,
    pub(super) builder: Builder,
    pub(super) values: Values,
    pub(super) graph: Graph<Key>,
    tables: HashMap<Key, Rc<Table>>,
    /// The rules of single arguments.
    pub(super) arguments: HashMap<ArgumentKey, Option<(NodeId, StateId)>>,
}

impl<'a> Turn<'a> {
    pub(super) fn new(program: &'a Program, rules: Rules<'a>) -> Self {
        let (builder, values) = (Builder::new(), Values::default());
        Self { program, rules, builder, values, graph: Graph::new(), tables: HashMap::new(), arguments: HashMap::new() }
    }

    /// The grammar of the whole turn from a state on. `None` where nothing fits.
    pub(super) fn whole(mut self, state: StateId, read: &str) -> (Option<String>, Values) {
        let root = if read.is_empty() {
            self.graph.node(Key::At(At::new(state)))
        } else {
            let ways = self.rest_of_markers(At::new(state), read);
            self.graph.filled("turn", ways)
        };
        self.finish(root)
    }

    /// The grammar of calls, from the marker on that announces the first.
    pub(super) fn calls(mut self) -> (Option<String>, Values) {
        let mut ways: Vec<Way> = Vec::new();
        for at in self.openers() {
            for (marker, step) in self.steps(at) {
                if step.actions.contains(&Action::Speculate)
                    && let Some(to) = self.go(at, step)
                {
                    let core = marker.consumed();
                    let way = vec![Piece::Expr(text(core)), self.to(to)];
                    if !ways.contains(&way) {
                        ways.push(way);
                    }
                }
            }
        }
        let root = self.graph.filled("calls", ways);
        self.finish(root)
    }

    /// The states from which a call may be opened.
    pub(super) fn openers(&self) -> Vec<At> {
        let states = [Some(self.program.start), Some(self.program.content), self.program.reasoning];
        let mut openers: Vec<At> = Vec::new();
        for at in states.into_iter().flatten().map(At::new) {
            if !openers.contains(&at) {
                openers.push(at);
            }
        }
        openers
    }

    fn finish(mut self, root: NodeId) -> (Option<String>, Values) {
        while let Some((key, id)) = self.graph.next() {
            self.fill(key, id);
        }
        let Self { graph, mut builder, values, .. } = self;
        let root = graph.write(root, &mut builder);
        (root.map(|root| builder.grammar(root)), values)
    }

    // ----- the machine -----

    pub(super) fn state(&self, id: StateId) -> &'a State {
        static NOWHERE: State = State::new("", None);
        self.program.state(id).unwrap_or(&NOWHERE)
    }

    /// The markers of a state, and where they lead, as far as a template writes them.
    pub(super) fn steps(&self, at: At) -> Vec<(&'a Marker, &'a Transition)> {
        self.state(at.state).arrows().filter(|(_, transition)| transition.origin == Origin::Canonical).collect()
    }

    /// Where a step leads. `None` where it may not be made.
    pub(super) fn go(&self, at: At, step: &Transition) -> Option<At> {
        if step.origin == Origin::Recovery {
            return None;
        }
        self.perform(&step.actions, At { state: step.next, ..at })
    }

    /// What has to be remembered after these actions. `None` if one of them may not be done.
    pub(super) fn perform(&self, actions: &[Action], mut to: At) -> Option<At> {
        for action in actions {
            match action {
                Action::Speculate => {
                    let more = !to.called || self.rules.parallel;
                    if self.rules.offered.is_none() || !more || to.answered {
                        return None;
                    }
                    to.called = true;
                    to.call = Call::None;
                }
                Action::EndCall => {
                    if !self.complete(to.call) {
                        return None;
                    }
                    to.call = Call::None;
                }
                Action::EndCallIncomplete => return None,
                Action::OpenReasoning if to.called || to.answered || !self.rules.reasoning => return None,
                Action::OpenContent if self.is_over(to) => return None,
                // Once: then nothing is left but the end.
                Action::CloseContent if to.answered && to.called => return None,
                Action::CloseContent if to.answered => to.called = true,
                _ => {}
            }
        }
        Some(to)
    }

    fn complete(&self, call: Call) -> bool {
        match (call, &self.rules.offered) {
            (Call::Tool(tool, done), Some(Offered::These(tools))) => tools[tool].is_complete(done),
            _ => true,
        }
    }

    /// Whether no more text may come: behind the answer, and behind calls where templates write none there.
    fn is_over(&self, at: At) -> bool {
        at.answered || (at.called && !(self.program.text_after_calls && self.rules.response.is_none()))
    }

    /// Whether the turn may be over.
    fn may_end(&self, at: At) -> bool {
        at.called || at.answered || (!self.rules.required && self.rules.response.is_none())
    }

    /// Whether a step can be made here: a turn's end only where it may be.
    fn follow(&self, at: At, marker: &Marker, step: &Transition) -> Option<At> {
        let to = self.go(at, step)?;
        (marker.confirm != Confirm::End || self.may_end(to)).then_some(to)
    }

    pub(super) fn to(&mut self, at: At) -> Piece {
        Piece::Node(self.graph.node(Key::At(at)))
    }

    pub(super) fn space(&mut self) -> Piece {
        Piece::Expr(self.values.space(&mut self.builder))
    }

    // ----- what may come -----

    fn fill(&mut self, key: Key, id: NodeId) {
        match key {
            Key::At(at) => {
                let node = self.state(at.state);
                let ways = match &node.hole {
                    None => self.markers(at, node),
                    Some(Hole::Text(_)) if self.is_over(at) => self.after(at, node),
                    Some(Hole::Text(Channel::Content)) if self.rules.response.is_some() => self.response(at),
                    Some(Hole::Text(_)) => self.point(Key::Text(at, 0), 0),
                    Some(Hole::Name) => self.name(at),
                    Some(Hole::Id) => self.any_name(at),
                    Some(Hole::ArgumentName) => self.argument_name(at),
                    Some(Hole::Value) => self.point(Key::Text(at, 0), 0),
                    Some(Hole::Literal(quote)) => {
                        let syntax = if quote.is_empty() { Syntax::Python } else { Syntax::quoted(quote) };
                        let value = self.values.any(&mut self.builder, syntax);
                        self.value(at, node, Some(value))
                    }
                    Some(Hole::Json) | Some(Hole::Python) => {
                        let python = node.hole == Some(Hole::Python);
                        let value = self.whole_arguments(at.call, python);
                        // All arguments are written then.
                        self.value(At { call: Call::Any, ..at }, node, value)
                    }
                    Some(Hole::Object(shape)) => {
                        let value = self.object(shape);
                        self.value(at, node, value)
                    }
                };
                let name = self.name_of(at, node);
                let comment = match &node.hole {
                    Some(Hole::Text(_)) if self.is_over(at) => None,
                    Some(Hole::Text(Channel::Content)) if self.rules.response.is_some() => None,
                    Some(Hole::Text(Channel::Content)) => Some(up_to("The answer", node)),
                    Some(Hole::Text(Channel::Reasoning)) => Some(up_to("Reasoning", node)),
                    Some(Hole::Value) => Some(up_to("Raw text", node)),
                    _ => None,
                };
                self.graph.fill(id, name, comment, ways);
            }
            Key::Text(at, point) => {
                let ways = self.point(key, point);
                let name = self.name_of(at, self.state(at.state));
                self.graph.fill(id, name, None, ways);
            }
            Key::Value(state, point) => {
                let ways = self.point(key, point);
                let comment = (point == 0).then(|| up_to("Raw text", self.state(state)));
                self.graph.fill(id, "text", comment, ways);
            }
        }
    }

    /// What a rule is called.
    fn name_of(&self, at: At, node: &State) -> String {
        let base = match &node.hole {
            Some(Hole::Text(_)) if self.is_over(at) => "end",
            Some(Hole::Text(Channel::Content)) if self.rules.response.is_some() => "response",
            Some(Hole::Text(Channel::Content)) => "content",
            Some(Hole::Text(Channel::Reasoning)) => "reasoning",
            Some(Hole::Name) => "call",
            Some(Hole::Id) => "id",
            Some(Hole::ArgumentName) => "arguments",
            Some(Hole::Value) | Some(Hole::Literal(_)) => "value",
            Some(Hole::Json) | Some(Hole::Python) => "arguments",
            Some(Hole::Object(_)) => "call",
            None if at.state == self.program.start => "turn",
            None if at.called => "more",
            None => "next",
        };
        match (at.call, &self.rules.offered) {
            (Call::Tool(tool, _), Some(Offered::These(tools))) => format!("{}-{base}", tools[tool].name),
            _ => base.to_owned(),
        }
    }
}

/// What a rule of text is, for people.
fn up_to(what: &str, node: &State) -> String {
    let mut cores: Vec<&str> = node.markers.list().iter().map(|marker| &*marker.core).collect();
    cores.sort_unstable();
    cores.dedup();
    let cores: Vec<String> = cores.iter().map(|core| format!("`{}`", core.escape_debug())).collect();
    format!("{what}, up to {}.", cores.join(" or "))
}

/// Whether a transition does nothing that a grammar has to know of.
pub(super) fn is_silent(transition: &Transition) -> bool {
    transition.actions.iter().all(|action| matches!(action, Action::Id | Action::EndArgument))
}

/// Whether white space may stand between a name and a marker: where the template writes some, and before a tag.
fn spaced_before(marker: &Marker) -> bool {
    !marker.before.is_empty() || marker.core.starts_with('<')
}
