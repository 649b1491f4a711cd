//! The plan as a deterministic machine: at every point the next marker says where to go on. This is where two
//! markers that cannot be told apart are found.

use std::collections::HashMap;

use unjinja_runtime::Channel;

use crate::plan::{Action, Expr, Hole, Literal, Plan, Role};

/// A deterministic machine for one turn. States refer to each other by index.
#[derive(Clone, Debug)]
pub(crate) struct Automaton {
    pub states: Vec<State>,
    /// Where a turn begins of which nothing is written.
    pub start: usize,
    /// The state of plain answer text.
    pub content: usize,
    /// The state of open reasoning, where the plan has any.
    pub reasoning: Option<usize>,
}

/// One state.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State {
    /// Name in upper case, unique within the machine.
    pub name: String,
    /// What text that is no marker is taken for; `None` where only markers may stand.
    pub hole: Option<Hole>,
    /// The markers that lead on.
    pub arms: Vec<Arm>,
    /// Where to go when the value is complete or something else than a marker stands.
    pub otherwise: Option<Step>,
    /// What to do where the text ends here and may.
    pub end: Option<Vec<Action>>,
    /// White space before a marker is text, not layout: nothing has been read yet.
    pub exact: bool,
}

/// A marker and what it leads to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Arm {
    pub key: &'static str,
    pub core: String,
    pub before: String,
    pub after: String,
    pub peek: bool,
    pub confirm: Confirm,
    pub step: Step,
}

/// What must follow a marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Confirm {
    Nothing,
    Next(Vec<String>),
    End,
}

/// What to do, and where to go then.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    pub actions: Vec<Action>,
    pub next: usize,
}

/// Two markers that cannot be told apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub core: String,
    pub first: &'static str,
    pub second: &'static str,
}

/// The grammar as a graph: nodes, and edges that take nothing, a literal or a hole.
#[derive(Default)]
struct Graph {
    edges: Vec<Vec<(Edge, usize)>>,
    literals: Vec<Literal>,
    holes: Vec<Hole>,
}

#[derive(Clone)]
enum Edge {
    Nothing,
    Act(Action),
    Literal(usize),
    Hole(usize),
}

/// What can come next at a node.
#[derive(Clone, Debug, Default)]
struct Closure {
    literals: Vec<(Vec<Action>, usize, usize)>,
    holes: Vec<(Vec<Action>, usize, usize)>,
    end: Option<Vec<Action>>,
    eager: Vec<Action>,
}

impl Graph {
    fn node(&mut self) -> usize {
        self.edges.push(Vec::new());
        self.edges.len() - 1
    }

    fn edge(&mut self, from: usize, edge: Edge, to: usize) {
        self.edges[from].push((edge, to));
    }

    fn add(&mut self, expr: &Expr, from: usize) -> usize {
        match expr {
            Expr::Literal(literal) => {
                let to = self.node();
                self.literals.push(literal.clone());
                self.edge(from, Edge::Literal(self.literals.len() - 1), to);
                to
            }
            Expr::Hole(hole) => {
                let to = self.node();
                self.holes.push(hole.clone());
                self.edge(from, Edge::Hole(self.holes.len() - 1), to);
                to
            }
            Expr::Act(action) => {
                let to = self.node();
                self.edge(from, Edge::Act(action.clone()), to);
                to
            }
            Expr::Sequence(items) => items.iter().fold(from, |at, item| self.add(item, at)),
            Expr::Choice(items) => {
                let to = self.node();
                for item in items {
                    let end = self.add(item, from);
                    self.edge(end, Edge::Nothing, to);
                }
                to
            }
            Expr::Repeat(item) => {
                let (enter, leave) = (self.node(), self.node());
                self.edge(from, Edge::Nothing, enter);
                let end = self.add(item, enter);
                self.edge(end, Edge::Nothing, enter);
                self.edge(enter, Edge::Nothing, leave);
                leave
            }
            Expr::Option(item) => {
                let to = self.node();
                let end = self.add(item, from);
                self.edge(end, Edge::Nothing, to);
                self.edge(from, Edge::Nothing, to);
                to
            }
        }
    }

    /// What can come next at `node`, each with the actions on the way; the first way wins.
    fn closure(&self, node: usize, last: usize) -> Closure {
        let mut closure = Closure::default();
        let mut seen = vec![false; self.edges.len()];
        let mut stack = vec![(node, Vec::new())];
        while let Some((at, actions)) = stack.pop() {
            if std::mem::replace(&mut seen[at], true) {
                continue;
            }
            if at == last {
                closure.end = Some(actions.clone());
            }
            for (edge, to) in self.edges[at].iter().rev() {
                match edge {
                    Edge::Nothing => stack.push((*to, actions.clone())),
                    Edge::Act(action) => {
                        let mut actions = actions.clone();
                        actions.push(action.clone());
                        stack.push((*to, actions));
                    }
                    Edge::Literal(_) | Edge::Hole(_) => {}
                }
            }
            for (edge, to) in &self.edges[at] {
                match edge {
                    Edge::Literal(index) => closure.literals.push((actions.clone(), *index, *to)),
                    Edge::Hole(index) => closure.holes.push((actions.clone(), *index, *to)),
                    _ => {}
                }
            }
        }
        closure.make_eager();
        closure
    }
}

impl Closure {
    /// Actions that every way begins with need not wait for what comes.
    fn make_eager(&mut self) {
        loop {
            let ways = self.literals.iter().map(|w| &w.0).chain(self.holes.iter().map(|w| &w.0)).chain(&self.end);
            let mut firsts = ways.map(|actions| actions.first());
            let Some(Some(action)) = firsts.next().map(|a| a.cloned()) else { return };
            if action == Action::Hold || !firsts.all(|other| other == Some(&action)) {
                return;
            }
            for way in &mut self.literals {
                way.0.remove(0);
            }
            for way in &mut self.holes {
                way.0.remove(0);
            }
            if let Some(end) = &mut self.end {
                end.remove(0);
            }
            self.eager.push(action);
        }
    }
}

/// What a state is made for: what may come at a node, or a hole that is open.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Node(usize),
    Hole(usize),
}

struct Builder {
    graph: Graph,
    first: usize,
    last: usize,
    /// Which node each hole leads to.
    targets: Vec<usize>,
    keys: HashMap<Key, usize>,
    states: Vec<State>,
    queue: Vec<(usize, Key)>,
    conflicts: Vec<Conflict>,
    names: HashMap<String, usize>,
    /// The literal after which each node stands.
    after: HashMap<usize, &'static str>,
}

/// What a state behind a hole is named after.
fn hole_key(hole: &Hole) -> &'static str {
    match hole {
        Hole::Text { .. } => "text",
        Hole::Name => "name",
        Hole::Id => "id",
        Hole::ArgumentName => "argument_name",
        Hole::Value | Hole::Literal { .. } => "argument_value",
        Hole::Json | Hole::Python => "arguments",
        Hole::Object(_) => "call",
    }
}

/// Builds the machine of a plan.
pub(crate) fn build(plan: &Plan) -> Result<Automaton, Vec<Conflict>> {
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
    let mut builder = Builder {
        graph,
        first,
        last,
        targets,
        keys: HashMap::new(),
        states: Vec::new(),
        queue: Vec::new(),
        conflicts: Vec::new(),
        names: HashMap::new(),
        after,
    };
    let (_, start) = builder.target(first);
    let text = |builder: &Builder, wanted: Channel| {
        builder.graph.holes.iter().position(|h| matches!(h, Hole::Text { channel, .. } if *channel == wanted))
    };
    let content = text(&builder, Channel::Content).map(|hole| builder.state(Key::Hole(hole)));
    let reasoning = text(&builder, Channel::Reasoning).map(|hole| builder.state(Key::Hole(hole)));
    let content = content.unwrap_or(start);
    while let Some((index, key)) = builder.queue.pop() {
        builder.fill(index, key);
    }
    if builder.conflicts.is_empty() {
        Ok(Automaton { states: builder.states, start, content, reasoning }.merged())
    } else {
        builder.conflicts.sort_by(|a, b| (a.first, a.second, &a.core).cmp(&(b.first, b.second, &b.core)));
        builder.conflicts.dedup();
        Err(builder.conflicts)
    }
}

impl Automaton {
    /// States that nothing can tell apart become one: calls after the first are read like the first.
    fn merged(mut self) -> Self {
        let mut classes = vec![0; self.states.len()];
        loop {
            let mut seen: Vec<State> = Vec::new();
            let mut next = Vec::with_capacity(classes.len());
            for (index, state) in self.states.iter().enumerate() {
                let mut state = state.clone();
                state.name.clear();
                // The state that a held call falls back to is part of what a state is.
                let holds = state.arms.iter().any(|arm| arm.step.actions.contains(&Action::Hold));
                if holds {
                    state.name = classes[self.fallback(index)].to_string();
                }
                for step in state.arms.iter_mut().map(|arm| &mut arm.step).chain(&mut state.otherwise) {
                    step.next = classes[step.next];
                }
                let class = seen.iter().position(|other| *other == state).unwrap_or_else(|| {
                    seen.push(state);
                    seen.len() - 1
                });
                next.push(class);
            }
            if next == classes {
                break;
            }
            classes = next;
        }
        let count = classes.iter().max().map_or(0, |most| most + 1);
        let representatives: Vec<usize> =
            (0..count).filter_map(|class| classes.iter().position(|other| *other == class)).collect();
        let mut states: Vec<State> = representatives.iter().map(|&index| self.states[index].clone()).collect();
        for state in &mut states {
            for step in state.arms.iter_mut().map(|arm| &mut arm.step).chain(&mut state.otherwise) {
                step.next = classes[step.next];
            }
        }
        self.start = classes[self.start];
        self.content = classes[self.content];
        self.reasoning = self.reasoning.map(|state| classes[state]);
        self.states = states;
        self
    }

    /// The state that goes on with the text of a call that was none.
    pub(crate) fn fallback(&self, state: usize) -> usize {
        match self.states[state].hole {
            Some(Hole::Text { .. }) => state,
            _ => self.content,
        }
    }
}

impl Builder {
    /// The state for `key`, made when it is first asked for.
    fn state(&mut self, key: Key) -> usize {
        if let Some(&index) = self.keys.get(&key) {
            return index;
        }
        let index = self.states.len();
        let name = self.name(key);
        self.states.push(State {
            name,
            hole: None,
            arms: Vec::new(),
            otherwise: None,
            end: None,
            exact: key == Key::Node(self.first),
        });
        self.keys.insert(key, index);
        self.queue.push((index, key));
        index
    }

    fn name(&mut self, key: Key) -> String {
        let base = match key {
            Key::Hole(hole) => match &self.graph.holes[hole] {
                Hole::Text { channel: Channel::Content, .. } => "CONTENT".to_owned(),
                Hole::Text { channel: Channel::Reasoning, .. } => "REASONING".to_owned(),
                Hole::Name => "CALL_NAME".to_owned(),
                Hole::Id => "CALL_ID".to_owned(),
                Hole::ArgumentName => "ARGUMENT_NAME".to_owned(),
                Hole::Value | Hole::Literal { .. } => "ARGUMENT_VALUE".to_owned(),
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

    /// The state in which reading goes on at `node`, and the actions that lead into it.
    fn target(&mut self, node: usize) -> (Vec<Action>, usize) {
        let closure = self.graph.closure(node, self.last);
        if let Some((actions, hole, _)) = closure.holes.first() {
            let reachable = self.exits(*hole);
            let covered = closure
                .literals
                .iter()
                .all(|(actions, literal, _)| reachable.iter().any(|(a, l, _)| l == literal && a == actions));
            let is_text = matches!(self.graph.holes[*hole], Hole::Text { .. });
            if closure.literals.is_empty() || (covered && is_text && actions.is_empty()) {
                let state = self.state(Key::Hole(*hole));
                return ([closure.eager.clone(), actions.clone()].concat(), state);
            }
        }
        let state = self.state(Key::Node(node));
        (closure.eager, state)
    }

    /// The literals at which a hole ends.
    fn exits(&self, hole: usize) -> Vec<(Vec<Action>, usize, usize)> {
        let closure = self.graph.closure(self.targets[hole], self.last);
        let mut literals = closure.literals;
        if let Hole::Text { until, .. } = &self.graph.holes[hole] {
            literals.retain(|(_, literal, _)| until.contains(&self.graph.literals[*literal].role));
        }
        for way in &mut literals {
            way.0.splice(0..0, closure.eager.iter().cloned());
        }
        literals
    }

    fn fill(&mut self, index: usize, key: Key) {
        match key {
            Key::Hole(hole) => {
                let kind = self.graph.holes[hole].clone();
                let closure = self.graph.closure(self.targets[hole], self.last);
                match kind {
                    Hole::Json | Hole::Python | Hole::Literal { .. } | Hole::Object(_) => {
                        let (actions, next) = self.target(self.targets[hole]);
                        self.states[index].otherwise = Some(Step { actions, next });
                        if matches!(kind, Hole::Json | Hole::Object(_)) {
                            // Tags, which cannot stand in JSON outside a string.
                            let mut stops = self.exits(hole);
                            stops.retain(|(_, literal, _)| {
                                unjinja_spec::begins_tag(&self.graph.literals[*literal].core)
                            });
                            self.states[index].arms = self.arms(stops);
                        }
                    }
                    _ => {
                        let exits = self.exits(hole);
                        self.states[index].arms = self.arms(exits);
                        if let (Hole::Text { .. }, Some(end)) = (&kind, closure.end) {
                            self.states[index].end = Some([closure.eager, end].concat());
                        }
                    }
                }
                self.states[index].hole = Some(kind);
            }
            Key::Node(node) => {
                let closure = self.graph.closure(node, self.last);
                self.states[index].arms = self.arms(closure.literals);
                if let Some((actions, hole, _)) = closure.holes.into_iter().next() {
                    let next = self.state(Key::Hole(hole));
                    self.states[index].otherwise = Some(Step { actions, next });
                }
                self.states[index].end = closure.end;
            }
        }
    }

    fn arms(&mut self, mut ways: Vec<(Vec<Action>, usize, usize)>) -> Vec<Arm> {
        // Where the end of a turn and the opening of a call begin alike, only the very end of the text is the former.
        ways.sort_by_key(|(_, literal, _)| self.graph.literals[*literal].role != Role::TurnEnd);
        let mut arms: Vec<Arm> = Vec::new();
        for (mut actions, literal, to) in ways {
            let (eager, next) = self.target(to);
            actions.extend(eager);
            let literal = self.graph.literals[literal].clone();
            let confirm = if literal.role == Role::TurnEnd {
                Confirm::End
            } else if literal.confirm {
                Confirm::Next(self.cores_after(to, literal.peek))
            } else {
                Confirm::Nothing
            };
            let arm = Arm {
                key: literal.key.as_str(),
                core: literal.core,
                before: literal.before,
                after: literal.after,
                peek: literal.peek,
                confirm,
                step: Step { actions, next },
            };
            let ends = |arm: &Arm| arm.confirm == Confirm::End;
            match arms.iter().find(|other| other.core == arm.core && ends(other) == ends(&arm)) {
                None => arms.push(arm),
                Some(other) if other.step == arm.step || other.key == arm.key => {}
                Some(other) => {
                    self.conflicts.push(Conflict { core: arm.core.clone(), first: other.key, second: arm.key })
                }
            }
        }
        arms
    }

    /// What may come at a node; where a brace that is left to be read stands before it, behind that.
    fn cores_after(&self, node: usize, in_brace: bool) -> Vec<String> {
        let mut cores: Vec<String> = Vec::new();
        let closure = self.graph.closure(node, self.last);
        for (_, hole, _) in &closure.holes {
            match &self.graph.holes[*hole] {
                Hole::Object(shape) if in_brace && shape.python => cores.extend(["\"".to_owned(), "'".to_owned()]),
                Hole::Object(_) if in_brace => cores.push("\"".to_owned()),
                Hole::Object(_) => cores.push("{".to_owned()),
                _ => {}
            }
        }
        if closure.holes.iter().any(|(_, hole, _)| matches!(self.graph.holes[*hole], Hole::Json | Hole::Python)) {
            cores.push("{".to_owned());
        }
        for (_, literal, _) in closure.literals {
            let core = &self.graph.literals[literal].core;
            if !cores.contains(core) {
                cores.push(core.clone());
            }
        }
        cores
    }
}
