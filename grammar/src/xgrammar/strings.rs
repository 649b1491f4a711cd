//! Strings of characters, each of which becomes a rule that calls itself, with its closing quote, and says what may follow it.
//!
//! The engine computes the masks of such a rule in advance. It does not for `*` of alternatives: there, each token of the vocabulary is
//! tried at each step, which takes a thousand times as long. A token that goes on beyond the end of the rule, such as a quote with a
//! comma, is tried at each step too, unless the engine knows what may follow.

use std::collections::HashMap;

use crate::builder::Builder;
use crate::expr::{Class, Expr, ExprKind, RuleId};

/// Characters, as often as they come, and the text behind them.
pub(super) struct Characters {
    /// The alternatives of one character: a class, or something else such as an escape.
    pub(super) one: Vec<Expr>,
    pub(super) end: Option<Expr>,
    /// The first characters of what may follow.
    pub(super) after: Class,
}

/// The strings of a grammar, by their numbers.
pub(super) struct Strings<'b> {
    builder: &'b Builder,
    pub(super) all: Vec<Characters>,
    first: HashMap<Expr, Class>,
    after: HashMap<RuleId, Class>,
    /// Rules whose followers have grown since their expression was looked at.
    pending: Vec<RuleId>,
}

impl<'b> Strings<'b> {
    pub(super) fn of(builder: &'b Builder, root: Expr) -> Self {
        let (first, after) = (HashMap::new(), HashMap::new());
        let mut strings = Self { builder, all: Vec::new(), first, after, pending: Vec::new() };
        strings.walk(root, &Class::of(&[]));
        while let Some(rule) = strings.pending.pop() {
            if let Some((None, Some(expr))) = builder.get(rule).map(|rule| (rule.text, rule.expr)) {
                let after = strings.after.get(&rule).cloned().unwrap_or_else(all);
                strings.walk(expr, &after);
            }
        }
        strings
    }

    /// The number of the string with which these parts of a sequence begin, and how many of them it has.
    pub(super) fn at(&mut self, parts: &[Expr]) -> Option<(usize, usize)> {
        let ExprKind::Repeat(repeat) = self.builder.kind(*parts.first()?) else { return None };
        let one = match self.builder.kind(repeat.body) {
            ExprKind::Rule(rule) => self.builder.get(rule)?.expr?,
            _ => repeat.body,
        };
        let ExprKind::Choice(one) = self.builder.kind(one) else { return None };
        let has_class = one.iter().any(|part| matches!(self.builder.kind(*part), ExprKind::Class(_)));
        if repeat.min > 0 || repeat.max.is_some() || !has_class {
            return None;
        }
        let end = parts.get(1).copied().filter(|next| matches!(self.builder.kind(*next), ExprKind::Text(_)));
        let known = self.all.iter().position(|string| string.end == end && *string.one == *one);
        let number = known.unwrap_or(self.all.len());
        if known.is_none() {
            self.all.push(Characters { one: one.to_vec(), end, after: Class::of(&[]) });
            one.iter().for_each(|part| self.walk(*part, &all()));
        }
        Some((number, 1 + usize::from(end.is_some())))
    }

    fn walk(&mut self, expr: Expr, after: &Class) {
        match self.builder.kind(expr) {
            ExprKind::Text(_) | ExprKind::Class(_) => {}
            ExprKind::Rule(rule) => {
                let known = self.after.get(&rule);
                let all = known.map_or_else(|| after.clone(), |known| known.union(after));
                if known != Some(&all) {
                    self.after.insert(rule, all);
                    self.pending.push(rule);
                }
            }
            ExprKind::Choice(parts) => parts.iter().for_each(|part| self.walk(*part, after)),
            ExprKind::Sequence(parts) => self.sequence(&parts, after),
            ExprKind::Repeat(_) if self.at(&[expr]).is_some() => self.sequence(&[expr], after),
            ExprKind::Repeat(repeat) => {
                let again = if repeat.max == Some(1) { Class::of(&[]) } else { self.first(repeat.body) };
                let after = again.union(after);
                self.walk(repeat.body, &after);
            }
        }
    }

    fn sequence(&mut self, parts: &[Expr], after: &Class) {
        // What may follow each part.
        let mut follows = vec![after.clone(); parts.len()];
        for at in (1..parts.len()).rev() {
            follows[at - 1] = self.first_before(parts[at], &follows[at]);
        }
        for (at, part) in parts.iter().enumerate() {
            match self.at(&parts[at..]) {
                Some((number, length)) => {
                    let string = &mut self.all[number];
                    string.after = string.after.union(&follows[at + length - 1]);
                }
                None => self.walk(*part, &follows[at]),
            }
        }
    }

    /// The first characters of an expression with what follows it.
    fn first_before(&mut self, expr: Expr, after: &Class) -> Class {
        let first = self.first(expr);
        if self.builder.may_be_empty(expr) { first.union(after) } else { first }
    }

    fn first(&mut self, expr: Expr) -> Class {
        if let Some(known) = self.first.get(&expr) {
            return known.clone();
        }
        let first = match self.builder.kind(expr) {
            ExprKind::Text(text) => self.spelled(Class::of(&text.chars().take(1).collect::<Vec<_>>())),
            ExprKind::Class(class) => self.spelled(Class::clone(&class)),
            ExprKind::Rule(rule) => match self.builder.get(rule).map(|rule| (rule.text, rule.expr)) {
                // Rules are not left-recursive, so this comes to an end.
                Some((None, Some(expr))) => self.first(expr),
                _ => all(),
            },
            ExprKind::Choice(parts) => parts.iter().fold(Class::of(&[]), |all, part| all.union(&self.first(*part))),
            ExprKind::Sequence(parts) => {
                let behind = parts.iter().position(|part| !self.builder.may_be_empty(*part)).unwrap_or(parts.len());
                parts.iter().take(behind + 1).fold(Class::of(&[]), |all, part| all.union(&self.first(*part)))
            }
            ExprKind::Repeat(repeat) => self.first(repeat.body),
        };
        self.first.insert(expr, first.clone());
        first
    }

    /// The class with the first characters of its tokens. A token that the engine names has no characters.
    fn spelled(&self, class: Class) -> Class {
        let tokens = self.builder.tokens();
        let Some((plain, in_class)) = tokens.in_class(&class) else { return class };
        let spelled = in_class.into_iter().filter_map(|char| tokens.of(char)).filter(|token| token.id().is_none());
        plain.union(&Class::of(&spelled.filter_map(|token| token.text().chars().next()).collect::<Vec<_>>()))
    }
}

/// All characters.
fn all() -> Class {
    Class::of(&[]).negate()
}
