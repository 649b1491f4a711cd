//! The rules of a turn while they are being found: a graph of numbered nodes, of which some turn out to lead nowhere
//! (a call that may not be made, an argument that is not left). What leads nowhere is left out, and what is used once is
//! written where it is used.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use super::{Builder, Expr, RuleId, choice, sequence};

/// The number of a node.
pub(super) type NodeId = usize;

/// A part of a way.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    /// Something that is known already.
    Expr(Expr),
    /// What another node matches.
    Node(NodeId),
}

/// One way through a node: its parts, in order.
pub(super) type Way = Vec<Piece>;

/// A node.
#[derive(Clone, Debug, Default)]
struct Node {
    name: String,
    comment: Option<String>,
    ways: Vec<Way>,
}

/// Nodes, each made for a key and filled later.
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

    /// The node for a key. One that is new waits to be filled.
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

    /// A node that has its ways already.
    pub(super) fn filled(&mut self, name: impl Into<String>, ways: Vec<Way>) -> NodeId {
        self.nodes.push(Node { name: name.into(), comment: None, ways });
        self.nodes.len() - 1
    }

    /// A node that waits to be filled.
    pub(super) fn next(&mut self) -> Option<(K, NodeId)> {
        self.waiting.pop_front()
    }

    /// Fills a node.
    pub(super) fn fill(&mut self, id: NodeId, name: impl Into<String>, comment: Option<String>, ways: Vec<Way>) {
        if let Some(node) = self.nodes.get_mut(id) {
            *node = Node { name: name.into(), comment, ways };
        }
    }

    /// Writes the nodes that `root` needs as rules. `None` where it matches nothing.
    pub(super) fn write(mut self, root: NodeId, builder: &mut Builder) -> Option<Expr> {
        let lives = self.prune();
        if !lives.get(root).copied().unwrap_or(false) {
            return None;
        }
        let uses = self.uses(root);
        let mut writer =
            Writer { graph: &self.nodes, uses, rules: vec![None; self.nodes.len()], queue: VecDeque::new() };
        let expr = writer.ways(root, builder, 0);
        while let Some(id) = writer.queue.pop_front() {
            let Some(Some(rule)) = writer.rules.get(id).copied() else { continue };
            let expr = writer.ways(id, builder, 0);
            builder.define(rule, expr);
        }
        Some(expr)
    }

    /// Takes out the ways that lead nowhere; says which nodes are left with any.
    fn prune(&mut self) -> Vec<bool> {
        let mut lives = vec![false; self.nodes.len()];
        let mut users: Vec<Vec<(NodeId, usize)>> = vec![Vec::new(); self.nodes.len()];
        let mut missing: Vec<Vec<usize>> = Vec::with_capacity(self.nodes.len());
        let mut queue = Vec::new();
        for (id, node) in self.nodes.iter().enumerate() {
            let mut counts = Vec::with_capacity(node.ways.len());
            for (number, way) in node.ways.iter().enumerate() {
                let nodes = way.iter().filter_map(|piece| match piece {
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
            for (user, way) in std::mem::take(&mut users[id]) {
                missing[user][way] -= 1;
                if missing[user][way] == 0 && !std::mem::replace(&mut lives[user], true) {
                    queue.push(user);
                }
            }
        }
        for (node, missing) in self.nodes.iter_mut().zip(&missing) {
            let mut number = 0;
            node.ways.retain(|_| {
                number += 1;
                missing[number - 1] == 0
            });
        }
        lives
    }

    /// How often each node is used by those that the root needs.
    fn uses(&self, root: NodeId) -> Vec<usize> {
        let mut uses = vec![0; self.nodes.len()];
        let mut queue = vec![root];
        uses[root] = 2;
        while let Some(id) = queue.pop() {
            for piece in self.nodes[id].ways.iter().flatten() {
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

/// How deep nodes that are used once are written into each other.
const INLINE: usize = 4;

struct Writer<'g> {
    graph: &'g [Node],
    uses: Vec<usize>,
    rules: Vec<Option<RuleId>>,
    queue: VecDeque<NodeId>,
}

impl Writer<'_> {
    fn ways(&mut self, id: NodeId, builder: &mut Builder, depth: usize) -> Expr {
        let graph = self.graph;
        let ways: Vec<Expr> = graph[id].ways.iter().map(|way| self.way(way, builder, depth)).collect();
        choice(ways)
    }

    fn way(&mut self, way: &Way, builder: &mut Builder, depth: usize) -> Expr {
        let parts: Vec<Expr> = way
            .iter()
            .map(|piece| match piece {
                Piece::Expr(expr) => expr.clone(),
                Piece::Node(id) => self.node(*id, builder, depth),
            })
            .collect();
        sequence(parts)
    }

    fn node(&mut self, id: NodeId, builder: &mut Builder, depth: usize) -> Expr {
        let node = &self.graph[id];
        if self.rules[id].is_none() && self.uses[id] == 1 && node.ways.len() == 1 && depth < INLINE {
            return self.ways(id, builder, depth + 1);
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
