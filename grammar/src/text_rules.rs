//! Small rules: sets of characters, and names that differ from known ones.

use super::until::CharSet;
use super::{Builder, Class, Expr};
use crate::small::{self, List};

/// A set of characters as an expression.
pub(super) fn class(builder: &Builder, chars: &CharSet) -> Expr {
    match chars.chars.as_slice() {
        [only] if !chars.negated => builder.char(*only),
        all if chars.negated => builder.class(Class::of(all).negate()),
        all => builder.class(Class::of(all)),
    }
}

/// A name of at most `most` characters that is not one of `known`: the class of its first character, and of the others.
pub(super) fn other_than(builder: &mut Builder, known: &[&str], classes: [&Class; 2], most: u32) -> Expr {
    let mut known: Vec<Vec<char>> = known.iter().map(|name| name.chars().list()).list();
    small::sort_and_dedup(&mut known);
    rest_of_other(builder, &known, 0, classes, most)
}

/// The rest of such a name, after `at` characters that all of `known` share.
fn rest_of_other(builder: &mut Builder, known: &[Vec<char>], at: usize, classes: [&Class; 2], most: u32) -> Expr {
    let class = classes[usize::from(at > 0)];
    let mut alternatives: Vec<Expr> = Vec::new();
    let mut firsts: Vec<char> = Vec::new();
    // The names are sorted, so the shortest comes first. It is complete here.
    let complete = known.first().is_some_and(|name| name.len() == at);
    let mut from = usize::from(complete);
    while let Some(&first) = known.get(from).and_then(|name| name.get(at)) {
        let end = known[from..].iter().position(|name| name.get(at) != Some(&first)).map_or(known.len(), |n| from + n);
        if class.contains(first) && at < DEPTH {
            let rest = rest_of_other(builder, &known[from..end], at + 1, classes, most);
            alternatives.push(builder.sequence(&[builder.char(first), rest]));
        }
        firsts.push(first);
        from = end;
    }
    let other = Class::of(&firsts).negate().intersect(class);
    alternatives.push(
        builder.sequence(&[builder.class(other), builder.repeat(classes[1].clone(), 0, Some(most.saturating_sub(1)))]),
    );
    if at > 0 && !complete {
        alternatives.push(Expr::EMPTY);
    }
    builder.rule("other-name", builder.choice(&alternatives)).into()
}

/// Names are compared up to this length. A name that shares as many characters with a known one is not accepted.
const DEPTH: usize = 256;
