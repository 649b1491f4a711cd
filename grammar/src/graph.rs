//! The rules of a turn while they are collected: a graph of nodes.
//!
//! A node may turn out to match nothing (a call that is not allowed, an argument without a value). Such nodes are
//! removed. A node that is used once is written in place of its use.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use crate::builder::Builder;
use crate::expr::{Expr, RuleId};

pub(super) type NodeId = usize;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Piece {
    Expr(Expr),
    Node(NodeId),
}

impl Piece {
    fn node(&mut self) -> Option<&mut NodeId> {
        match self {
            Self::Node(id) => Some(id),
            Self::Expr(_) => None,
        }
    }
}

/// One alternative of a node: its parts, in order.
pub(super) type Alternative = Vec<Piece>;

#[derive(Clone, Debug, Default)]
struct Node {
    name: String,
    comment: Option<String>,
    alternatives: Vec<Alternative>,
}

/// The nodes. Each is made for a key and filled later.
#[derive(Clone, Debug)]
pub(super) struct Graph<K> {
    keys: HashMap<K, NodeId>,
    nodes: Vec<Node>,
    waiting: VecDeque<(K, NodeId)>,
}

impl<K: Clone + Eq + Hash> Graph<K> {
    pub(super) fn new() -> Self {
        Self { keys: HashMap::new(), nodes: Vec::new(), waiting: VecDeque::new() }
    }

    /// The node for a key. A new node is queued to be filled.
    pub(super) fn node(&mut self, key: K) -> NodeId {
        if let Some(&id) = self.keys.get(&key) {
            return id;
        }
        let id = self.nodes.len();
        self.nodes.push(Node::default());
        self.keys.insert(key.clone(), id);
        self.waiting.push_back((key, id));
        id
    }

    /// A node without a key, filled at once.
    pub(super) fn filled(&mut self, name: impl Into<String>, alternatives: Vec<Alternative>) -> NodeId {
        self.nodes.push(Node { name: name.into(), comment: None, alternatives });
        self.nodes.len() - 1
    }

    pub(super) fn next(&mut self) -> Option<(K, NodeId)> {
        self.waiting.pop_front()
    }

    pub(super) fn fill(
        &mut self,
        id: NodeId,
        name: impl Into<String>,
        comment: Option<String>,
        alternatives: Vec<Alternative>,
    ) {
        if let Some(node) = self.nodes.get_mut(id) {
            *node = Node { name: name.into(), comment, alternatives };
        }
    }

    /// Writes the nodes that `root` needs as rules. `None` if `root` matches nothing.
    pub(super) fn write(mut self, root: NodeId, builder: &mut Builder) -> Option<Expr> {
        let lives = self.prune();
        if !lives.get(root).copied().unwrap_or(false) {
            return None;
        }
        let root = self.merge(root);
        let uses = self.uses(root);
        let mut writer =
            Writer { graph: &self.nodes, uses, rules: vec![None; self.nodes.len()], queue: VecDeque::new() };
        let expr = writer.alternatives(root, builder, 0);
        while let Some(id) = writer.queue.pop_front() {
            let Some(Some(rule)) = writer.rules.get(id).copied() else { continue };
            let expr = writer.alternatives(id, builder, 0);
            builder.define(rule, expr);
        }
        Some(expr)
    }

    /// Removes the alternatives that match nothing. Returns for each node whether any is left.
    fn prune(&mut self) -> Vec<bool> {
        let mut lives = vec![false; self.nodes.len()];
        let mut users: Vec<Vec<(NodeId, usize)>> = vec![Vec::new(); self.nodes.len()];
        let mut missing: Vec<Vec<usize>> = Vec::with_capacity(self.nodes.len());
        let mut queue = Vec::new();
        for (id, node) in self.nodes.iter().enumerate() {
            let mut counts = Vec::with_capacity(node.alternatives.len());
            for (number, alternative) in node.alternatives.iter().enumerate() {
                let nodes = alternative.iter().filter_map(|piece| match piece {
                    Piece::Node(node) => Some(*node),
                    Piece::Expr(_) => None,
                });
                let mut count = 0;
                for used in nodes {
                    users[used].push((id, number));
                    count += 1;
                }
                counts.push(count);
            }
            if counts.contains(&0) {
                lives[id] = true;
                queue.push(id);
            }
            missing.push(counts);
        }
        while let Some(id) = queue.pop() {
            for (user, alternative) in std::mem::take(&mut users[id]) {
                missing[user][alternative] -= 1;
                if missing[user][alternative] == 0 && !std::mem::replace(&mut lives[user], true) {
                    queue.push(user);
                }
            }
        }
        for (node, missing) in self.nodes.iter_mut().zip(&missing) {
            let mut number = 0;
            node.alternatives.retain(|_| {
                number += 1;
                missing[number - 1] == 0
            });
        }
        lives
    }

    /// Lets all nodes that match the same become one: those with the same alternatives, where nodes of one class count as the same.
    /// Returns the node that stands for the root.
    fn merge(&mut self, root: NodeId) -> NodeId {
        let mut classes = vec![0; self.nodes.len()];
        let mut count = 1;
        loop {
            let mut known: HashMap<(usize, Vec<Alternative>), usize> = HashMap::new();
            let mut refined = Vec::with_capacity(classes.len());
            for (node, class) in self.nodes.iter().zip(&classes) {
                let mut alternatives = node.alternatives.clone();
                alternatives.iter_mut().flatten().filter_map(Piece::node).for_each(|used| *used = classes[*used]);
                let number = known.len();
                refined.push(*known.entry((*class, alternatives)).or_insert(number));
            }
            classes = refined;
            if std::mem::replace(&mut count, known.len()) == known.len() {
                break;
            }
        }
        let mut first = vec![None; count];
        for (id, class) in classes.iter().enumerate() {
            first[*class].get_or_insert(id);
        }
        let stands_for = |id: NodeId| first[classes[id]].unwrap_or(id);
        for node in &mut self.nodes {
            node.alternatives.iter_mut().flatten().filter_map(Piece::node).for_each(|used| *used = stands_for(*used));
        }
        stands_for(root)
    }

    /// How often each node is used, counting only nodes that the root needs.
    fn uses(&self, root: NodeId) -> Vec<usize> {
        let mut uses = vec![0; self.nodes.len()];
        let mut queue = vec![root];
        uses[root] = 2;
        while let Some(id) = queue.pop() {
            for piece in self.nodes[id].alternatives.iter().flatten() {
                if let Piece::Node(used) = piece {
                    uses[*used] += 1;
                    if uses[*used] == 1 {
                        queue.push(*used);
                    }
                }
            }
        }
        uses
    }
}

/// The maximum depth to which nodes that are used once are written into each other.
const INLINE: usize = 4;

struct Writer<'g> {
    graph: &'g [Node],
    uses: Vec<usize>,
    rules: Vec<Option<RuleId>>,
    queue: VecDeque<NodeId>,
}

impl Writer<'_> {
    fn alternatives(&mut self, id: NodeId, builder: &mut Builder, depth: usize) -> Expr {
        let graph = self.graph;
        let alternatives: Vec<Expr> =
            graph[id].alternatives.iter().map(|alternative| self.alternative(alternative, builder, depth)).collect();
        builder.choice(&alternatives)
    }

    fn alternative(&mut self, alternative: &Alternative, builder: &mut Builder, depth: usize) -> Expr {
        let parts: Vec<Expr> = alternative
            .iter()
            .map(|piece| match piece {
                Piece::Expr(expr) => *expr,
                Piece::Node(id) => self.node(*id, builder, depth),
            })
            .collect();
        builder.sequence(&parts)
    }

    fn node(&mut self, id: NodeId, builder: &mut Builder, depth: usize) -> Expr {
        let node = &self.graph[id];
        if let [alternative] = &*node.alternatives
            && let [Piece::Expr(only)] = **alternative
        {
            return only;
        }
        if self.rules[id].is_none() && self.uses[id] == 1 && node.alternatives.len() == 1 && depth < INLINE {
            return self.alternatives(id, builder, depth + 1);
        }
        if let Some(rule) = self.rules[id] {
            return rule.into();
        }
        let rule = builder.reserve(&node.name);
        if let Some(comment) = &node.comment {
            builder.comment(rule, comment);
        }
        self.rules[id] = Some(rule);
        self.queue.push_back(id);
        rule.into()
    }
}
