//! The syntax tree of a regular expression as the readers write it, which is that of Python's module `regex`.
//!
//! The tree is what everything else is made of: the expression that is searched for, the expression for texts that could
//! still become a match (`print.rs`), and the texts that a simple pattern expands to (`expand.rs`).

/// A part of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    /// A character.
    Char(char),
    /// Any character: all patterns of a response template are compiled so that a dot is a newline too.
    Any,
    /// One character of a set, as an expression of the library that searches: `[\x{61}-\x{7a}]`.
    Class(String),
    /// A place in the text.
    Place(Place),
    /// Parts that follow each other; none for nothing.
    Sequence(Vec<Node>),
    /// The first of these that leads to a match.
    Choice(Vec<Node>),
    /// A part that is repeated.
    Repeat {
        /// What is repeated.
        part: Box<Node>,
        /// How often at least.
        least: u32,
        /// How often at most; `None` without a limit.
        most: Option<u32>,
        /// Which number of repetitions is tried first.
        greed: Greed,
    },
    /// A group that captures what it matches, with its name.
    Capture(Option<String>, Box<Node>),
    /// The text that a named group has matched, once more.
    Same(String),
    /// A part that is not tried again once it has matched.
    Atomic(Box<Node>),
    /// A condition on the text before or after a place.
    Look {
        /// Whether the text after the place is meant.
        ahead: bool,
        /// Whether the part must not match.
        negative: bool,
        /// What is looked for.
        part: Box<Node>,
    },
    /// A part in which upper and lower case are the same.
    IgnoreCase(Box<Node>),
}

/// A place in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// `^`, `\A`: the start of the text.
    Start,
    /// `$`: the end of the text, or before the newline at its end.
    LastLine,
    /// `\Z`: the end of the text.
    End,
    /// `\b`: between a word and something else.
    WordEdge,
    /// `\B`: anywhere else.
    NoWordEdge,
}

/// Which number of repetitions is tried first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Greed {
    /// The largest.
    Greedy,
    /// The smallest: `*?`.
    Lazy,
    /// The largest, and no other: `*+`.
    Possessive,
}

impl Node {
    /// A text.
    pub(crate) fn text(text: &str) -> Node {
        Node::Sequence(text.chars().map(Node::Char).collect())
    }

    /// Whether a part of it refers to a group.
    pub(crate) fn refers_to_group(&self) -> bool {
        match self {
            Node::Same(_) => true,
            Node::Char(_) | Node::Any | Node::Class(_) | Node::Place(_) => false,
            Node::Sequence(parts) | Node::Choice(parts) => parts.iter().any(Node::refers_to_group),
            Node::Capture(_, part)
            | Node::Repeat { part, .. }
            | Node::Look { part, .. }
            | Node::Atomic(part)
            | Node::IgnoreCase(part) => part.refers_to_group(),
        }
    }

    /// The names of the groups in the order in which they open.
    pub(crate) fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.collect_names(&mut names);
        names
    }

    fn collect_names<'n>(&'n self, names: &mut Vec<&'n str>) {
        match self {
            Node::Char(_) | Node::Any | Node::Class(_) | Node::Place(_) | Node::Same(_) => {}
            Node::Sequence(parts) | Node::Choice(parts) => parts.iter().for_each(|part| part.collect_names(names)),
            Node::Capture(name, part) => {
                names.extend(name.as_deref());
                part.collect_names(names);
            }
            Node::Repeat { part, .. } | Node::Look { part, .. } | Node::Atomic(part) | Node::IgnoreCase(part) => {
                part.collect_names(names);
            }
        }
    }
}
