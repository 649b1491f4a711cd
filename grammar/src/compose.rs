//! Makes expressions: texts, classes, sequences, choices and repetitions, each in its simplest form.

use std::collections::HashSet;
use std::sync::Arc;

use crate::builder::{Builder, IntoExpr};
use crate::expr::{Class, Expr, ExprKind, Repeat};

impl Builder {
    /// What an expression is made of.
    #[inline(never)]
    pub fn kind(&self, expr: Expr) -> ExprKind {
        self.exprs.borrow().kind(expr)
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
        self.exprs.borrow_mut().intern(kind)
    }

    /// This text.
    #[inline]
    pub fn text(&self, text: impl AsRef<str>) -> Expr {
        self.text_of(text.as_ref())
    }

    // Some hundred places call this and the functions below, so none of them is inlined.
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
        let mut seen = HashSet::new();
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

#[cfg(test)]
mod tests {
    use super::*;

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
