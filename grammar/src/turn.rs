//! The rules of one turn, found by walking the states of the program.
//!
//! A grammar has to remember more than the state: whether a call was made, which tool is being called, and which of its
//! arguments are written. A `Position` holds all of it. Each position becomes a node of a graph; its alternatives are
//! the transitions that are allowed from there. So a grammar accepts what the parser reads, and no syntax of any format
//! is known here.
//!
//! Once a turn has made a call, it continues with further calls or ends. It returns to plain text only if templates
//! write an answer after calls.

mod arguments;
mod call_object;
mod markers;
mod names;
mod text;
mod whole_text;

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::Value;

use unjinja_runtime::abi::{Action, Channel, Hole, Marker, Origin, Program, State, StateId, Transition};

use crate::builder::Builder;
use crate::expr::Expr;
use crate::free_text::{Bounds, FreeText, PUNCTUATION};
use crate::graph::{Alternative, Graph, NodeId, Piece};
use crate::key_order::sorting;
use crate::syntax::{Manner, Syntax};
use crate::tool_rules::{ToolRules, Written};
use crate::values::Values;

pub(super) enum Offered {
    Any,
    These(Rc<[ToolRules]>),
}

pub(super) struct Limits<'a> {
    /// The tools that may be called; `None` if calls are not allowed.
    pub(super) offered: Option<Offered>,
    /// The names of all tools that the parser knows, also where none may be called: text that is a call of one of them is no text.
    pub(super) names: Vec<String>,
    /// At least one call must be made.
    pub(super) required: bool,
    /// More than one call may be made.
    pub(super) parallel: bool,
    /// How values may be written.
    pub(super) manner: Manner,
    /// How long texts may be before a call that is demanded.
    pub(super) bounds: Bounds,
    /// Reasoning may be written.
    pub(super) reasoning: bool,
    pub(super) response: Option<&'a Value>,
    /// How free text becomes rules.
    pub(super) texts: Texts,
}

/// How free text becomes rules. A text may have a maximum number of characters.
#[derive(Clone, Copy, Debug)]
pub(super) enum Texts {
    /// One rule for each state of its automaton, for engines that know nothing but rules.
    States,
    /// One rule for each marker that ends it, for engines that know free text. The function makes the alternatives; it is
    /// named by a pointer, so that GBNF does not link it.
    Whole {
        alternatives: for<'t, 'a> fn(&'t mut TurnRules<'a>, NodeKey, Option<u32>) -> Vec<Alternative>,
        /// Whether the engine counts the characters of a text.
        counts: bool,
    },
}

/// The rules of a turn and its root. `None` if no text fits.
pub(super) type Made = Option<(Builder, Expr)>;

/// The call that is open at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Call {
    /// No call, or a call whose name is not known yet.
    None,
    /// A call of any tool.
    Any,
    /// A call of the tool with this index, and which of its arguments are written.
    Tool(usize, Written),
}

/// A state of the program, and what a grammar has to remember besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Position {
    pub(super) state: StateId,
    /// A call was made or is open.
    pub(super) called: bool,
    /// The answer that has to match a schema was written.
    pub(super) answered: bool,
    /// Reasoning was written before a call that is demanded. It comes once: a small model repeats what it may repeat.
    pub(super) thought: bool,
    pub(super) call: Call,
}

impl Position {
    /// A position in a turn that has no calls yet.
    pub(super) fn new(state: StateId) -> Self {
        Self { state, called: false, answered: false, thought: false, call: Call::None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum NodeKey {
    Position(Position),
    /// A state of the automaton of free text at a position.
    Text(Position, usize),
    /// A state of the automaton of an argument's raw text. Its rules end after the marker that closes the argument.
    Value {
        state: StateId,
        /// The number of the list of names that may follow the value.
        names: usize,
        /// The state of the automaton.
        at: usize,
    },
    /// A state of the automaton of an argument's raw text that ends at a marker with the argument's name.
    Named {
        state: StateId,
        name: usize,
        /// The state of the automaton.
        at: usize,
    },
}

/// Where a marker leads: a position, and whether white space may come before it.
type Exit = (Position, bool);

/// Free text at a position: its automaton, and the positions that each of its stops leads to.
struct Table {
    text: Arc<FreeText>,
    exits: Vec<Vec<Exit>>,
}

/// Identifies an argument: the state of its name, the index of the tool, and the index of its property, if the schema
/// names it.
pub(super) type ArgumentKey = (StateId, usize, Option<usize>);

/// The grammar of a turn while it is being built.
pub(super) struct TurnRules<'a> {
    pub(super) program: &'a Program,
    pub(super) limits: Limits<'a>,
    pub(super) builder: Builder,
    pub(super) values: Values,
    pub(super) graph: Graph<NodeKey>,
    tables: HashMap<NodeKey, Rc<Table>>,
    /// The rules of texts with a limited length, by the text, the white space that opens it, and the maximum.
    counted: HashMap<(NodeKey, String, u32), Option<(Expr, bool)>>,
    /// The names of arguments that closing markers contain.
    pub(super) names: Vec<String>,
    /// The arguments that tools declare, where their names end the value before them.
    pub(super) declared: Vec<Vec<String>>,
    /// The node of each argument, and the state after it; `None` if no value fits.
    pub(super) arguments: HashMap<ArgumentKey, Option<(NodeId, StateId)>>,
}

impl<'a> TurnRules<'a> {
    pub(super) fn new(program: &'a Program, limits: Limits<'a>) -> Self {
        let layouts = layouts(program);
        let mut builder = Builder::new();
        builder.set_manner(Manner { indents: indents(program), ..limits.manner });
        let values = Values::new(sorting(program.key_order), layouts);
        Self {
            program,
            limits,
            builder,
            values,
            graph: Graph::new(),
            tables: HashMap::new(),
            counted: HashMap::new(),
            names: Vec::new(),
            declared: vec![Vec::new()],
            arguments: HashMap::new(),
        }
    }

    /// The grammar of the whole turn from a state on, and `None` if no text fits it. `read` is the beginning of a
    /// marker that the prompt ends with.
    pub(super) fn whole(mut self, state: StateId, read: &str) -> (Made, Values) {
        let root = if read.is_empty() {
            self.graph.node(NodeKey::Position(Position::new(state)))
        } else {
            let alternatives = self.rest_of_markers(Position::new(state), read);
            self.graph.filled("turn", alternatives)
        };
        self.finish(root)
    }

    /// The grammar of calls alone. It begins with the marker that announces the first call.
    pub(super) fn calls(mut self) -> (Made, Values) {
        let mut alternatives: Vec<Alternative> = Vec::new();
        for at in self.openers() {
            for (marker, transition) in self.transitions(at) {
                if transition.actions.contains(&Action::Speculate)
                    && let Some(to) = self.target(at, transition)
                {
                    let marked = vec![Piece::Expr(self.builder.text(marker.consumed()))];
                    let alternative = self.then(marked, (to, self.spaced_after(marker, to)));
                    if !alternatives.contains(&alternative) {
                        alternatives.push(alternative);
                    }
                }
            }
        }
        let root = self.graph.filled("calls", alternatives);
        self.finish(root)
    }

    /// The positions from which a call may be opened.
    pub(super) fn openers(&self) -> Vec<Position> {
        let states = [Some(self.program.start), Some(self.program.content), self.program.reasoning];
        let mut openers: Vec<Position> = Vec::new();
        for at in states.into_iter().flatten().map(Position::new) {
            if !openers.contains(&at) {
                openers.push(at);
            }
        }
        openers
    }

    fn finish(mut self, root: NodeId) -> (Made, Values) {
        while let Some((key, id)) = self.graph.next() {
            self.fill(key, id);
        }
        let Self { graph, mut builder, values, .. } = self;
        let root = graph.write(root, &mut builder);
        (root.map(|root| (builder, root)), values)
    }

    // ----- the states of the program -----

    pub(super) fn state(&self, id: StateId) -> &'a State {
        static NOWHERE: State = State::new("", None);
        self.program.state(id).unwrap_or(&NOWHERE)
    }

    /// The markers of a state and their transitions, without those that no template writes.
    pub(super) fn transitions(&self, at: Position) -> Vec<(&'a Marker, &'a Transition)> {
        self.state(at.state).arrows().filter(|(_, transition)| is_canonical(transition)).collect()
    }

    /// The markers that a text must not contain: those that templates write, and those after which a parser reads nothing more. In a value
    /// also the tags that a parser takes for its end although no template writes them there: what a model writes after them would be
    /// lost.
    pub(super) fn markers_in_text(&self, at: Position) -> Vec<(&'a Marker, &'a Transition)> {
        let state = self.state(at.state);
        let in_value = state.hole == Some(Hole::Value);
        let ends = |marker: &Marker, transition: &Transition| {
            let tag = in_value && marker.core.starts_with('<') && !may_be_text(marker);
            transition.does(&Action::AfterEnd) || (tag && transition.next != at.state)
        };
        state.arrows().filter(|(marker, step)| is_canonical(step) || ends(marker, step)).collect()
    }

    /// The position that a transition leads to. `None` if the transition is not allowed.
    pub(super) fn target(&self, at: Position, transition: &Transition) -> Option<Position> {
        if !is_canonical(transition) {
            return None;
        }
        self.perform(&transition.actions, Position { state: transition.next, ..at })
    }

    /// The position after these actions. `None` if one of them is not allowed.
    pub(super) fn perform(&self, actions: &[Action], mut to: Position) -> Option<Position> {
        for action in actions {
            match action {
                Action::Speculate => {
                    let more = !to.called || self.limits.parallel;
                    if self.limits.offered.is_none() || !more || to.answered {
                        return None;
                    }
                    to.called = true;
                    to.thought = false;
                    to.call = Call::None;
                }
                Action::EndCall => {
                    if !self.complete(to.call) {
                        return None;
                    }
                    to.call = Call::None;
                }
                Action::EndCallIncomplete => return None,
                Action::OpenReasoning if to.called || to.answered || to.thought || !self.limits.reasoning => {
                    return None;
                }
                Action::CloseReasoning => to.thought = self.bound(Channel::Reasoning, to).is_some(),
                Action::OpenContent if self.text_is_over(to) || self.bound(Channel::Content, to) == Some(0) => {
                    return None;
                }
                // The answer can be closed once. After that only the end of the turn may come.
                Action::CloseContent if to.answered && to.called => return None,
                Action::CloseContent if to.answered => to.called = true,
                _ => {}
            }
        }
        Some(to)
    }

    fn complete(&self, call: Call) -> bool {
        match (call, &self.limits.offered) {
            (Call::Tool(tool, written), Some(Offered::These(tools))) => tools[tool].is_complete(written),
            _ => true,
        }
    }

    /// Whether plain text is no longer allowed: after the answer, and after calls if templates write no text there.
    fn text_is_over(&self, at: Position) -> bool {
        at.answered || (at.called && !(self.program.text_after_calls && self.limits.response.is_none()))
    }

    /// How long a text of the turn may be here, if a call is demanded that has not come yet.
    pub(super) fn bound(&self, channel: Channel, at: Position) -> Option<u32> {
        let demanded = self.limits.required && self.limits.response.is_none() && !at.called;
        demanded.then_some(match channel {
            Channel::Reasoning => self.limits.bounds.reasoning,
            Channel::Content | Channel::Unparsed => self.limits.bounds.text,
        })
    }

    fn may_end(&self, at: Position) -> bool {
        at.called || at.answered || (!self.limits.required && self.limits.response.is_none())
    }

    /// Like [`target`](Self::target), but a marker that ends the turn is allowed only where the turn may end.
    fn allowed_target(&self, at: Position, marker: &Marker, transition: &Transition) -> Option<Position> {
        let to = self.target(at, transition)?;
        (!marker.confirm.is_end() || self.may_end(to)).then_some(to)
    }

    pub(super) fn to(&mut self, at: Position) -> Piece {
        Piece::Node(self.graph.node(NodeKey::Position(at)))
    }

    /// An alternative that begins like this and continues at an exit.
    pub(super) fn then(&mut self, mut begin: Alternative, (to, spaced): Exit) -> Alternative {
        if spaced {
            begin.push(self.space());
        }
        begin.push(self.to(to));
        begin
    }

    /// The number of a name that closing markers contain.
    pub(super) fn name_index(&mut self, name: &str) -> usize {
        let known = self.names.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        })
    }

    pub(super) fn space(&mut self) -> Piece {
        Piece::Expr(self.values.space(&mut self.builder))
    }

    // ----- the alternatives of a position -----

    fn fill(&mut self, key: NodeKey, id: NodeId) {
        match key {
            NodeKey::Position(at) => {
                let node = self.state(at.state);
                let alternatives = match &node.hole {
                    None => self.markers(at, node),
                    Some(Hole::Text(_)) if self.text_is_over(at) => self.after(at, node),
                    Some(Hole::Text(Channel::Content)) if self.limits.response.is_some() => self.response(at),
                    Some(Hole::Text(channel)) => self.text_from_its_start(at, self.bound(*channel, at)),
                    Some(Hole::Name) => self.name(at),
                    Some(Hole::Id) => self.any_name(at),
                    Some(Hole::ArgumentName) => self.argument_name(at),
                    Some(Hole::Value) => self.text_alternatives(NodeKey::Text(at, 0), 0),
                    Some(Hole::Literal(quote)) => {
                        let syntax = if quote.is_empty() { Syntax::Python } else { Syntax::quoted(quote) };
                        let value = self.values.any(&mut self.builder, syntax);
                        self.value(at, node, Some(value))
                    }
                    Some(Hole::Json) | Some(Hole::Python) => {
                        let value = self.whole_arguments(at.call, node.hole == Some(Hole::Python));
                        // This value holds all arguments, so none is missing after it.
                        self.value(Position { call: Call::Any, ..at }, node, value)
                    }
                    Some(Hole::Object(shape)) => {
                        let value = self.object(shape, at.call);
                        // The object holds all arguments, so none is missing after it.
                        let call = if shape.announced { Call::Any } else { at.call };
                        self.value(Position { call, ..at }, node, value)
                    }
                };
                let name = self.name_of(at, node);
                let comment = match &node.hole {
                    Some(Hole::Text(_)) if self.text_is_over(at) => None,
                    Some(Hole::Text(Channel::Content)) if self.limits.response.is_some() => None,
                    Some(Hole::Text(Channel::Content)) => Some(up_to("The answer", node)),
                    Some(Hole::Text(Channel::Reasoning)) => Some(up_to("Reasoning", node)),
                    Some(Hole::Value) => Some(up_to("Raw text", node)),
                    _ => None,
                };
                self.graph.fill(id, name, comment, alternatives);
            }
            NodeKey::Text(at, index) => {
                let alternatives = self.text_alternatives(key, index);
                let name = self.name_of(at, self.state(at.state));
                self.graph.fill(id, name, None, alternatives);
            }
            NodeKey::Value { state, at: index, .. } | NodeKey::Named { state, at: index, .. } => {
                let alternatives = self.text_alternatives(key, index);
                let comment = (index == 0).then(|| up_to("Raw text", self.state(state)));
                self.graph.fill(id, "text", comment, alternatives);
            }
        }
    }

    fn name_of(&self, at: Position, node: &State) -> String {
        let base = match &node.hole {
            Some(Hole::Text(_)) if self.text_is_over(at) => "end",
            Some(Hole::Text(Channel::Content)) if self.limits.response.is_some() => "response",
            Some(Hole::Text(Channel::Content)) => "content",
            Some(Hole::Text(Channel::Reasoning)) => "reasoning",
            Some(Hole::Text(Channel::Unparsed)) => "unparsed",
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
        match (at.call, &self.limits.offered) {
            (Call::Tool(tool, _), Some(Offered::These(tools))) => format!("{}-{base}", tools[tool].name),
            _ => base.to_owned(),
        }
    }
}

/// Whether a marker that is not allowed here may be text instead. This holds for punctuation.
fn may_be_text(marker: &Marker) -> bool {
    marker.core.chars().nth(PUNCTUATION - 1).is_none()
}

/// Whether a template writes this. What parsers only tolerate is in no grammar.
pub(super) fn is_canonical(transition: &Transition) -> bool {
    transition.origin == Origin::Canonical
}

/// The arrows that templates write.
fn written(program: &Program) -> impl Iterator<Item = (&Marker, &Transition)> {
    program.states.iter().flat_map(State::arrows).filter(|(_, step)| is_canonical(step))
}

/// The white space that may be between pieces of syntax: none, one blank, one or two line breaks, and what templates write next to their
/// markers.
pub(super) fn layouts(program: &Program) -> Vec<String> {
    let [mut before, mut after] = [vec![""], vec![""]];
    for (marker, _) in written(program) {
        for (all, text) in [(&mut before, &*marker.before), (&mut after, &*marker.after)] {
            if text.trim_matches([' ', '\t', '\n', '\r']).is_empty() && !all.contains(&text) {
                all.push(text);
            }
        }
    }
    let mut layouts: Vec<String> = [" ", "\n", "\n\n"].map(str::to_owned).to_vec();
    for after in after {
        for before in &before {
            let both = [after, before].concat();
            if !layouts.contains(&both) {
                layouts.push(both);
            }
        }
    }
    layouts
}

/// Whether the template may break lines in values and indent them: it writes calls as a list in JSON, or its markers are indented.
pub(super) fn indents(program: &Program) -> bool {
    let indented = |text: &str| text.contains("\n ");
    written(program)
        .any(|(marker, _)| marker.core.ends_with('[') || indented(&marker.before) || indented(&marker.after))
}

/// The comment of a rule for free text, for readers of the grammar.
fn up_to(what: &str, node: &State) -> String {
    let written = node.arrows().filter(|(_, transition)| is_canonical(transition));
    let mut cores: Vec<&str> = written.map(|(marker, _)| &*marker.core).collect();
    cores.sort_unstable();
    cores.dedup();
    // More of them tell a reader nothing.
    let shown: Vec<String> = cores.iter().take(4).map(|core| format!("`{}`", core.escape_debug())).collect();
    format!("{what}, up to a marker such as {}.", shown.join(" or "))
}

/// Whether a transition changes nothing that a grammar has to remember.
pub(super) fn is_irrelevant(transition: &Transition) -> bool {
    transition
        .actions
        .iter()
        .all(|action| matches!(action, Action::Id | Action::EndArgument | Action::EndNestedArgument(_)))
}

impl TurnRules<'_> {
    /// Whether white space may come between a name and this marker: if the template writes some there, and before a tag, whether it
    /// is spelled or a token.
    fn spaced_before(&self, marker: &Marker) -> bool {
        let is_tag = |first: char| {
            first == '<' || self.builder.tokens().of(first).is_some_and(|token| token.text().starts_with('<'))
        };
        !marker.before.is_empty() || marker.core.chars().next().is_some_and(is_tag)
    }
}
