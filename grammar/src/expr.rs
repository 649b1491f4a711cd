//! The expressions of a grammar's rules. The limits of llama.cpp are not known here; the builder handles them.
//!
//! A [`Builder`] makes each expression once. An [`Expr`] is its number, so that it is copied, compared and dropped at no cost.

use std::sync::Arc;

use super::{Builder, RuleId};
use crate::small::{self, List, Set};

/// What a rule, or a part of one, matches. It belongs to the [`Builder`] that made it; equal expressions of a builder are the
/// same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Expr(u32);

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

/// What can be written where an expression is expected: an expression, a rule, or a class.
pub trait IntoExpr {
    /// The expression.
    fn into_expr(self, builder: &Builder) -> Expr;
}

impl IntoExpr for Expr {
    fn into_expr(self, _: &Builder) -> Expr {
        self
    }
}

impl IntoExpr for RuleId {
    fn into_expr(self, _: &Builder) -> Expr {
        self.into()
    }
}

impl IntoExpr for Class {
    fn into_expr(self, builder: &Builder) -> Expr {
        builder.class(self)
    }
}

/// The expressions of a builder, each once.
#[derive(Clone, Debug)]
pub struct Exprs(Set<ExprKind>);

impl Default for Exprs {
    fn default() -> Self {
        let nothing = Vec::new();
        Self([ExprKind::Sequence(nothing.as_slice().into()), ExprKind::Choice(nothing.into())].into_iter().collect())
    }
}

impl Builder {
    /// What an expression is made of.
    #[inline(never)]
    pub fn kind(&self, expr: Expr) -> ExprKind {
        if expr.0 & RULE != 0 {
            return ExprKind::Rule(RuleId(expr.0 & !RULE));
        }
        self.exprs.borrow().0.get(expr.0 as usize).cloned().unwrap_or_else(|| ExprKind::Choice(Vec::new().into()))
    }

    /// The parts of a sequence. Another expression is its own only part.
    pub(super) fn parts(&self, expr: Expr) -> Arc<[Expr]> {
        if let ExprKind::Sequence(parts) = self.kind(expr) { parts } else { [expr].into() }
    }

    /// The alternatives of a choice. Another expression is its own only alternative.
    pub(super) fn alternatives(&self, expr: Expr) -> Arc<[Expr]> {
        if let ExprKind::Choice(all) = self.kind(expr) { all } else { [expr].into() }
    }

    #[inline(never)]
    fn expr(&self, kind: ExprKind) -> Expr {
        Expr(u32::try_from(self.exprs.borrow_mut().0.place(kind)).unwrap_or(u32::MAX))
    }

    /// This text.
    #[inline]
    pub fn text(&self, text: impl AsRef<str>) -> Expr {
        self.text_of(text.as_ref())
    }

    // Not inlined, like the next functions: they are called from some hundred places.
    #[inline(never)]
    fn text_of(&self, text: &str) -> Expr {
        if text.is_empty() { Expr::EMPTY } else { self.expr(ExprKind::Text(text.into())) }
    }

    /// This character.
    #[inline(never)]
    pub fn char(&self, char: char) -> Expr {
        self.text_of(char.encode_utf8(&mut [0; 4]))
    }

    /// One code point of a class.
    #[inline(never)]
    pub fn class(&self, class: Class) -> Expr {
        self.expr(ExprKind::Class(class.into()))
    }

    /// All of these, one after the other. Nested sequences are flattened and neighbouring texts joined. If a part matches
    /// nothing, the result matches nothing.
    #[inline(never)]
    pub fn sequence(&self, parts: &[Expr]) -> Expr {
        let mut flat = Vec::with_capacity(parts.len());
        for &part in parts {
            self.append(&mut flat, part);
        }
        match flat.as_slice() {
            all if all.contains(&Expr::NOTHING) => Expr::NOTHING,
            [only] => *only,
            all => self.expr(ExprKind::Sequence(all.into())),
        }
    }

    /// Appends a part, without the sequence around it.
    fn append(&self, flat: &mut Vec<Expr>, part: Expr) {
        match self.kind(part) {
            ExprKind::Sequence(inner) => inner.iter().for_each(|part| self.append(flat, *part)),
            ExprKind::Text(text) => match flat.last_mut().map(|last| (self.kind(*last), last)) {
                Some((ExprKind::Text(before), last)) => *last = self.text([&*before, &*text].concat()),
                _ => flat.push(part),
            },
            _ => flat.push(part),
        }
    }

    /// One of these. Nested choices are flattened; of equal alternatives the first stays.
    #[inline(never)]
    pub fn choice(&self, alternatives: &[Expr]) -> Expr {
        let mut flat: Vec<Expr> = Vec::with_capacity(alternatives.len());
        for &alternative in alternatives {
            match self.kind(alternative) {
                ExprKind::Choice(inner) => flat.extend_from_slice(&inner),
                _ => flat.push(alternative),
            }
        }
        let mut seen = Set::new();
        flat.retain(|one| seen.insert(*one));
        match flat.as_slice() {
            [only] => *only,
            all => self.expr(ExprKind::Choice(all.into())),
        }
    }

    /// From `min` to `max` times.
    #[inline]
    pub fn repeat(&self, body: impl IntoExpr, min: u32, max: Option<u32>) -> Expr {
        self.repeated(body.into_expr(self), min, max)
    }

    #[inline(never)]
    fn repeated(&self, body: Expr, min: u32, max: Option<u32>) -> Expr {
        match (body, min, max) {
            (_, _, Some(0)) | (Expr::EMPTY, ..) | (Expr::NOTHING, 0, _) => Expr::EMPTY,
            (_, 1, Some(1)) | (Expr::NOTHING, ..) => body,
            _ => self.expr(ExprKind::Repeat(Repeat { body, min, max: max.map(|max| max.max(min)) })),
        }
    }

    /// Once or not at all.
    pub fn option(&self, body: impl IntoExpr) -> Expr {
        self.repeat(body, 0, Some(1))
    }

    /// Any number of times.
    pub fn many(&self, body: impl IntoExpr) -> Expr {
        self.repeat(body, 0, None)
    }

    /// Once or more.
    pub fn some(&self, body: impl IntoExpr) -> Expr {
        self.repeat(body, 1, None)
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
        small::sort(&mut sorted);
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
        Self::ranges(&characters.iter().map(|&character| (character, character)).list())
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

    #[test]
    fn expressions_are_flat() {
        let builder = Builder::new();
        let rule = builder.class(Class::of(&['x']));
        let numbers = |count: u32| (0..count).map(|at| builder.text((at % 20).to_string())).collect::<Vec<_>>();
        for (expression, expected) in [
            (
                builder.sequence(&[builder.text("a"), builder.sequence(&[builder.text("b"), rule])]),
                builder.sequence(&[builder.text("ab"), rule]),
            ),
            (
                builder.sequence(&[builder.text("a"), Expr::EMPTY, builder.text(""), builder.text("b")]),
                builder.text("ab"),
            ),
            (builder.sequence(&[]), Expr::EMPTY),
            (builder.sequence(&[rule]), rule),
            (
                builder.choice(&[builder.text("a"), builder.choice(&[builder.text("b"), builder.text("a")])]),
                builder.choice(&[builder.text("a"), builder.text("b")]),
            ),
            (builder.choice(&numbers(40)), builder.choice(&numbers(20))),
            (builder.choice(&[builder.text("a"), builder.text("a")]), builder.text("a")),
            (builder.repeat(builder.text("a"), 1, Some(1)), builder.text("a")),
            (builder.repeat(builder.text("a"), 0, Some(0)), Expr::EMPTY),
            (builder.repeat(Expr::EMPTY, 0, None), Expr::EMPTY),
            (builder.sequence(&[builder.text("a"), builder.choice(&[])]), builder.choice(&[])),
            (
                builder.choice(&[builder.text("a"), builder.sequence(&[builder.choice(&[]), builder.text("b")])]),
                builder.text("a"),
            ),
            (builder.option(builder.choice(&[])), Expr::EMPTY),
            (builder.some(builder.choice(&[])), builder.choice(&[])),
            (builder.repeat(builder.text("a"), 5, Some(2)), builder.repeat(builder.text("a"), 5, Some(5))),
        ] {
            assert_eq!(expression, expected);
        }
    }
}
