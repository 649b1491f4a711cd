//! What may follow a text that has already been written: the rules after it. A sampler that cannot be fed with the text itself
//! begins with these.

use super::free_text::TextPart;
use super::until::Transition;
use super::{Builder, Expr, Repeat, RuleId, choice, repeat, sequence, text};
use crate::small::List as _;

impl Builder {
    /// What may follow `read` where `expr` matches `read` and what follows it. An empty choice if nothing may.
    pub(super) fn after(&mut self, expr: Expr, read: &str) -> Expr {
        read.chars().fold(expr, |expr, char| self.after_char(&expr, char))
    }

    fn after_char(&mut self, expr: &Expr, char: char) -> Expr {
        let nothing = || Expr::Choice(Vec::new());
        match expr {
            Expr::Text(whole) => whole.strip_prefix(char).map_or_else(nothing, text),
            Expr::Class(class) if class.contains(char) => Expr::EMPTY,
            Expr::Class(_) => nothing(),
            Expr::Rule(rule) => match self.get(*rule).map(|rule| (rule.text, rule.expr.clone())) {
                Some((Some(part), _)) => self.text_after(part, char),
                // Rules are not left-recursive, so this comes to an end.
                Some((None, Some(expr))) => self.after_char(&expr, char),
                _ => nothing(),
            },
            Expr::Choice(all) => {
                let all: Vec<Expr> = all.iter().map(|one| self.after_char(one, char)).list();
                choice(all)
            }
            Expr::Sequence(parts) => {
                let mut alternatives = Vec::new();
                for (at, part) in parts.iter().enumerate() {
                    let after = self.after_char(part, char);
                    alternatives.push(sequence([after].into_iter().chain(parts[at + 1..].iter().cloned())));
                    if !self.may_be_empty(part) {
                        break;
                    }
                }
                choice(alternatives)
            }
            Expr::Repeat(this) => {
                let Repeat { body, min, max } = &**this;
                let after = self.after_char(body, char);
                sequence([after, repeat(body.clone(), min.saturating_sub(1), max.map(|max| max.saturating_sub(1)))])
            }
        }
    }

    fn text_after(&mut self, part: TextPart, char: char) -> Expr {
        let Some(free) = self.text(part.text) else { return Expr::Choice(Vec::new()) };
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
        choice(alternatives)
    }

    /// Whether an expression matches the empty text.
    fn may_be_empty(&self, expr: &Expr) -> bool {
        self.empty_within(expr, &mut Vec::new())
    }

    fn empty_within(&self, expr: &Expr, open: &mut Vec<RuleId>) -> bool {
        match expr {
            Expr::Text(text) => text.is_empty(),
            Expr::Class(_) => false,
            Expr::Sequence(parts) => parts.iter().all(|part| self.empty_within(part, open)),
            Expr::Choice(all) => all.iter().any(|one| self.empty_within(one, open)),
            Expr::Repeat(this) => this.min == 0 || self.empty_within(&this.body, open),
            Expr::Rule(id) => {
                let Some(rule) = self.get(*id) else { return false };
                // A rule that is looked at already adds nothing to the answer.
                if rule.text.is_none() && open.contains(id) {
                    return false;
                }
                open.push(*id);
                let empty = rule.expr.as_ref().is_some_and(|expr| self.empty_within(expr, open));
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
    use super::super::{Class, many, option};
    use super::*;
    use std::sync::Arc;

    #[test]
    fn the_rest_of_an_expression() {
        let letters = || Expr::from(Class::ranges([('a', 'z')]));
        for (expr, read, rest) in [
            (text("abc"), "ab", text("c")),
            (text("abc"), "x", Expr::Choice(Vec::new())),
            (sequence([option(text("a")), text("b")]), "b", Expr::EMPTY),
            (sequence([many(letters()), text("1")]), "xy", sequence([many(letters()), text("1")])),
            (choice([text("ab"), text("ac")]), "a", choice([text("b"), text("c")])),
            (repeat(text("ab"), 2, Some(3)), "a", sequence([text("b"), repeat(text("ab"), 1, Some(2))])),
        ] {
            assert_eq!(Builder::new().after(expr.clone(), read), rest, "{expr:?} after {read:?}");
        }
    }

    #[test]
    fn a_text_goes_on_in_its_state() {
        let mut builder = Builder::new();
        let stop = Stop { core: "</a>", confirm: Vec::new(), peek: false };
        let number = builder.add_text(Arc::new(FreeText::new(&[stop])));
        let whole = builder.text_rule("text", TextPart { text: number, stop: Some(0), top: false, from: 0 });
        let rest = builder.after(whole.into(), "x</");
        let Expr::Rule(rule) = rest else { panic!("{rest:?}") };
        assert_eq!(builder.get(rule).and_then(|rule| rule.text).map(|part| part.from), Some(2));
        assert_eq!(builder.after(whole.into(), " \n"), whole.into());
        assert_eq!(builder.after(whole.into(), "x</a>"), Expr::EMPTY);
    }
}
