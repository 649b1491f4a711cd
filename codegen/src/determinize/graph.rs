//! The grammar of a turn as a graph, and what can come next at a node of it.

use std::cell::RefCell;
use std::rc::Rc;

use unjinja_runtime::abi::Action;

use crate::plan::{Expr, Literal, PlanHole, RuleId};

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
    /// What follows is only tolerated here, by this rule.
    Tolerated(RuleId),
    Action(Action),
    Literal(usize),
    Hole(usize),
}

/// What comes before a literal or a hole, its index, and the node after it.
pub(super) type Continuation = (Way, usize, usize);

/// A way through the graph that consumes nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Way(Vec<Step>);

#[derive(Clone, Debug)]
enum Step {
    Do(Action),
    /// No template goes on from here; this rule does.
    Tolerate(RuleId),
}

/// Which rule tolerates a step makes no other parser.
impl PartialEq for Step {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Step::Do(one), Step::Do(other)) => one == other,
            (Step::Tolerate(_), Step::Tolerate(_)) => true,
            _ => false,
        }
    }
}

impl Way {
    fn step(&self, step: Step) -> Way {
        Way(self.0.iter().cloned().chain([step]).collect())
    }

    /// This way, and then another one.
    pub(super) fn then(&self, next: &Way) -> Way {
        Way([self.0.as_slice(), &next.0].concat())
    }

    /// What is done on it, in order.
    pub(super) fn actions(&self) -> Vec<Action> {
        let action = |step: &Step| match step {
            Step::Do(action) => Some(action.clone()),
            Step::Tolerate(_) => None,
        };
        self.0.iter().filter_map(action).collect()
    }

    /// The rule that tolerates it; `None` if templates go it.
    pub(super) fn rule(&self) -> Option<RuleId> {
        self.0.iter().find_map(|step| match step {
            Step::Tolerate(rule) => Some(*rule),
            Step::Do(_) => None,
        })
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Closure {
    pub(super) literals: Vec<Continuation>,
    pub(super) holes: Vec<Continuation>,
    /// What comes before the end of the turn, if the turn may end here.
    pub(super) end: Option<Way>,
    /// What is done in any case.
    pub(super) eager: Way,
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
                self.literals.push((**literal).clone());
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
            Expr::Tolerated(rule, item) => {
                let to = self.node();
                self.edge(from, Edge::Tolerated(*rule), to);
                self.add(item, to)
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

    /// What can come next at `node`, each with what is done before it. If there are several ways, the first one counts.
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
        let mut stack = vec![(node, Way::default())];
        while let Some((at, way)) = stack.pop() {
            if std::mem::replace(&mut seen[at], true) {
                continue;
            }
            if at == last {
                closure.end = Some(way.clone());
            }
            for (edge, to) in self.edges[at].iter().rev() {
                match edge {
                    Edge::Nothing => stack.push((*to, way.clone())),
                    Edge::Tolerated(rule) => stack.push((*to, way.step(Step::Tolerate(*rule)))),
                    Edge::Action(action) => stack.push((*to, way.step(Step::Do(action.clone())))),
                    Edge::Literal(_) | Edge::Hole(_) => {}
                }
            }
            for (edge, to) in &self.edges[at] {
                match edge {
                    Edge::Literal(index) => closure.literals.push((way.clone(), *index, *to)),
                    Edge::Hole(index) => closure.holes.push((way.clone(), *index, *to)),
                    _ => {}
                }
            }
        }
        closure.make_eager();
        closure
    }
}

impl Closure {
    /// Moves the steps with which every continuation begins to `eager`: they need not wait for the next marker.
    fn make_eager(&mut self) {
        while let Some(step) = self.first_step() {
            self.ways_mut().for_each(|way| drop(way.0.remove(0)));
            self.eager.0.push(step);
        }
    }

    /// The step with which every continuation begins, if it need not wait.
    fn first_step(&self) -> Option<Step> {
        let mut firsts = self.ways().map(|way| way.0.first());
        let step = firsts.next().flatten()?;
        let waits = matches!(step, Step::Do(Action::Speculate | Action::HoldBack));
        (!waits && firsts.all(|other| other == Some(step))).then(|| step.clone())
    }

    fn ways(&self) -> impl Iterator<Item = &Way> {
        self.literals.iter().chain(&self.holes).map(|next| &next.0).chain(&self.end)
    }

    fn ways_mut(&mut self) -> impl Iterator<Item = &mut Way> {
        self.literals.iter_mut().chain(&mut self.holes).map(|next| &mut next.0).chain(&mut self.end)
    }
}
