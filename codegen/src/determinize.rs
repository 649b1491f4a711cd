//! Makes a plan deterministic: turns the grammar of a turn into the states of a [`Program`]. In each state the next
//! marker alone decides the next state. Markers that cannot be told apart are reported.
//!
//! It must not know what a spec is.

mod graph;
mod merge;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use unjinja_runtime::abi::{
    Action, Channel, Confirm, Hole, InText, Marker, NameKind, NextName, Origin, State, StateId, Transition,
};

use unjinja_spec::MarkerKey;

use crate::error::LowerProblem;
use crate::plan::{HoleRole, Literal, Openers, Plan, PlanHole, Role, RuleId};
use graph::{Closure, Continuation, Edge, Graph, Way};

/// The states of a plan, and those with a special meaning.
#[derive(Clone, Debug)]
pub(crate) struct States {
    pub list: Vec<State>,
    /// For each marker of each state, the rule that tolerates it.
    pub rules: Vec<Rules>,
    /// The state at the start of a turn.
    pub start: StateId,
    /// The state of answer text.
    pub content: StateId,
    /// The state of reasoning, if the format has any.
    pub reasoning: Option<StateId>,
    /// The state at the start of reasoning, where its opener may be repeated.
    pub reasoning_start: Option<StateId>,
    /// The state of broken markup, if the format has calls.
    pub unparsed: Option<StateId>,
}

/// For each marker of a state, the rule that tolerates it; `None` if a template writes it.
pub(crate) type Rules = Vec<Option<RuleId>>;

/// What a state means: a node, or a hole that is being filled.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Node(usize),
    Hole(usize),
}

struct Builder {
    graph: Graph,
    first: usize,
    last: usize,
    /// The node that follows each hole.
    targets: Vec<usize>,
    keys: HashMap<Key, usize>,
    /// What `target` returned for each node, and `exits` and `afters` for each hole.
    known_targets: Vec<Option<(Way, usize)>>,
    known_exits: RefCell<Vec<Option<Rc<[Continuation]>>>>,
    known_afters: RefCell<Vec<Option<Rc<[String]>>>>,
    states: Vec<State>,
    /// The markers of each state. What a search needs of them is found when the states are merged: most of them are equal.
    markers: Vec<Vec<Marker>>,
    rules: Vec<Rules>,
    queue: Vec<(usize, Key)>,
    conflicts: Vec<LowerProblem>,
    names: HashMap<String, usize>,
    /// The marker or hole before each node; states are named after it.
    after: HashMap<usize, &'static str>,
}

/// The word for a hole in the name of the state after it.
fn hole_key(hole: &PlanHole) -> &'static str {
    match hole.reads {
        Hole::Text(_) => "text",
        Hole::Name => "name",
        Hole::Id => "id",
        Hole::ArgumentName => "argument_name",
        Hole::Value | Hole::Literal(_) => "argument_value",
        Hole::Json | Hole::Python => "arguments",
        Hole::Object(_) => "call",
    }
}

pub(crate) fn determinize(plan: &Plan) -> Result<States, Vec<LowerProblem>> {
    let mut graph = Graph::default();
    let first = graph.node();
    let last = graph.add(&plan.turn, first);
    let mut targets = vec![0; graph.holes.len()];
    let mut after = HashMap::new();
    for edges in &graph.edges {
        for (edge, to) in edges {
            match edge {
                Edge::Hole(hole) => {
                    targets[*hole] = *to;
                    after.insert(*to, hole_key(&graph.holes[*hole]));
                }
                Edge::Literal(literal) => {
                    after.insert(*to, graph.literals[*literal].key.as_str());
                }
                _ => {}
            }
        }
    }
    let (nodes, holes) = (graph.edges.len(), graph.holes.len());
    let mut builder = Builder {
        graph,
        first,
        last,
        targets,
        keys: HashMap::new(),
        known_targets: vec![None; nodes],
        known_exits: RefCell::new(vec![None; holes]),
        known_afters: RefCell::new(vec![None; holes]),
        states: Vec::new(),
        markers: Vec::new(),
        rules: Vec::new(),
        queue: Vec::new(),
        conflicts: Vec::new(),
        names: HashMap::new(),
        after,
    };
    let (_, start) = builder.target(first);
    let text = |builder: &Builder, wanted: Channel| {
        builder.graph.holes.iter().position(|hole| hole.reads == Hole::Text(wanted))
    };
    let content = text(&builder, Channel::Content).map(|hole| builder.state(Key::Hole(hole)));
    let reasoning = text(&builder, Channel::Reasoning).map(|hole| builder.state(Key::Hole(hole)));
    let unparsed = builder.graph.holes.iter().position(|hole| hole.role == HoleRole::BrokenCall);
    let unparsed = unparsed.map(|hole| builder.state(Key::Hole(hole)));
    let opened = builder.graph.edges.iter().flatten().find_map(|(edge, to)| match edge {
        Edge::Action(Action::OpenReasoning) => Some(*to),
        _ => None,
    });
    let reasoning_start = opened.map(|node| builder.target(node).1).or(reasoning);
    let content = content.unwrap_or(start);
    while let Some((index, key)) = builder.queue.pop() {
        builder.fill(index, key);
    }
    if builder.conflicts.is_empty() {
        let id = |index: usize| StateId(index as u16);
        let [reasoning, reasoning_start, unparsed] = [reasoning, reasoning_start, unparsed].map(|state| state.map(id));
        let (list, rules, start, content) = (builder.states, builder.rules, id(start), id(content));
        Ok(States { list, rules, start, content, reasoning, reasoning_start, unparsed }
            .merged(builder.markers)
            .with_searches())
    } else {
        builder.conflicts.sort_unstable();
        builder.conflicts.dedup();
        Err(builder.conflicts)
    }
}

impl Builder {
    /// The state for a key; made at the first request.
    fn state(&mut self, key: Key) -> usize {
        if let Some(&index) = self.keys.get(&key) {
            return index;
        }
        let index = self.states.len();
        let name = self.name(key);
        let exact = key == Key::Node(self.first);
        self.states.push(State { name: name.into(), exact, ..State::new("", None) });
        self.markers.push(Vec::new());
        self.rules.push(Vec::new());
        self.keys.insert(key, index);
        self.queue.push((index, key));
        index
    }

    fn name(&mut self, key: Key) -> String {
        let base = match key {
            Key::Hole(hole) => match &self.graph.holes[hole].reads {
                Hole::Text(Channel::Content) => "CONTENT".to_owned(),
                Hole::Text(Channel::Reasoning) => "REASONING".to_owned(),
                Hole::Text(Channel::Unparsed) => "UNPARSED".to_owned(),
                Hole::Name => "CALL_NAME".to_owned(),
                Hole::Id => "CALL_ID".to_owned(),
                Hole::ArgumentName => "ARGUMENT_NAME".to_owned(),
                Hole::Value | Hole::Literal(_) => "ARGUMENT_VALUE".to_owned(),
                Hole::Json | Hole::Python => "ARGUMENTS".to_owned(),
                Hole::Object(_) => "CALL".to_owned(),
            },
            Key::Node(node) => match self.after.get(&node) {
                Some(key) => {
                    let key = key.strip_prefix("tools.").unwrap_or(key);
                    format!("AFTER_{}", key.replace('.', "_").to_uppercase())
                }
                None => "START".to_owned(),
            },
        };
        let count = self.names.entry(base.clone()).or_insert(0);
        *count += 1;
        if *count == 1 { base } else { format!("{base}_{count}") }
    }

    /// The way that leads to `node`, and the state in which reading continues there.
    fn target(&mut self, node: usize) -> (Way, usize) {
        if let Some(known) = &self.known_targets[node] {
            return known.clone();
        }
        let target = self.target_of(node);
        self.known_targets[node] = Some(target.clone());
        target
    }

    fn target_of(&mut self, node: usize) -> (Way, usize) {
        let closure = self.graph.closure(node, self.last);
        if let Some((way, hole, _)) = closure.holes.first() {
            let reachable = self.exits(*hole);
            let covered = closure
                .literals
                .iter()
                .all(|(way, literal, _)| reachable.iter().any(|(other, l, _)| l == literal && other == way));
            let is_text = matches!(self.graph.holes[*hole].reads, Hole::Text(_));
            if closure.literals.is_empty() || (covered && is_text && way.actions().is_empty()) {
                let state = self.state(Key::Hole(*hole));
                return (closure.eager.then(way), state);
            }
        }
        let state = self.state(Key::Node(node));
        (closure.eager.clone(), state)
    }

    /// The continuations at which a hole ends.
    fn exits(&self, hole: usize) -> Rc<[Continuation]> {
        let known = self.known_exits.borrow()[hole].clone();
        known.unwrap_or_else(|| {
            let exits: Rc<[Continuation]> = self.exits_of(hole).into();
            self.known_exits.borrow_mut()[hole] = Some(Rc::clone(&exits));
            exits
        })
    }

    fn exits_of(&self, hole: usize) -> Vec<Continuation> {
        let closure = self.graph.closure(self.targets[hole], self.last);
        let mut literals = closure.literals.clone();
        let PlanHole { reads, until, openers, .. } = &self.graph.holes[hole];
        if let Hole::Text(_) = reads {
            literals.retain(|(_, literal, _)| {
                let literal = &self.graph.literals[*literal];
                until.contains(&literal.role) && (literal.role != Role::CallOpen || openers.allow(literal))
            });
        }
        for continuation in &mut literals {
            continuation.0 = closure.eager.then(&continuation.0);
        }
        literals
    }

    fn fill(&mut self, index: usize, key: Key) {
        match key {
            Key::Hole(hole) => {
                let reads = self.graph.holes[hole].reads.clone();
                let closure = self.graph.closure(self.targets[hole], self.last);
                self.states[index].hole = Some(reads.clone());
                match reads {
                    Hole::Json | Hole::Python | Hole::Literal(_) | Hole::Object(_) => {
                        let (way, next) = self.target(self.targets[hole]);
                        self.states[index].otherwise = vec![transition("", &way, next, true)].into();
                        if matches!(reads, Hole::Json | Hole::Object(_)) {
                            // Only tags: they cannot occur in JSON outside of strings.
                            let mut stops = self.exits(hole).to_vec();
                            self.without_text_markers(&mut stops, &closure.holes);
                            stops.retain(|(_, literal, _)| {
                                unjinja_spec::begins_tag(&self.graph.literals[*literal].core)
                            });
                            self.set_markers(index, stops);
                        } else if let Hole::Literal(_) = reads {
                            let mut stops = self.exits(hole).to_vec();
                            stops.retain(|(_, literal, _)| self.graph.literals[*literal].role == Role::Unclosed);
                            self.set_markers(index, stops);
                        }
                    }
                    _ => {
                        let exits = self.exits(hole);
                        self.set_markers(index, exits.to_vec());
                        if self.graph.holes[hole].openers == Openers::Tolerated {
                            self.states[index].transitions.change(|step| {
                                if step.does(&Action::Speculate) {
                                    step.origin = Origin::Recovery;
                                }
                            });
                        }
                        if let (Hole::Text(_), Some(end)) = (&reads, &closure.end) {
                            self.states[index].end = Some(closure.eager.then(end).actions().into());
                        }
                    }
                }
            }
            Key::Node(node) => {
                let closure = self.graph.closure(node, self.last);
                let mut literals = closure.literals.clone();
                literals.retain(|(_, literal, _)| self.graph.literals[*literal].role != Role::Unclosed);
                self.without_text_markers(&mut literals, &closure.holes);
                self.set_markers(index, literals);
                if let Some((way, hole, _)) = closure.holes.first() {
                    let next = self.state(Key::Hole(*hole));
                    self.states[index].otherwise = vec![transition("", way, next, true)].into();
                }
                self.states[index].end = closure.end.as_ref().map(|way| Cow::Owned(way.actions()));
            }
        }
    }

    fn is_text(&self, index: usize) -> bool {
        matches!(self.states[index].hole, Some(Hole::Text(_)))
    }

    /// Sets the markers of a state. Each continuation is a literal with the actions before it and the node after it.
    fn set_markers(&mut self, state: usize, continuations: Vec<Continuation>) {
        // If the end of a turn and the start of a call begin alike, the text is the end of the turn only at the very
        // end of the output.
        let ends_turn = |(_, literal, _): &Continuation| self.graph.literals[*literal].role == Role::TurnEnd;
        let (ends, others): (Vec<_>, Vec<_>) = continuations.into_iter().partition(ends_turn);
        // The literal, the node after it, where it leads, whether a template writes it, whatever the transition does, and the rule.
        let mut found: Vec<(usize, usize, Transition, bool, Option<RuleId>)> = Vec::new();
        for (way, index, to) in ends.into_iter().chain(others) {
            let (after, next) = self.target(to);
            let literal = &self.graph.literals[index];
            let is_written = literal.rule.is_none();
            let way = way.then(&after);
            let rule = literal.rule.or(way.rule());
            let mut transition = transition(literal.key.as_str(), &way, next, is_written);
            transition.actions.to_mut().extend(match literal.key {
                MarkerKey::ContentStart => Some(Action::OpenContent),
                MarkerKey::ContentEnd => Some(Action::CloseContent),
                _ => None,
            });
            let same = |other: &usize| {
                let other = &self.graph.literals[*other];
                (&other.core, other.repeats, other.ends_text()) == (&literal.core, literal.repeats, literal.ends_text())
            };
            match found.iter_mut().find(|(other, ..)| same(other)) {
                None => found.push((index, to, transition, is_written, rule)),
                Some((.., other, _, _)) if other.leads_like(&transition) || other.key == transition.key => {}
                Some((.., other, written, _)) if yields(&transition, other, !is_written && *written) => {}
                Some(found) if yields(&found.2, &transition, !found.3 && is_written) => {
                    *found = (index, to, transition, is_written, rule);
                }
                // Of two that are tolerated, the rule that comes first in the list decides.
                Some((.., Some(other))) if rule.is_some_and(|rule| rule >= *other) => {}
                Some(found) if rule.is_some() && found.4.is_some() => {
                    *found = (index, to, transition, is_written, rule)
                }
                Some((.., other, _, _)) => self.conflicts.push(LowerProblem::AmbiguousMarkers {
                    first: other.key,
                    second: transition.key,
                    text: literal.core.clone(),
                }),
            }
        }
        self.markers[state] = found.iter().map(|(literal, to, ..)| self.marker(state, *literal, *to)).collect();
        self.rules[state] = found.iter().map(|(.., rule)| *rule).collect();
        let transitions: Vec<Transition> = found.into_iter().map(|(.., transition, _, _)| transition).collect();
        self.states[state].transitions = transitions.into();
    }

    fn marker(&self, state: usize, literal: usize, to: usize) -> Marker {
        let literal = &self.graph.literals[literal];
        let owned = |texts: Vec<String>| texts.into_iter().map(Cow::Owned).collect();
        let mut names = Vec::new();
        let confirm = if literal.ends_text() {
            Confirm::End(owned(self.tails_after(to)))
        } else if !literal.followed_by.is_empty() {
            Confirm::Next(owned(literal.followed_by.clone()))
        } else if literal.named_next {
            let next = self.next_after(to, literal);
            names = next.1;
            Confirm::Next(owned(next.0))
        } else if literal.confirm {
            Confirm::Next(owned(self.cores_after(to, literal)))
        } else {
            Confirm::Nothing
        };
        Marker {
            core: literal.core.clone().into(),
            before: literal.before.clone().into(),
            after: literal.after.clone().into(),
            confirm,
            take: !literal.peek,
            repeats: literal.repeats,
            names: names.into(),
            line: literal.line,
            // Elsewhere only markers may come, or it ends a value.
            in_text: if self.is_text(state) { literal.in_text } else { InText::Marker },
        }
    }

    /// The tokens that may follow the end of a turn and end the text, too. One that has to be confirmed shows nothing yet.
    fn tails_after(&self, node: usize) -> Vec<String> {
        let closure = self.graph.closure(node, self.last);
        let literals = closure.literals.iter().map(|(_, index, _)| &self.graph.literals[*index]);
        literals
            .filter(|literal| literal.role == Role::TurnEnd && !literal.confirm)
            .map(|literal| literal.core.clone())
            .collect()
    }

    /// Leaves out what the answer's text reads anyway, if that comes next where no marker does.
    fn without_text_markers(&self, literals: &mut Vec<Continuation>, holes: &[Continuation]) {
        let next = holes.first().map(|(_, hole, _)| &self.graph.holes[*hole].reads);
        if next == Some(&Hole::Text(Channel::Content)) {
            let of_text = |role| matches!(role, Role::Stray | Role::Fence);
            literals.retain(|(_, literal, _)| !of_text(self.graph.literals[*literal].role));
        }
    }

    /// The texts and the names that may come at a node after `literal`. A name that follows punctuation is more than the
    /// punctuation, so it is required there.
    fn next_after(&self, mut node: usize, literal: &Literal) -> (Vec<String>, Vec<NextName>) {
        let is_line = literal.core.trim().is_empty();
        if literal.peek {
            // What is not consumed is read again, perhaps more than once.
            for _ in 0..MAX_AGAIN {
                let again = self.graph.closure(node, self.last);
                let is_it = |index: usize| self.graph.literals[index].core == literal.core;
                let Some((_, index, to)) = again.literals.iter().find(|(_, index, _)| is_it(*index)) else { break };
                node = *to;
                if !self.graph.literals[*index].peek {
                    break;
                }
            }
        }
        let (mut texts, mut names): (Vec<String>, Vec<NextName>) = (Vec::new(), Vec::new());
        let closure = self.graph.closure(node, self.last);
        self.names_at(&closure, "", &mut names);
        for (_, index, to) in &closure.literals {
            let next = &self.graph.literals[*index];
            let (core, before, origin) = (next.up_to_name(), &next.before, next.origin());
            // What no template writes there confirms only a tolerated opener.
            let opens = literal.origin() == Origin::Recovery && literal.role == Role::CallOpen;
            if origin == Origin::Recovery && !opens && !is_distinct(literal, next) {
                continue;
            }
            let known = names.len();
            if !unjinja_spec::begins_tag(core) {
                self.names_at(&self.graph.closure(*to, self.last), core, &mut names);
            }
            if names.len() > known {
                continue;
            }
            // Only the white space that the template writes may follow a line break.
            let layout = if is_line { [literal.after.as_str(), before].concat() } else { String::new() };
            for text in [[&layout, core].concat(), core.to_owned()] {
                if !texts.contains(&text) {
                    texts.push(text);
                }
            }
        }
        (texts, names)
    }

    /// Adds the names that may be read at a place, after the text `before`.
    fn names_at(&self, closure: &Closure, before: &str, names: &mut Vec<NextName>) {
        for (_, hole, _) in &closure.holes {
            let kind = match self.graph.holes[*hole].reads {
                Hole::Name => NameKind::Function,
                Hole::ArgumentName => NameKind::Argument,
                _ => continue,
            };
            for after in self.afters(*hole).iter() {
                let is_known = |name: &NextName| name.kind == kind && name.before == before && name.after == *after;
                if !names.iter().any(is_known) {
                    names.push(NextName { kind, before: before.to_owned().into(), after: after.clone().into() });
                }
            }
        }
    }

    /// The texts that may come after what fills a hole, each once.
    fn afters(&self, hole: usize) -> Rc<[String]> {
        let known = self.known_afters.borrow()[hole].clone();
        known.unwrap_or_else(|| {
            let mut afters: Vec<String> = Vec::new();
            for (_, literal, _) in self.exits(hole).iter() {
                let after = self.graph.literals[*literal].up_to_name();
                if !afters.iter().any(|known| known == after) {
                    afters.push(after.to_owned());
                }
            }
            let afters: Rc<[String]> = afters.into();
            self.known_afters.borrow_mut()[hole] = Some(Rc::clone(&afters));
            afters
        })
    }

    /// The texts that may come at a node, which follows a marker. If the marker is an opening brace that is not yet consumed,
    /// those that may come after it.
    fn cores_after(&self, node: usize, marker: &Literal) -> Vec<String> {
        let in_brace = marker.peek;
        // A server may pass on the token that ends a text. An answer is closed before it.
        let closes_answer = marker.key == MarkerKey::ContentEnd;
        let mut cores: Vec<String> = Vec::new();
        let closure = self.graph.closure(node, self.last);
        for (_, hole, _) in &closure.holes {
            match &self.graph.holes[*hole].reads {
                Hole::Object(shape) if in_brace && shape.python => cores.extend(["\"".to_owned(), "'".to_owned()]),
                Hole::Object(_) if in_brace => cores.push("\"".to_owned()),
                Hole::Object(_) => cores.push("{".to_owned()),
                _ => {}
            }
        }
        if closure.holes.iter().any(|(_, hole, _)| matches!(self.graph.holes[*hole].reads, Hole::Json | Hole::Python)) {
            cores.push("{".to_owned());
        }
        for (_, literal, _) in &closure.literals {
            let next = &self.graph.literals[*literal];
            let (core, Literal { role, .. }) = (next.up_to_name(), next);
            let ends_text = closes_answer && *role == Role::TurnEnd;
            if next.rule.is_some() && !is_distinct(marker, next) && !ends_text {
                continue;
            }
            // The text before the name is enough.
            if !cores.iter().any(|known| known == core) {
                cores.push(core.to_owned());
            }
        }
        cores
    }
}

/// How often one marker is read again at most, for the parts of a call that end before it.
const MAX_AGAIN: usize = 4;

/// Whether `next`, which no template writes there, is proof enough that the marker came before it: a tag of a call.
fn is_distinct(marker: &Literal, next: &Literal) -> bool {
    match next.key {
        MarkerKey::ArgumentsPunctuation => true,
        MarkerKey::CallStart
        | MarkerKey::FunctionNamePrefix
        | MarkerKey::ArgumentNamePrefix
        | MarkerKey::FunctionClose
        | MarkerKey::CallEnd
        | MarkerKey::SectionEnd => unjinja_spec::begins_tag(&next.core),
        // The closer of a value after anything else closes it.
        MarkerKey::ArgumentValueSuffix => marker.key == next.key,
        _ => false,
    }
}

/// Which of two markers with the same text gives way: the first, if only the second is written by templates, or if the first is
/// the wrapper of an answer, whose end may come anywhere. Where both transitions recover, the marker decides.
fn yields(one: &Transition, other: &Transition, only_other_is_written: bool) -> bool {
    let tolerated = |transition: &Transition| transition.origin == Origin::Recovery;
    let wrapper = |transition: &Transition| transition.key == MarkerKey::ContentEnd.as_str();
    match (tolerated(one), tolerated(other)) {
        (true, false) => true,
        (false, true) => false,
        (recovers, _) => wrapper(one) && !wrapper(other) || recovers && only_other_is_written,
    }
}

/// The transition at the end of a way. `is_written`: a template writes the marker there.
fn transition(key: &'static str, way: &Way, next: usize, is_written: bool) -> Transition {
    let origin = if way.rule().is_some() || !is_written { Origin::Recovery } else { Origin::Canonical };
    Transition { key, actions: way.actions().into(), next: StateId(next as u16), origin }
}
