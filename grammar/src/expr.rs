//! The expressions of a grammar's rules. The limits of llama.cpp are not known here; the builder handles them.
//!
//! A [`Builder`](crate::Builder) makes each expression once. An [`Expr`] is its number, so that it is copied, compared and dropped at
//! no cost.

use std::collections::HashMap;
use std::sync::Arc;

/// What a rule, or a part of one, matches. It belongs to the [`Builder`](crate::Builder) that made it; equal expressions of a builder are the
/// same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Expr(u32);

/// Identifies a rule of one builder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleId(pub(super) u32);

/// What an expression is made of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ExprKind {
    /// This text, which is not empty.
    Text(Arc<str>),
    /// One code point of a class.
    Class(Arc<Class>),
    /// What another rule matches.
    Rule(RuleId),
    /// All of these, one after the other. An empty sequence matches the empty text.
    Sequence(Arc<[Expr]>),
    /// One of these. An empty choice matches nothing.
    Choice(Arc<[Expr]>),
    /// An expression repeated.
    Repeat(Repeat),
}

/// An expression several times over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Repeat {
    /// What is repeated. If there is no maximum, it must not match the empty text: llama.cpp reports that as left
    /// recursion.
    pub body: Expr,
    /// The minimum.
    pub min: u32,
    /// The maximum, if there is one.
    pub max: Option<u32>,
}

/// The numbers of rules have this bit, those of other expressions do not.
const RULE: u32 = 1 << 31;

impl Expr {
    /// The empty text.
    pub const EMPTY: Self = Self(0);

    /// A choice of nothing, which matches no text.
    pub const NOTHING: Self = Self(1);
}

impl From<RuleId> for Expr {
    fn from(rule: RuleId) -> Self {
        Self(rule.0 | RULE)
    }
}

/// The expressions of a builder, each once.
#[derive(Clone, Debug)]
pub struct Exprs {
    kinds: Vec<ExprKind>,
    known: HashMap<ExprKind, Expr>,
}

impl Default for Exprs {
    fn default() -> Self {
        let mut exprs = Self { kinds: Vec::new(), known: HashMap::new() };
        exprs.intern(ExprKind::Sequence([].into()));
        exprs.intern(ExprKind::Choice([].into()));
        exprs
    }
}

impl Exprs {
    pub(super) fn intern(&mut self, kind: ExprKind) -> Expr {
        *self.known.entry(kind).or_insert_with_key(|kind| {
            self.kinds.push(kind.clone());
            Expr(u32::try_from(self.kinds.len() - 1).unwrap_or(u32::MAX))
        })
    }

    pub(super) fn kind(&self, expr: Expr) -> ExprKind {
        if expr.0 & RULE != 0 {
            return ExprKind::Rule(RuleId(expr.0 & !RULE));
        }
        self.kinds.get(expr.0 as usize).cloned().unwrap_or_else(|| ExprKind::Choice([].into()))
    }
}

/// A set of code points: those in the ranges, or all others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Class {
    negated: bool,
    /// Sorted and not overlapping; the first and last code point of each.
    ranges: Vec<(char, char)>,
}

impl Class {
    /// The code points in these ranges (first and last of each). A range whose end is before its start is empty.
    #[inline(never)]
    pub fn ranges(ranges: &[(char, char)]) -> Self {
        let mut sorted = ranges.to_vec();
        sorted.retain(|(first, last)| first <= last);
        sorted.sort_unstable();
        let mut ranges: Vec<(char, char)> = Vec::with_capacity(sorted.len());
        for (first, last) in sorted {
            match ranges.last_mut() {
                Some((_, end)) if first <= *end || next(*end) == Some(first) => *end = last.max(*end),
                _ => ranges.push((first, last)),
            }
        }
        Self { negated: false, ranges }
    }

    /// These code points.
    #[inline(never)]
    pub fn of(characters: &[char]) -> Self {
        Self::ranges(&characters.iter().map(|&character| (character, character)).collect::<Vec<_>>())
    }

    /// Any code point but NUL. A sampler never writes NUL.
    pub fn any() -> Self {
        Self::of(&['\0']).negate()
    }

    /// All code points that are not in this class.
    #[must_use]
    pub fn negate(mut self) -> Self {
        self.negated = !self.negated;
        self
    }

    /// Whether the ranges say what is *not* in the class.
    pub fn is_negated(&self) -> bool {
        self.negated
    }

    /// The ranges, sorted and not overlapping.
    pub fn as_ranges(&self) -> &[(char, char)] {
        &self.ranges
    }

    /// Whether a code point is in the class.
    pub fn contains(&self, character: char) -> bool {
        let at = self.ranges.partition_point(|&(_, last)| last < character);
        self.ranges.get(at).is_some_and(|&(first, _)| first <= character) != self.negated
    }

    /// The code points that are in both classes.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Self {
        let (mine, theirs) = (self.positive(), other.positive());
        let mut common = Vec::new();
        let (mut at, mut with) = (0, 0);
        while let (Some(&(first, last)), Some(&(start, end))) = (mine.get(at), theirs.get(with)) {
            if first.max(start) <= last.min(end) {
                common.push((first.max(start), last.min(end)));
            }
            if last < end { at += 1 } else { with += 1 }
        }
        Self { negated: false, ranges: common }
    }

    /// The code points that are in one of both classes.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self::ranges(&[self.positive(), other.positive()].concat())
    }

    /// Whether the class has no code points.
    pub fn is_empty(&self) -> bool {
        self.positive().is_empty()
    }

    /// The ranges of the code points in the class, also if the class is negated.
    pub fn positive(&self) -> Vec<(char, char)> {
        if !self.negated {
            return self.ranges.clone();
        }
        let mut rest = Vec::with_capacity(self.ranges.len() + 1);
        let mut from = Some('\0');
        for &(first, last) in &self.ranges {
            if let (Some(from), Some(to)) = (from, previous(first))
                && from <= to
            {
                rest.push((from, to));
            }
            from = next(last);
        }
        rest.extend(from.map(|from| (from, char::MAX)));
        rest
    }
}

fn next(character: char) -> Option<char> {
    (character..=char::MAX).nth(1)
}

fn previous(character: char) -> Option<char> {
    ('\0'..character).next_back()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_sets() {
        let letters = Class::ranges(&[('p', 'z'), ('a', 'm'), ('n', 'o'), ('z', 'a'), ('b', 'c')]);
        assert_eq!(letters, Class::ranges(&[('a', 'z')]));
        assert_eq!(Class::ranges(&[('\u{D7FF}', '\u{D7FF}'), ('\u{E000}', '\u{E000}')]).as_ranges().len(), 1);
        for (class, inside, outside) in [
            (letters.clone(), "amnz", "A{`"),
            (letters.clone().negate(), "A{`\0\u{10FFFF}", "amnz"),
            (Class::any(), "a\u{10FFFF}", "\0"),
            (Class::any().negate(), "\0", "a"),
            (letters.intersect(&Class::of(&['a', 'é', 'b'])), "ab", "éc"),
            (Class::of(&['x']).negate().intersect(&Class::ranges(&[('w', 'y')])), "wy", "xvz"),
            (Class::of(&['x']).negate().intersect(&Class::of(&['y', 'z']).negate()), "w\0", "xyz"),
        ] {
            assert!(inside.chars().all(|character| class.contains(character)), "{class:?} {inside}");
            assert!(!outside.chars().any(|character| class.contains(character)), "{class:?} {outside}");
        }
        assert!(Class::of(&[]).is_empty() && Class::of(&[]).negate().negate().is_empty());
        assert!(Class::ranges(&[('\0', char::MAX)]).negate().is_empty());
        assert!(Class::of(&['a']).intersect(&Class::of(&['b'])).is_empty());
        assert!(!Class::of(&[]).negate().is_empty());
    }
}
