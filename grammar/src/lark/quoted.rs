//! Which expressions match nothing but quoted strings: a quote, an inside with escapes, and the same quote. A quoted string is
//! never the beginning of another one, so that a lexer can read each as one piece, whatever else may come.

use std::collections::HashMap;

use crate::builder::Builder;
use crate::expr::{Class, Expr, ExprKind, RuleId};

/// How far a quoted string is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum At {
    Before,
    Double,
    DoubleEscape,
    Single,
    SingleEscape,
    After,
    /// This is no quoted string.
    Wrong,
}

const ALL: [At; 7] = [At::Before, At::Double, At::DoubleEscape, At::Single, At::SingleEscape, At::After, At::Wrong];

/// A set of places in a quoted string, one bit for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Places(u8);

impl Places {
    pub(super) const BEFORE: Self = Self::only(At::Before);
    pub(super) const AFTER: Self = Self::only(At::After);

    const fn only(at: At) -> Self {
        Self(1 << at as u8)
    }

    /// Whether the text cannot be a quoted string, or may have ended already.
    pub(super) fn cannot_continue(self) -> bool {
        self.0 & (Self::AFTER.0 | Self::only(At::Wrong).0) != 0 || self.0 == 0
    }

    pub(super) fn read(self, character: char) -> Self {
        self.each(|at| Self::only(at.read(character)))
    }

    fn each(self, next: impl Fn(At) -> Self) -> Self {
        Self(ALL.into_iter().filter(|at| self.0 & 1 << *at as u8 != 0).fold(0, |all, at| all | next(at).0))
    }
}

impl At {
    fn read(self, character: char) -> Self {
        match (self, character) {
            (Self::Before, '"') => Self::Double,
            (Self::Before, '\'') => Self::Single,
            (Self::Double, '"') | (Self::Single, '\'') => Self::After,
            (Self::Double, '\\') => Self::DoubleEscape,
            (Self::Single, '\\') => Self::SingleEscape,
            (Self::Double | Self::DoubleEscape, _) => Self::Double,
            (Self::Single | Self::SingleEscape, _) => Self::Single,
            (Self::Before | Self::After | Self::Wrong, _) => Self::Wrong,
        }
    }
}

/// Where what an expression matches leads to, from each place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Effect([Places; 7]);

impl Effect {
    fn of(next: impl Fn(At) -> Places) -> Self {
        Self(ALL.map(next))
    }

    fn nothing_read() -> Self {
        Self::of(Places::only)
    }

    pub(super) fn from(&self, places: Places) -> Places {
        places.each(|at| self.0[at as usize])
    }

    fn then(&self, other: &Self) -> Self {
        Self(self.0.map(|places| other.from(places)))
    }

    fn or(&self, other: &Self) -> Self {
        Self::of(|at| Places(self.0[at as usize].0 | other.0[at as usize].0))
    }
}

/// The effects of expressions. Those of rules are computed once.
#[derive(Default)]
pub(super) struct Effects {
    known: HashMap<RuleId, Option<Effect>>,
}

/// The maximum depth to which rules in rules are followed.
const DEPTH: usize = 100;

impl Effects {
    /// The effect of an expression. `None` if it uses itself, is free text, or is nested too deeply: then it cannot be written
    /// as a terminal.
    pub(super) fn of(&mut self, builder: &Builder, expr: Expr) -> Option<Effect> {
        self.within(builder, expr, DEPTH)
    }

    /// Whether an expression matches nothing but quoted strings.
    pub(super) fn is_quoted(&mut self, builder: &Builder, expr: Expr) -> bool {
        self.of(builder, expr).is_some_and(|effect| effect.from(Places::BEFORE) == Places::AFTER)
    }

    fn within(&mut self, builder: &Builder, expr: Expr, depth: usize) -> Option<Effect> {
        let depth = depth.checked_sub(1)?;
        match builder.kind(expr) {
            // A terminal cannot contain a token.
            ExprKind::Text(text) if text.chars().any(|char| builder.tokens().of(char).is_some()) => None,
            ExprKind::Text(text) => {
                Some(Effect::of(|at| text.chars().fold(Places::only(at), |places, char| places.read(char))))
            }
            ExprKind::Class(class) => Some(of_class(&class)),
            ExprKind::Rule(rule) => self.of_rule(builder, rule, depth),
            ExprKind::Sequence(parts) => {
                let mut effect = Effect::nothing_read();
                for part in parts.iter() {
                    effect = effect.then(&self.within(builder, *part, depth)?);
                }
                Some(effect)
            }
            ExprKind::Choice(parts) => {
                let mut effect = Effect::of(|_| Places(0));
                for part in parts.iter() {
                    effect = effect.or(&self.within(builder, *part, depth)?);
                }
                Some(effect)
            }
            ExprKind::Repeat(this) => {
                let once = self.within(builder, this.body, depth)?;
                // Any number of times: at least what is repeated, and mostly the same.
                let mut many = Effect::nothing_read();
                loop {
                    let more = many.or(&many.then(&once));
                    if more == many {
                        break;
                    }
                    many = more;
                }
                Some(if this.min > 0 { once.then(&many) } else { many })
            }
        }
    }

    fn of_rule(&mut self, builder: &Builder, id: RuleId, depth: usize) -> Option<Effect> {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let rule = builder.get(id).filter(|rule| rule.text.is_none())?;
        let expr = rule.expr?;
        // A rule that uses itself finds this.
        self.known.insert(id, None);
        let effect = self.within(builder, expr, depth);
        self.known.insert(id, effect);
        effect
    }
}

fn of_class(class: &Class) -> Effect {
    let special = ['"', '\'', '\\'];
    let others = class.intersect(&Class::of(&special).negate()).positive().first().map(|range| range.0);
    let some: Vec<char> = special.into_iter().filter(|char| class.contains(*char)).chain(others).collect();
    Effect::of(|at| Places(some.iter().fold(0, |all, char| all | Places::only(at).read(*char).0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{any_string, any_value};

    #[test]
    fn knows_quoted_strings() {
        let mut builder = Builder::new();
        let string = any_string(&mut builder);
        let value = any_value(&mut builder);
        let inside = || builder.many(Class::of(&['"', '\\']).negate());
        for (expr, expected) in [
            (builder.text("\"a\""), true),
            (builder.text("'it\\'s'"), true),
            (builder.text("'it's'"), false),
            (builder.text("\"a"), false),
            (builder.text("\"a\":"), false),
            (builder.text(""), false),
            (builder.choice(&[builder.text("\"a\""), builder.text("'b'")]), true),
            (builder.option(builder.text("\"a\"")), false),
            (builder.many(builder.text("\"a\"")), false),
            (builder.sequence(&[builder.text("\""), inside(), builder.text("\"")]), true),
            (builder.sequence(&[builder.text("'"), inside(), builder.text("'")]), false),
            (builder.sequence(&[builder.text("\""), builder.class(Class::any()), builder.text("\"")]), false),
            (string, true),
            (value, false),
            (Expr::NOTHING, false),
        ] {
            assert_eq!(Effects::default().is_quoted(&builder, expr), expected, "{expr:?}");
        }
    }
}
