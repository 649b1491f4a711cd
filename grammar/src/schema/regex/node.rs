//! A regular expression as a tree.

use super::super::super::Class;

/// Why an expression cannot be written.
pub(super) type Why = &'static str;

/// A part of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Class(Class),
    Sequence(Vec<Node>),
    Choice(Vec<Node>),
    Repeat(Box<Node>, u32, Option<u32>),
    Start,
    End,
}

/// Whether a node has an anchor anywhere.
pub(super) fn anchored(node: &Node) -> bool {
    match node {
        Node::Start | Node::End => true,
        Node::Class(_) => false,
        Node::Sequence(nodes) | Node::Choice(nodes) => nodes.iter().any(anchored),
        Node::Repeat(body, ..) => anchored(body),
    }
}

impl Node {
    /// The fewest and the most code points that it matches.
    pub(super) fn length(&self) -> (u64, Option<u64>) {
        match self {
            Self::Class(_) => (1, Some(1)),
            Self::Start | Self::End => (0, Some(0)),
            Self::Sequence(nodes) => nodes.iter().map(Self::length).fold((0, Some(0)), |(min, max), (least, most)| {
                (min.saturating_add(least), max.zip(most).map(|(max, most)| max.saturating_add(most)))
            }),
            Self::Choice(nodes) => {
                let lengths = || nodes.iter().map(Self::length);
                let max = lengths().map(|length| length.1).try_fold(0, |max, most| Some(max.max(most?)));
                (lengths().map(|length| length.0).min().unwrap_or(0), max)
            }
            Self::Repeat(body, min, max) => {
                let (least, most) = body.length();
                let max = if most == Some(0) {
                    Some(0)
                } else {
                    most.zip(*max).map(|(most, max)| most.saturating_mul(max.into()))
                };
                (least.saturating_mul((*min).into()), max)
            }
        }
    }
}
