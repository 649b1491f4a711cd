//! The syntax tree of a regular expression.

/// A part of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A character.
    Char(char),
    /// `.`
    Any,
    /// One character of a set.
    Set(Set),
    /// A condition on the place in the text.
    Assertion(Assertion),
    /// Parts that follow each other; none for nothing. A group that captures nothing is a sequence of one part.
    Sequence(Vec<Node>),
    /// The first of these that leads to a match.
    Choice(Vec<Node>),
    /// A part that is repeated.
    Repeat {
        /// What is repeated.
        part: Box<Node>,
        /// The minimum.
        least: u32,
        /// The maximum; `None` without a limit.
        most: Option<u32>,
        /// Which number of repetitions is tried first.
        greed: Greed,
    },
    /// A group that captures what it matches, with its name.
    Capture(Option<String>, Box<Node>),
    /// The text that a group has matched, once more. The group is given by its name or number.
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

/// A condition on the place in the text. It takes no characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assertion {
    /// The start of the text: `^`, Python's `\A`.
    Start,
    /// The end of the text, or before the newline at its end: Python's `$`.
    LastLine,
    /// The end of the text: ECMA's `$`, Python's `\Z`.
    End,
    /// `\b`: between a word and something else.
    WordEdge,
    /// `\B`: anywhere else.
    NoWordEdge,
}

/// Which number of repetitions is tried first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greed {
    /// The largest.
    Greedy,
    /// The smallest: `*?`.
    Lazy,
    /// The largest, and no other: `*+`.
    Possessive,
}

/// A set of characters: those of its items, or all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// Whether the items say what is *not* in the set.
    pub negated: bool,
    /// The items of the set, in the order in which they are written.
    pub items: Vec<Item>,
}

/// An item of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A character.
    Char(char),
    /// The characters from the first to the last one.
    Range(char, char),
    /// The characters that have a name.
    Named(Named),
    /// All characters but these.
    NotNamed(Named),
    /// The characters with a property of Unicode: `\p{Lu}`.
    Property(String),
    /// All characters but these: `\P{Lu}`.
    NotProperty(String),
}

/// Characters that have a name. Each dialect has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// `\d`
    Digit,
    /// `\s`
    Space,
    /// `\w`
    Word,
}

impl Node {
    /// A text.
    pub fn text(text: &str) -> Self {
        Self::Sequence(text.chars().map(Self::Char).collect())
    }

    /// Whether it matches one character of white space.
    pub fn is_space(&self) -> bool {
        matches!(self, Self::Set(Set { negated: false, items }) if *items == [Item::Named(Named::Space)])
    }

    /// The parts that it is made of.
    pub fn parts(&self) -> &[Self] {
        match self {
            Self::Char(_) | Self::Any | Self::Set(_) | Self::Assertion(_) | Self::Same(_) => &[],
            Self::Sequence(parts) | Self::Choice(parts) => parts,
            Self::Capture(_, part)
            | Self::Repeat { part, .. }
            | Self::Look { part, .. }
            | Self::Atomic(part)
            | Self::IgnoreCase(part) => std::slice::from_ref(part),
        }
    }

    /// Whether this holds for it or for anything inside it.
    pub fn any(&self, is: &impl Fn(&Self) -> bool) -> bool {
        is(self) || self.parts().iter().any(|part| part.any(is))
    }
}
