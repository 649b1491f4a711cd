//! The rules of one turn. The machine that reads a turn is walked together with what a grammar has to remember beside
//! it: whether a call was made, which tool is being called, which of its arguments are written. Where those forbid a
//! step, there is no rule for it. So a grammar writes what the parser reads, and no other syntax is known here.
//!
//! A turn that has made a call goes on with further calls or ends; it goes back to plain text only where templates
//! write an answer behind calls.

use std::collections::HashMap;
use std::rc::Rc;

use serde_json::Value;

use super::call::{Done, ToolRules};
use super::graph::{Graph, NodeId, Piece, Way};
use super::plan::{Act, Node, Plan, Reads, Step};
use super::syntax::{Syntax, class};
use super::until::{Stop, Until, Way as TextWay};
use super::values::{NAME, Values};
use super::{Builder, Class, Expr, choice, option, repeat, some, text};
use crate::event::Channel;
use crate::machine::State;
use crate::markers::{Confirm, Marker};

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
    pub(super) state: State,
    /// A call was made or is open.
    pub(super) called: bool,
    /// The answer that a schema asks for was written.
    pub(super) answered: bool,
    pub(super) call: Call,
}

impl At {
    /// A state of a turn in which nothing was called.
    pub(super) fn new(state: State) -> Self {
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
    Value(State, usize),
}

/// Text in a state: its automaton, and where each of its stops leads.
struct Table {
    until: Until,
    exits: Vec<Vec<At>>,
}

/// An argument: the state of its name, the tool, and which of its properties it is, if any.
pub(super) type ArgumentKey = (State, usize, Option<usize>);

/// A turn in the making.
pub(super) struct Turn<'a> {
    pub(super) plan: &'a Plan<'a>,
    pub(super) rules: Rules<'a>,
    pub(super) builder: Builder,
    pub(super) values: Values,
    pub(super) graph: Graph<Key>,
    tables: HashMap<Key, Rc<Table>>,
    /// The rules of single arguments.
    pub(super) arguments: HashMap<ArgumentKey, Option<(NodeId, State)>>,
}

impl<'a> Turn<'a> {
    pub(super) fn new(plan: &'a Plan<'a>, rules: Rules<'a>) -> Self {
        let (builder, values) = (Builder::new(), Values::default());
        Self { plan, rules, builder, values, graph: Graph::new(), tables: HashMap::new(), arguments: HashMap::new() }
    }

    /// The grammar of the whole turn from a state on. `None` where nothing fits.
    pub(super) fn whole(mut self, state: State, read: &str) -> (Option<String>, Values) {
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
                if step.acts.contains(&Act::OpenCall)
                    && let Some(to) = self.go(at, &step)
                {
                    let core = if marker.take { marker.core } else { "" };
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
        let states = [Some(self.plan.start), Some(self.plan.content), self.plan.reasoning];
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

    pub(super) fn node(&self, state: State) -> Node<'a> {
        self.plan.nodes.get(usize::from(state.0)).copied().unwrap_or(Node::new(Reads::Markers))
    }

    /// The markers of a state, and where they lead.
    pub(super) fn steps(&self, at: At) -> Vec<(Marker<'a>, Step<'a>)> {
        let node = self.node(at.state);
        node.markers.list.iter().copied().zip(node.steps.iter().copied()).collect()
    }

    /// Where a step leads. `None` where it may not be made.
    pub(super) fn go(&self, at: At, step: &Step<'_>) -> Option<At> {
        let mut to = At { state: step.next, ..at };
        for act in step.acts {
            match act {
                Act::OpenCall => {
                    let more = !to.called || self.rules.parallel;
                    if self.rules.offered.is_none() || !more || to.answered {
                        return None;
                    }
                    to.called = true;
                    to.call = Call::None;
                }
                Act::EndCall => {
                    if !self.complete(to.call) {
                        return None;
                    }
                    to.call = Call::None;
                }
                Act::EndCallIncomplete => return None,
                Act::OpenReasoning if to.called || to.answered || !self.rules.reasoning => return None,
                Act::OpenContent if self.is_over(to) => return None,
                // Once: then nothing is left but the end.
                Act::CloseContent if to.answered && to.called => return None,
                Act::CloseContent if to.answered => to.called = true,
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
        at.answered || (at.called && !(self.plan.text_after_calls && self.rules.response.is_none()))
    }

    /// Whether the turn may be over.
    fn may_end(&self, at: At) -> bool {
        at.called || at.answered || (!self.rules.required && self.rules.response.is_none())
    }

    /// Whether a step can be made here: a turn's end only where it may be.
    fn follow(&self, at: At, marker: &Marker<'_>, step: &Step<'_>) -> Option<At> {
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
                let node = self.node(at.state);
                let ways = match node.reads {
                    Reads::Markers => self.markers(at, &node),
                    Reads::Text(_) if self.is_over(at) => self.after(at, &node),
                    Reads::Text(Channel::Content) if self.rules.response.is_some() => self.response(at),
                    Reads::Text(_) => self.point(Key::Text(at, 0), 0),
                    Reads::Name => self.name(at),
                    Reads::Id => self.any_name(at),
                    Reads::ArgumentName => self.argument_name(at),
                    Reads::Value => self.point(Key::Text(at, 0), 0),
                    Reads::Literal(quote) => {
                        let syntax = if quote.is_empty() { Syntax::Python } else { Syntax::quoted(quote) };
                        let value = self.values.any(&mut self.builder, syntax);
                        self.value(at, &node, Some(value))
                    }
                    Reads::Json | Reads::Python => {
                        let python = node.reads == Reads::Python;
                        let value = self.whole_arguments(at.call, python);
                        // All arguments are written then.
                        self.value(At { call: Call::Any, ..at }, &node, value)
                    }
                    Reads::Object(shape) => {
                        let value = self.object(&shape);
                        self.value(at, &node, value)
                    }
                };
                let name = self.name_of(at, &node);
                let comment = match node.reads {
                    Reads::Text(_) if self.is_over(at) => None,
                    Reads::Text(Channel::Content) if self.rules.response.is_some() => None,
                    Reads::Text(Channel::Content) => Some(up_to("The answer", &node)),
                    Reads::Text(Channel::Reasoning) => Some(up_to("Reasoning", &node)),
                    Reads::Value => Some(up_to("Raw text", &node)),
                    _ => None,
                };
                self.graph.fill(id, name, comment, ways);
            }
            Key::Text(at, point) => {
                let ways = self.point(key, point);
                let name = self.name_of(at, &self.node(at.state));
                self.graph.fill(id, name, None, ways);
            }
            Key::Value(state, point) => {
                let ways = self.point(key, point);
                let comment = (point == 0).then(|| up_to("Raw text", &self.node(state)));
                self.graph.fill(id, "text", comment, ways);
            }
        }
    }

    /// What a rule is called.
    fn name_of(&self, at: At, node: &Node<'_>) -> String {
        let base = match node.reads {
            Reads::Text(_) if self.is_over(at) => "end",
            Reads::Text(Channel::Content) if self.rules.response.is_some() => "response",
            Reads::Text(Channel::Content) => "content",
            Reads::Text(Channel::Reasoning) => "reasoning",
            Reads::Name => "call",
            Reads::Id => "id",
            Reads::ArgumentName => "arguments",
            Reads::Value | Reads::Literal(_) => "value",
            Reads::Json | Reads::Python => "arguments",
            Reads::Object(_) => "call",
            Reads::Markers if at.state == self.plan.start => "turn",
            Reads::Markers if at.called => "more",
            Reads::Markers => "next",
        };
        match (at.call, &self.rules.offered) {
            (Call::Tool(tool, _), Some(Offered::These(tools))) => format!("{}-{base}", tools[tool].name),
            _ => base.to_owned(),
        }
    }

    /// Only markers may stand here.
    fn markers(&mut self, at: At, node: &Node<'a>) -> Vec<Way> {
        let is_text = |turn: &Self, step: &Step<'_>| matches!(turn.node(step.next).reads, Reads::Text(_));
        let otherwise = node.otherwise.and_then(|step| Some((step, self.go(at, &step)?)));
        let start = at.state == self.plan.start && self.rules.response.is_none();
        let mut steps = self.steps(at);
        if at.state == self.plan.start && self.rules.response.is_some() {
            // What a model repeats of the prompt would be text, and no answer.
            steps.retain(|(marker, step)| !step.acts.is_empty() || marker.confirm == Confirm::End);
        }
        if let Some((step, _)) = otherwise
            && start
            && is_text(self, &step)
        {
            // What follows reads them as well.
            let follow = self.node(step.next);
            let known = |marker: &Marker<'_>, step: &Step<'_>| {
                follow.markers.list.iter().zip(follow.steps).any(|(m, s)| m.core == marker.core && s == step)
            };
            steps.retain(|(marker, s)| !known(marker, s) && (!s.acts.is_empty() || s.next != step.next));
        }
        let lead = if start { None } else { Some(self.space()) };
        let mut ways = self.marker_ways(at, &steps, lead);
        if let Some((step, to)) = otherwise
            && !(self.is_over(at) && is_text(self, &step))
        {
            ways.push(vec![self.to(to)]);
        }
        self.end(at, node, &mut ways);
        ways
    }

    /// Adds the end of the turn, where it may be.
    fn end(&mut self, at: At, node: &Node<'_>, ways: &mut Vec<Way>) {
        let Some(acts) = node.end else { return };
        let to = self.go(at, &Step::new(acts, at.state));
        if to.is_some_and(|to| self.may_end(to)) {
            ways.push(vec![self.space()]);
        }
    }

    /// The ways that begin with a marker; those that lead to the same place are one.
    fn marker_ways(&mut self, at: At, steps: &[(Marker<'a>, Step<'a>)], lead: Option<Piece>) -> Vec<Way> {
        let mut groups: Vec<(At, bool, Vec<Expr>)> = Vec::new();
        for (marker, step) in steps {
            let Some(to) = self.follow(at, marker, step) else { continue };
            let core = text(if marker.take { marker.core } else { "" });
            let spaced = self.spaced_after(marker, to);
            match groups.iter_mut().find(|(other, other_spaced, _)| (*other, *other_spaced) == (to, spaced)) {
                Some((_, _, cores)) => cores.push(core),
                None => groups.push((to, spaced, vec![core])),
            }
        }
        let mut ways = Vec::with_capacity(groups.len());
        for (to, spaced, cores) in groups {
            let mut way: Way = lead.iter().cloned().collect();
            way.push(Piece::Expr(choice(cores)));
            if spaced {
                way.push(self.space());
            }
            way.push(self.to(to));
            ways.push(way);
        }
        ways
    }

    /// Whether white space behind a marker has to be allowed here: other states do it by themselves.
    fn spaced_after(&self, marker: &Marker<'_>, to: At) -> bool {
        !marker.after.is_empty() && matches!(self.node(to.state).reads, Reads::Name | Reads::Id | Reads::ArgumentName)
    }

    /// Behind a call, or behind the answer: another call, or the end.
    fn after(&mut self, at: At, node: &Node<'a>) -> Vec<Way> {
        let mut steps = self.steps(at);
        steps.retain(|(marker, step)| {
            let frame = at.answered && step.acts.contains(&Act::CloseContent);
            marker.confirm == Confirm::End || step.acts.contains(&Act::OpenCall) || frame
        });
        let lead = Some(self.space());
        let mut ways = self.marker_ways(at, &steps, lead);
        self.end(at, node, &mut ways);
        ways
    }

    /// The answer that a schema asks for, and what may stand before it.
    fn response(&mut self, at: At) -> Vec<Way> {
        let mut steps = self.steps(at);
        steps.retain(|(marker, step)| marker.confirm != Confirm::End && !step.acts.contains(&Act::CloseContent));
        let lead = Some(self.space());
        let mut ways = self.marker_ways(at, &steps, lead);
        if let Some(schema) = self.rules.response
            && !self.rules.required
        {
            let Some(value) = self.values.response(&mut self.builder, schema) else { return ways };
            let value = Piece::Expr(value);
            let space = self.space();
            let to = self.to(At { answered: true, ..at });
            let fence = |ticks: &str| Piece::Expr(text(ticks));
            let label = Piece::Expr(option(text("json")));
            ways.push(vec![space.clone(), value.clone(), to.clone()]);
            ways.push(vec![
                space.clone(),
                fence("```"),
                label,
                fence("\n"),
                space.clone(),
                value,
                space,
                fence("```"),
                to,
            ]);
        }
        ways
    }

    /// A value that ends by itself.
    fn value(&mut self, at: At, node: &Node<'_>, value: Option<Expr>) -> Vec<Way> {
        let to = node.otherwise.and_then(|step| self.go(at, &step));
        match (to, value) {
            (Some(to), Some(value)) => vec![vec![self.space(), Piece::Expr(value), self.to(to)]],
            _ => Vec::new(),
        }
    }

    /// What is left of the markers of a state, of which the prompt wrote the beginning.
    fn rest_of_markers(&mut self, at: At, read: &str) -> Vec<Way> {
        let mut ways = Vec::new();
        for (marker, step) in self.steps(at) {
            if let Some(rest) = marker.core.strip_prefix(read)
                && let Some(to) = self.follow(at, &marker, &step)
            {
                ways.push(vec![Piece::Expr(text(rest)), self.to(to)]);
            }
        }
        ways
    }

    // ----- text -----

    /// The text of a state, as an automaton.
    fn table(&mut self, key: Key) -> Rc<Table> {
        let key = match key {
            Key::Text(at, _) => Key::Text(at, 0),
            Key::Value(state, _) => Key::Value(state, 0),
            Key::At(_) => key,
        };
        if let Some(table) = self.tables.get(&key) {
            return Rc::clone(table);
        }
        let at = match key {
            Key::Text(at, _) | Key::At(at) => at,
            Key::Value(state, _) => At::new(state),
        };
        let mut stops: Vec<Stop<'_>> = Vec::new();
        let mut exits: Vec<Vec<At>> = Vec::new();
        for (marker, step) in self.steps(at) {
            if marker.core.is_empty() {
                continue;
            }
            let to = self.follow(at, &marker, &step);
            if to.is_none() && self.may_be_text(&marker) {
                continue;
            }
            let number = stops.iter().position(|stop| stop.core == marker.core).unwrap_or(stops.len());
            if number == stops.len() {
                let confirm = match marker.confirm {
                    Confirm::Next(cores) => cores.to_vec(),
                    _ => Vec::new(),
                };
                stops.push(Stop { core: marker.core, confirm, peek: !marker.take });
                exits.push(Vec::new());
            }
            exits[number].extend(to);
        }
        let table = Rc::new(Table { until: Until::new(&stops), exits });
        self.tables.insert(key, Rc::clone(&table));
        table
    }

    /// Whether a marker that leads nowhere may stand in a text: punctuation, which says nothing by itself.
    fn may_be_text(&self, marker: &Marker<'_>) -> bool {
        marker.core.len() < 3
    }

    /// What may come at a point of a text.
    fn point(&mut self, key: Key, point: usize) -> Vec<Way> {
        let table = self.table(key);
        let Some(here) = table.until.points.get(point) else { return Vec::new() };
        let mut ways: Vec<Way> = Vec::new();
        for way in &here.ways {
            match way {
                TextWay::Char(chars, next) => {
                    let next = self.graph.node(self.text_key(key, *next));
                    ways.push(vec![Piece::Expr(class(chars)), Piece::Node(next)]);
                }
                TextWay::Stop(char, stop) => {
                    let char = Piece::Expr(text(char.to_string()));
                    ways.extend(self.exits(key, &table.exits[*stop], Some(char)));
                }
                TextWay::Peek(stop) => ways.extend(self.exits(key, &table.exits[*stop], None)),
            }
        }
        if let Key::Text(at, _) = key
            && here.free
            && matches!(self.node(at.state).reads, Reads::Text(_))
            && self.node(at.state).end.is_some()
            && self.may_end(at)
        {
            ways.push(Vec::new());
        }
        ways
    }

    fn exits(&mut self, key: Key, exits: &[At], char: Option<Piece>) -> Vec<Way> {
        if let Key::Value(..) = key {
            return vec![char.into_iter().collect()];
        }
        let exits: Vec<Way> = exits.iter().map(|to| char.iter().cloned().chain([self.to(*to)]).collect()).collect();
        exits
    }

    fn text_key(&self, key: Key, point: usize) -> Key {
        match key {
            // The beginning of a text is what its state is.
            Key::Text(at, _) if point == 0 && matches!(self.node(at.state).reads, Reads::Text(_) | Reads::Value) => {
                Key::At(at)
            }
            Key::Text(at, _) => Key::Text(at, point),
            Key::Value(state, _) => Key::Value(state, point),
            Key::At(at) => Key::At(at),
        }
    }

    /// Any name, and the markers behind it.
    pub(super) fn any_name(&mut self, at: At) -> Vec<Way> {
        let call = if self.node(at.state).reads == Reads::Name { Call::Any } else { at.call };
        let name = Piece::Expr(repeat(self.name_class(at.state), 1, Some(NAME)));
        let mut ways = Vec::new();
        for (marker, step) in self.steps(at) {
            let layout = if spaced_before(&marker) { self.space() } else { Piece::Expr(Expr::EMPTY) };
            for rest in self.marker_ways(At { call, ..at }, &[(marker, step)], None) {
                ways.push([name.clone(), layout.clone()].into_iter().chain(rest).collect());
            }
        }
        ways
    }

    /// The characters that a name is made of where it is not known: no punctuation but what joins words, and none
    /// that its markers begin with.
    pub(super) fn name_class(&self, state: State) -> Class {
        let joining = ['_', '-', '.', ':', '/', '$'].map(|char| (char, char));
        let words = [('a', 'z'), ('A', 'Z'), ('0', '9'), ('\u{a1}', char::MAX)];
        let firsts = self.node(state).markers.list.iter().filter_map(|marker| marker.core.chars().next());
        Class::ranges(words.into_iter().chain(joining)).intersect(&Class::of(firsts).negate())
    }

    // ----- names -----

    fn name(&mut self, at: At) -> Vec<Way> {
        let names: Vec<(usize, String)> = match &self.rules.offered {
            Some(Offered::These(tools)) => {
                tools.iter().enumerate().map(|(index, tool)| (index, tool.name.clone())).collect()
            }
            Some(Offered::Any) => return self.any_name(at),
            None => return Vec::new(),
        };
        let mut ways = Vec::new();
        for (tool, name) in names {
            let call = Call::Tool(tool, Done::default());
            let mut steps: Vec<(Marker<'a>, Step<'a>)> = Vec::new();
            let mut labels: Vec<Way> = Vec::new();
            for (marker, step) in self.steps(at) {
                let mut way = vec![text(&*name)];
                if let Some(Act::StartLabelled { prefix, separator }) =
                    step.acts.iter().find(|act| matches!(act, Act::StartLabelled { .. }))
                {
                    let digits = some(Class::ranges([('0', '9')]));
                    let index = super::sequence([text(*separator), digits]);
                    way = vec![option(text(*prefix)), text(&*name), option(index)];
                }
                let mut way: Way = way.into_iter().map(Piece::Expr).collect();
                if spaced_before(&marker) {
                    way.push(self.space());
                }
                steps.push((marker, step));
                labels.push(way);
            }
            // Markers that lead to the same place stand together.
            let mut lead: Vec<(Way, Vec<(Marker<'a>, Step<'a>)>)> = Vec::new();
            for (way, step) in labels.into_iter().zip(steps) {
                match lead.iter_mut().find(|(other, _)| *other == way) {
                    Some((_, steps)) => steps.push(step),
                    None => lead.push((way, vec![step])),
                }
            }
            for (way, steps) in lead {
                for rest in self.marker_ways(At { call, ..at }, &steps, None) {
                    ways.push(way.iter().cloned().chain(rest).collect());
                }
            }
        }
        ways
    }
}

/// What a rule of text is, for people.
fn up_to(what: &str, node: &Node<'_>) -> String {
    let mut cores: Vec<&str> = node.markers.list.iter().map(|marker| marker.core).collect();
    cores.sort_unstable();
    cores.dedup();
    let cores: Vec<String> = cores.iter().map(|core| format!("`{}`", core.escape_debug())).collect();
    format!("{what}, up to {}.", cores.join(" or "))
}

/// Whether white space may stand between a name and a marker: where the template writes some, and before a tag.
pub(super) fn spaced_before(marker: &Marker<'_>) -> bool {
    !marker.before.is_empty() || marker.core.starts_with('<')
}
