//! A schema as a table that values are judged by, while they are read. It owns its data and says no more than a grammar
//! of the same schema: both read it through the same alternatives and constraints.
//!
//! A node describes the values of one place. It has alternatives, and a value fits if it fits one of them. An alternative
//! is a conjunction. Its members and items are nodes again, and may lead back to nodes above them.

mod compile;
mod magnitude;

use std::collections::HashMap;

use super::bounds::Count;
use super::regex::Automaton;
use super::types::ANY;
pub(crate) use magnitude::Magnitude;

/// A node with more alternatives than this, lists of constants aside, is not judged.
pub(crate) const ALTERNATIVES: usize = 256;

/// The number of a node.
pub(crate) type NodeId = usize;
/// The node that every value fits.
pub(crate) const ANYTHING: NodeId = 0;
/// The node that no value fits.
pub(crate) const NOTHING: NodeId = 1;

/// The nodes of one schema.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) nodes: Vec<Node>,
    /// The node of the schema itself.
    pub(crate) root: NodeId,
    /// The names that some object requires, numbered from 0.
    pub(crate) required: HashMap<String, usize>,
    /// The length of the longest name that the schema declares, in bytes.
    pub(crate) longest: usize,
}

/// The values of one place.
#[derive(Debug)]
pub(crate) enum Node {
    /// Every value fits.
    Any,
    /// A value fits if it fits one of these.
    OneOf(Vec<Alternative>),
}

/// What a value must meet, all of it.
#[derive(Debug)]
pub(crate) struct Alternative {
    /// The allowed types. A number without a fraction is an integer.
    pub(crate) types: u8,
    /// The only allowed strings, numbers and booleans, if they are listed.
    pub(crate) listed: Option<Listed>,
    /// Strings that are excluded, sorted.
    pub(crate) excluded: Vec<String>,
    /// A boolean that is excluded.
    pub(crate) excluded_booleans: [bool; 2],
    pub(crate) lower: Option<Limit>,
    pub(crate) upper: Option<Limit>,
    /// The number of characters of a string.
    pub(crate) length: Count,
    pub(crate) patterns: Vec<Pattern>,
    pub(crate) array: Option<Box<ArrayRule>>,
    pub(crate) object: Option<Box<ObjectRule>>,
}

impl Default for Alternative {
    fn default() -> Self {
        Self {
            types: ANY,
            listed: None,
            excluded: Vec::new(),
            excluded_booleans: [false; 2],
            lower: None,
            upper: None,
            length: Count::default(),
            patterns: Vec::new(),
            array: None,
            object: None,
        }
    }
}

/// The scalar values that a schema lists.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    /// Sorted, without repeats.
    pub(crate) strings: Vec<String>,
    /// First the numbers that are not negative, then those that are not positive; each sorted by their digits.
    pub(crate) numbers: [Vec<Magnitude>; 2],
    /// Whether a number is listed that has too many digits to be compared.
    pub(crate) other_numbers: bool,
    /// Whether `false` and `true` are listed.
    pub(crate) booleans: [bool; 2],
}

/// A bound of a number.
#[derive(Debug)]
pub(crate) struct Limit {
    pub(crate) value: Magnitude,
    /// Whether the bound itself is excluded.
    pub(crate) exclusive: bool,
}

/// A pattern or format of a string.
#[derive(Debug)]
pub(crate) struct Pattern {
    /// The keyword and its value.
    pub(crate) name: String,
    pub(crate) automaton: Automaton,
}

/// The items of an array.
#[derive(Debug)]
pub(crate) struct ArrayRule {
    pub(crate) count: Count,
    /// The first items.
    pub(crate) first: Vec<NodeId>,
    /// All further items.
    pub(crate) rest: NodeId,
    /// Nodes that some items must fit, and how many.
    pub(crate) contains: Vec<(NodeId, u32)>,
}

impl ArrayRule {
    /// The node of the item with this index.
    pub(crate) fn item(&self, at: usize) -> NodeId {
        self.first.get(at).copied().unwrap_or(self.rest)
    }
}

/// The members of an object.
#[derive(Debug)]
pub(crate) struct ObjectRule {
    pub(crate) count: Count,
    /// The members that the schema names.
    pub(crate) members: HashMap<String, NodeId>,
    /// The names that must be there, by their numbers in the table.
    pub(crate) required: Vec<(usize, String)>,
    /// Members whose name matches.
    pub(crate) patterned: Vec<(Automaton, NodeId)>,
    /// All further members; `None` if there may be none.
    pub(crate) others: Option<NodeId>,
    /// What the names of unnamed members must fit, as strings.
    pub(crate) names: Option<NodeId>,
}

impl Table {
    /// Whether no value fits a node.
    pub(crate) fn is_nothing(&self, node: NodeId) -> bool {
        matches!(&self.nodes[node], Node::OneOf(alternatives) if alternatives.is_empty())
    }

    /// Whether every value fits a node.
    pub(crate) fn is_anything(&self, node: NodeId) -> bool {
        matches!(self.nodes[node], Node::Any)
    }

    /// The alternatives of a node; none if every value fits it.
    pub(crate) fn alternatives(&self, node: NodeId) -> &[Alternative] {
        match &self.nodes[node] {
            Node::Any => &[],
            Node::OneOf(alternatives) => alternatives,
        }
    }
}
