//! The grammar of a turn as a graph, and what can come next at a node of it.

use std::cell::RefCell;
use std::rc::Rc;

use unjinja_runtime::abi::Action;

use crate::plan::{Expr, Literal, PlanHole};

/// The grammar as a graph. An edge consumes nothing, a literal, or what fills a hole.
#[derive(Default)]
pub(super) struct Graph {
    pub(super) edges: Vec<Vec<(Edge, usize)>>,
    pub(super) literals: Vec<Literal>,
    pub(super) holes: Vec<PlanHole>,
    /// What can come next at each node, once it was asked for. The same nodes are asked for many times.
    closures: RefCell<Vec<Option<Rc<Closure>>>>,
}

#[derive(Clone)]
pub(super) enum Edge {
    Nothing,
    Action(Action),
    Literal(usize),
    Hole(usize),
}

/// The actions before a literal or a hole, its index, and the node after it.
pub(super) type Continuation = (Vec<Action>, usize, usize);

#[derive(Clone, Debug, Default)]
pub(super) struct Closure {
    pub(super) literals: Vec<Continuation>,
    pub(super) holes: Vec<Continuation>,
    /// The actions before the end of the turn, if the turn may end here.
    pub(super) end: Option<Vec<Action>>,
    /// Actions that are done in any case.
    pub(super) eager: Vec<Action>,
}

impl Graph {
    pub(super) fn node(&mut self) -> usize {
        self.edges.push(Vec::new());
        self.edges.len() - 1
    }

    fn edge(&mut self, from: usize, edge: Edge, to: usize) {
        self.edges[from].push((edge, to));
    }

    pub(super) fn add(&mut self, expr: &Expr, from: usize) -> usize {
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
            Expr::Action(action) => {
                let to = self.node();
                self.edge(from, Edge::Action(action.clone()), to);
                to
            }
            Expr::Part(_, item) => self.add(item, from),
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

    /// What can come next at `node`, each with the actions before it. If there are several paths, the first one counts.
    /// The graph must be complete.
    pub(super) fn closure(&self, node: usize, last: usize) -> Rc<Closure> {
        let known = self.closures.borrow().get(node).cloned().flatten();
        known.unwrap_or_else(|| {
            let closure = Rc::new(self.closure_of(node, last));
            let mut closures = self.closures.borrow_mut();
            closures.resize(self.edges.len(), None);
            closures[node] = Some(Rc::clone(&closure));
            closure
        })
    }

    fn closure_of(&self, node: usize, last: usize) -> Closure {
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
                    Edge::Action(action) => {
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
    /// Moves the actions with which every continuation begins to `eager`: they need not wait for the next marker.
    fn make_eager(&mut self) {
        loop {
            let continuations =
                self.literals.iter().map(|w| &w.0).chain(self.holes.iter().map(|w| &w.0)).chain(&self.end);
            let mut firsts = continuations.map(|actions| actions.first());
            let Some(Some(action)) = firsts.next().map(|a| a.cloned()) else { return };
            if matches!(action, Action::Speculate | Action::HoldBack) || !firsts.all(|other| other == Some(&action)) {
                return;
            }
            for continuation in &mut self.literals {
                continuation.0.remove(0);
            }
            for continuation in &mut self.holes {
                continuation.0.remove(0);
            }
            if let Some(end) = &mut self.end {
                end.remove(0);
            }
            self.eager.push(action);
        }
    }
}
