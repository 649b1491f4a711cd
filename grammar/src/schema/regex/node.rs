//! What a grammar can express of a regular expression, with the sets of ECMA-262 as classes.

use crate::builder::MAX_COUNT;
use crate::expr::Class;
use crate::regex::{Assertion, Cause, Ecma, Item, Named, Node as Syntax, Set, parse};

pub(super) type Why = &'static str;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Class(Class),
    Sequence(Vec<Node>),
    Choice(Vec<Node>),
    Repeat(Box<Node>, u32, Option<u32>),
    Start,
    End,
}

impl Node {
    pub(super) fn parse(source: &str) -> Result<Self, Why> {
        let syntax = parse::<Ecma>(source).map_err(|error| match error.cause {
            Cause::Wrong(why) => why,
            Cause::UnknownEscape(_) => "the expression has an unknown escape",
            Cause::UnknownGroup(_) | Cause::RepeatedGroup(_) => "the expression has an unknown group",
        })?;
        Self::of(&syntax)
    }

    fn of(syntax: &Syntax) -> Result<Self, Why> {
        Ok(match syntax {
            Syntax::Char(character) => Self::Class(Class::of(&[*character])),
            Syntax::Any => Self::Class(line_ends().negate()),
            Syntax::Set(set) => Self::Class(class(set)?),
            Syntax::Sequence(parts) => Self::Sequence(all(parts)?),
            Syntax::Choice(parts) => Self::Choice(all(parts)?),
            Syntax::Capture(_, part) => Self::of(part)?,
            Syntax::Repeat { least, .. } if *least > MAX_COUNT => return Err("a count is too high"),
            Syntax::Repeat { part, least, most, .. } => Self::Repeat(Box::new(Self::of(part)?), *least, *most),
            Syntax::Assertion(Assertion::Start) => Self::Start,
            Syntax::Assertion(Assertion::End | Assertion::LastLine) => Self::End,
            Syntax::Assertion(Assertion::WordEdge | Assertion::NoWordEdge) => {
                return Err("word boundaries are not supported");
            }
            Syntax::Look { .. } => return Err("look-ahead and look-behind are not supported"),
            Syntax::Same(_) => return Err("back references are not supported"),
            Syntax::Atomic(_) | Syntax::IgnoreCase(_) => return Err("this kind of group is not supported"),
        })
    }
}

fn all(parts: &[Syntax]) -> Result<Vec<Node>, Why> {
    // Not collected: that takes more code.
    let mut nodes = Vec::with_capacity(parts.len());
    for part in parts {
        nodes.push(Node::of(part)?);
    }
    Ok(nodes)
}

fn class(set: &Set) -> Result<Class, Why> {
    let mut ranges = Vec::new();
    for item in &set.items {
        match item {
            Item::Char(character) => ranges.push((*character, *character)),
            Item::Range(first, last) => ranges.push((*first, *last)),
            Item::Named(named) => ranges.extend(self::named(*named).positive()),
            Item::NotNamed(named) => ranges.extend(self::named(*named).negate().positive()),
            Item::Property(_) | Item::NotProperty(_) => return Err("Unicode properties are not supported"),
        }
    }
    let class = Class::ranges(&ranges);
    Ok(if set.negated { class.negate() } else { class })
}

fn named(named: Named) -> Class {
    match named {
        Named::Digit => Class::ranges(&[('0', '9')]),
        Named::Word => Class::ranges(&[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')]),
        Named::Space => Class::ranges(&[
            ('\t', '\r'),
            (' ', ' '),
            ('\u{a0}', '\u{a0}'),
            ('\u{1680}', '\u{1680}'),
            ('\u{2000}', '\u{200a}'),
            ('\u{2028}', '\u{2029}'),
            ('\u{202f}', '\u{202f}'),
            ('\u{205f}', '\u{205f}'),
            ('\u{3000}', '\u{3000}'),
            ('\u{feff}', '\u{feff}'),
        ]),
    }
}

fn line_ends() -> Class {
    Class::of(&['\n', '\r', '\u{2028}', '\u{2029}'])
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
