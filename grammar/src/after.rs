//! What may follow a text that has already been written: the rules after it. A sampler that cannot be fed with the text itself
//! begins with these.

use crate::builder::Builder;
use crate::expr::{Expr, ExprKind, Repeat, RuleId};
use crate::free_text::TextPart;
use crate::until::Transition;

impl Builder {
    /// What may follow `read` where `expr` matches `read` and what follows it. An empty choice if nothing may.
    pub(super) fn after(&mut self, expr: Expr, read: &str) -> Expr {
        read.chars().fold(expr, |expr, char| self.after_char(expr, char))
    }

    fn after_char(&mut self, expr: Expr, char: char) -> Expr {
        match self.kind(expr) {
            ExprKind::Text(whole) => whole.strip_prefix(char).map_or(Expr::NOTHING, |rest| self.text(rest)),
            ExprKind::Class(class) if class.contains(char) => Expr::EMPTY,
            ExprKind::Class(_) => Expr::NOTHING,
            ExprKind::Rule(rule) => match self.get(rule).map(|rule| (rule.text, rule.expr)) {
                Some((Some(part), _)) => self.text_after(part, char),
                // Rules are not left-recursive, so this comes to an end.
                Some((None, Some(expr))) => self.after_char(expr, char),
                _ => Expr::NOTHING,
            },
            ExprKind::Choice(all) => {
                let all: Vec<Expr> = all.iter().map(|one| self.after_char(*one, char)).collect();
                self.choice(&all)
            }
            ExprKind::Sequence(parts) => {
                let mut alternatives = Vec::new();
                for (at, part) in parts.iter().enumerate() {
                    let mut rest = parts[at..].to_vec();
                    rest[0] = self.after_char(*part, char);
                    alternatives.push(self.sequence(&rest));
                    if !self.may_be_empty(*part) {
                        break;
                    }
                }
                self.choice(&alternatives)
            }
            ExprKind::Repeat(Repeat { body, min, max }) => {
                let after = self.after_char(body, char);
                let more = self.repeat(body, min.saturating_sub(1), max.map(|max| max.saturating_sub(1)));
                self.sequence(&[after, more])
            }
        }
    }

    fn text_after(&mut self, part: TextPart, char: char) -> Expr {
        let Some(free) = self.free_text(part.text) else { return Expr::NOTHING };
        let transitions = free.until.states.get(part.from).into_iter().flat_map(|state| &state.transitions);
        let mut alternatives = Vec::new();
        for transition in transitions {
            match transition {
                Transition::Char(chars, from) if chars.chars.contains(&char) != chars.negated => {
                    alternatives.push(self.text_rule("text", TextPart { from: *from, ..part }).into());
                }
                Transition::Stop(last, stop) if *last == char && part.stop == Some(*stop) => {
                    alternatives.push(Expr::EMPTY);
                }
                _ => {}
            }
        }
        self.choice(&alternatives)
    }

    pub(super) fn may_be_empty(&self, expr: Expr) -> bool {
        self.empty_within(expr, &mut Vec::new())
    }

    fn empty_within(&self, expr: Expr, open: &mut Vec<RuleId>) -> bool {
        match self.kind(expr) {
            ExprKind::Text(_) | ExprKind::Class(_) => false,
            ExprKind::Sequence(parts) => parts.iter().all(|part| self.empty_within(*part, open)),
            ExprKind::Choice(all) => all.iter().any(|one| self.empty_within(*one, open)),
            ExprKind::Repeat(this) => this.min == 0 || self.empty_within(this.body, open),
            ExprKind::Rule(id) => {
                let Some(rule) = self.get(id) else { return false };
                // A rule that is looked at already adds nothing to the answer.
                if rule.text.is_none() && open.contains(&id) {
                    return false;
                }
                open.push(id);
                let empty = rule.expr.is_some_and(|expr| self.empty_within(expr, open));
                open.pop();
                empty
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::free_text::FreeText;
    use super::super::until::Stop;
    use super::*;
    use crate::expr::Class;
    use std::sync::Arc;

    #[test]
    fn the_rest_of_an_expression() {
        let mut builder = Builder::new();
        let letters = || builder.class(Class::ranges(&[('a', 'z')]));
        let cases = [
            (builder.text("abc"), "ab", builder.text("c")),
            (builder.text("abc"), "x", Expr::NOTHING),
            (builder.sequence(&[builder.option(builder.text("a")), builder.text("b")]), "b", Expr::EMPTY),
            (
                builder.sequence(&[builder.many(letters()), builder.text("1")]),
                "xy",
                builder.sequence(&[builder.many(letters()), builder.text("1")]),
            ),
            (
                builder.choice(&[builder.text("ab"), builder.text("ac")]),
                "a",
                builder.choice(&[builder.text("b"), builder.text("c")]),
            ),
            (
                builder.repeat(builder.text("ab"), 2, Some(3)),
                "a",
                builder.sequence(&[builder.text("b"), builder.repeat(builder.text("ab"), 1, Some(2))]),
            ),
        ];
        for (expr, read, rest) in cases {
            assert_eq!(builder.after(expr, read), rest, "{expr:?} after {read:?}");
        }
    }

    #[test]
    fn a_text_goes_on_in_its_state() {
        let mut builder = Builder::new();
        let stop = Stop { core: "</a>", confirm: Vec::new(), peek: false };
        let number = builder.add_text(Arc::new(FreeText::new(&[stop])));
        let whole = builder.text_rule("text", TextPart { text: number, stop: Some(0), from: 0, max: None });
        let rest = builder.after(whole.into(), "x</");
        let ExprKind::Rule(rule) = builder.kind(rest) else { panic!("{rest:?}") };
        assert_eq!(builder.get(rule).and_then(|rule| rule.text).map(|part| part.from), Some(2));
        assert_eq!(builder.after(whole.into(), " \n"), whole.into());
        assert_eq!(builder.after(whole.into(), "x</a>"), Expr::EMPTY);
    }
}
