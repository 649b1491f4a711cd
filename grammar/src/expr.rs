//! The expressions of a grammar's rules: a tree of plain data. The limits of llama.cpp are not known here; the builder
//! handles them.

use super::RuleId;
use crate::small::{self, List, Set};

/// What a rule, or a part of one, matches.
#[derive(Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// This text.
    Text(String),
    /// One code point of a class.
    Class(Class),
    /// What another rule matches.
    Rule(RuleId),
    /// All of these, one after the other. An empty sequence matches the empty text.
    Sequence(Vec<Expr>),
    /// One of these. An empty choice matches nothing.
    Choice(Vec<Expr>),
    /// An expression repeated.
    Repeat(Box<Repeat>),
}

/// An expression several times over.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Repeat {
    /// What is repeated. If there is no maximum, it must not match the empty text: llama.cpp reports that as left
    /// recursion.
    pub body: Expr,
    /// The minimum.
    pub min: u32,
    /// The maximum, if there is one.
    pub max: Option<u32>,
}

// Not derived: a derived one is inlined, and compiled again in each part of the crate.
impl Clone for Expr {
    #[inline(never)]
    fn clone(&self) -> Self {
        match self {
            Self::Text(text) => Self::Text(text.clone()),
            Self::Class(class) => Self::Class(class.clone()),
            Self::Rule(rule) => Self::Rule(*rule),
            Self::Sequence(parts) => Self::Sequence(parts.clone()),
            Self::Choice(parts) => Self::Choice(parts.clone()),
            Self::Repeat(this) => Self::Repeat(this.clone()),
        }
    }
}

impl Expr {
    /// The empty text.
    pub const EMPTY: Self = Self::Sequence(Vec::new());

    /// Whether this is the empty text itself. A rule that can match the empty text does not count.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) => text.is_empty(),
            Self::Sequence(parts) => parts.is_empty(),
            _ => false,
        }
    }
}

impl From<&str> for Expr {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Expr {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Class> for Expr {
    fn from(class: Class) -> Self {
        Self::Class(class)
    }
}

impl From<RuleId> for Expr {
    fn from(rule: RuleId) -> Self {
        Self::Rule(rule)
    }
}

/// This text.
// Not inlined, like the next functions: they are called from some hundred places.
#[inline(never)]
pub fn text(text: impl Into<String>) -> Expr {
    Expr::Text(text.into())
}

/// All of these, one after the other. Nested sequences are flattened and neighbouring texts joined. If a part matches
/// nothing, the result matches nothing.
#[inline(never)]
pub fn sequence(parts: impl IntoIterator<Item = Expr>) -> Expr {
    let mut flat = Vec::new();
    for part in parts {
        append(&mut flat, part);
    }
    sequence_of(flat)
}

/// Appends a part, without the sequence around it.
fn append(flat: &mut Vec<Expr>, part: Expr) {
    match (flat.last_mut(), part) {
        (_, Expr::Sequence(inner)) => inner.into_iter().for_each(|part| append(flat, part)),
        (_, Expr::Text(text)) if text.is_empty() => {}
        (Some(Expr::Text(before)), Expr::Text(text)) => before.push_str(&text),
        (_, part) => flat.push(part),
    }
}

fn sequence_of(mut flat: Vec<Expr>) -> Expr {
    if flat.contains(&Expr::Choice(Vec::new())) {
        return Expr::Choice(Vec::new());
    }
    match flat.len() {
        1 => flat.pop().unwrap_or(Expr::EMPTY),
        _ => Expr::Sequence(flat),
    }
}

/// One of these. Nested choices are flattened; of equal alternatives the first stays.
#[inline(never)]
pub fn choice(alternatives: impl IntoIterator<Item = Expr>) -> Expr {
    choice_of(alternatives.into_iter().list())
}

fn choice_of(alternatives: Vec<Expr>) -> Expr {
    /// From this number on, equal alternatives are found by their hashes.
    const MANY: usize = 16;
    let mut flat: Vec<Expr> = Vec::with_capacity(alternatives.len());
    for alternative in alternatives {
        match alternative {
            Expr::Choice(inner) => flat.extend(inner),
            alternative => flat.push(alternative),
        }
    }
    if flat.len() < MANY {
        let mut at = 0;
        while at < flat.len() {
            if flat[..at].contains(&flat[at]) {
                flat.remove(at);
            } else {
                at += 1;
            }
        }
    } else {
        let mut seen = Set::new();
        let first: Vec<bool> = flat.iter().map(|one| seen.insert(one)).list();
        let mut first = first.into_iter();
        flat.retain(|_| first.next().unwrap_or(true));
    }
    match flat.len() {
        1 => flat.pop().unwrap_or(Expr::EMPTY),
        _ => Expr::Choice(flat),
    }
}

/// From `min` to `max` times.
#[inline(never)]
pub fn repeat(body: impl Into<Expr>, min: u32, max: Option<u32>) -> Expr {
    let body = body.into();
    match (min, max) {
        (_, Some(0)) => Expr::EMPTY,
        (1, Some(1)) => body,
        _ if body.is_empty() => body,
        _ if body == Expr::Choice(Vec::new()) => {
            if min == 0 {
                Expr::EMPTY
            } else {
                body
            }
        }
        _ => Expr::Repeat(Box::new(Repeat { body, min, max: max.map(|max| max.max(min)) })),
    }
}

/// Once or not at all.
pub fn option(body: impl Into<Expr>) -> Expr {
    repeat(body, 0, Some(1))
}

/// Any number of times.
pub fn many(body: impl Into<Expr>) -> Expr {
    repeat(body, 0, None)
}

/// Once or more.
pub fn some(body: impl Into<Expr>) -> Expr {
    repeat(body, 1, None)
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
    pub fn ranges(ranges: impl IntoIterator<Item = (char, char)>) -> Self {
        Self::of_ranges(ranges.into_iter().list())
    }

    fn of_ranges(mut sorted: Vec<(char, char)>) -> Self {
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
    pub fn of(characters: impl IntoIterator<Item = char>) -> Self {
        Self::ranges(characters.into_iter().map(|character| (character, character)))
    }

    /// Any code point but NUL. A sampler never writes NUL.
    pub fn any() -> Self {
        Self::of(['\0']).negate()
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
        let letters = Class::ranges([('p', 'z'), ('a', 'm'), ('n', 'o'), ('z', 'a'), ('b', 'c')]);
        assert_eq!(letters, Class::ranges([('a', 'z')]));
        assert_eq!(Class::ranges([('\u{D7FF}', '\u{D7FF}'), ('\u{E000}', '\u{E000}')]).as_ranges().len(), 1);
        for (class, inside, outside) in [
            (letters.clone(), "amnz", "A{`"),
            (letters.clone().negate(), "A{`\0\u{10FFFF}", "amnz"),
            (Class::any(), "a\u{10FFFF}", "\0"),
            (Class::any().negate(), "\0", "a"),
            (letters.intersect(&Class::of(['a', 'é', 'b'])), "ab", "éc"),
            (Class::of(['x']).negate().intersect(&Class::ranges([('w', 'y')])), "wy", "xvz"),
            (Class::of(['x']).negate().intersect(&Class::of(['y', 'z']).negate()), "w\0", "xyz"),
        ] {
            assert!(inside.chars().all(|character| class.contains(character)), "{class:?} {inside}");
            assert!(!outside.chars().any(|character| class.contains(character)), "{class:?} {outside}");
        }
        assert!(Class::of([]).is_empty() && Class::of([]).negate().negate().is_empty());
        assert!(Class::ranges([('\0', char::MAX)]).negate().is_empty());
        assert!(Class::of(['a']).intersect(&Class::of(['b'])).is_empty());
        assert!(!Class::of([]).negate().is_empty());
    }

    #[test]
    fn expressions_are_flat() {
        let rule = Expr::Class(Class::of(['x']));
        for (expression, expected) in [
            (sequence([text("a"), sequence([text("b"), rule.clone()])]), sequence([text("ab"), rule.clone()])),
            (sequence([text("a"), Expr::EMPTY, text(""), text("b")]), text("ab")),
            (sequence([]), Expr::EMPTY),
            (sequence([rule.clone()]), rule.clone()),
            (choice([text("a"), choice([text("b"), text("a")])]), choice([text("a"), text("b")])),
            (choice((0..40).map(|at| text((at % 20).to_string()))), choice((0..20).map(|at| text(at.to_string())))),
            (choice([text("a"), text("a")]), text("a")),
            (repeat(text("a"), 1, Some(1)), text("a")),
            (repeat(text("a"), 0, Some(0)), Expr::EMPTY),
            (repeat(Expr::EMPTY, 0, None), Expr::EMPTY),
            (sequence([text("a"), choice([])]), choice([])),
            (choice([text("a"), sequence([choice([]), text("b")])]), text("a")),
            (option(choice([])), Expr::EMPTY),
            (some(choice([])), choice([])),
            (repeat(text("a"), 5, Some(2)), repeat(text("a"), 5, Some(5))),
        ] {
            assert_eq!(expression, expected);
        }
    }
}
