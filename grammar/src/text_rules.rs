//! Rules of text: sets of characters, names that differ from known ones, and free text as the states of its automaton.

use std::sync::Arc;

use crate::builder::Builder;
use crate::expr::{Class, Expr, RuleId};
use crate::free_text::{FreeText, TextPart};
use crate::until::{CharSet, Stop, Transition};

pub(super) fn class(builder: &Builder, chars: &CharSet) -> Expr {
    match chars.chars.as_slice() {
        [only] if !chars.negated => builder.char(*only),
        all if chars.negated => builder.class(Class::of(all).negate()),
        all => builder.class(Class::of(all)),
    }
}

/// A name that is not one of `known`: the class of its first character, and of the others.
pub(super) fn other_than(builder: &mut Builder, known: &[&str], classes: [&Class; 2]) -> Expr {
    if builder.manner().unlimited {
        let [first, others] = classes.map(|class| builder.class(class.clone()));
        return builder.read("$0 $1*", &[first, others]);
    }
    let mut known: Vec<Vec<char>> = known.iter().map(|name| name.chars().collect()).collect();
    known.sort_unstable();
    known.dedup();
    rest_of_other(builder, &known, 0, classes)
}

/// The rest of such a name, after `at` characters that all of `known` share.
fn rest_of_other(builder: &mut Builder, known: &[Vec<char>], at: usize, classes: [&Class; 2]) -> Expr {
    let class = classes[usize::from(at > 0)];
    let mut alternatives: Vec<Expr> = Vec::new();
    let mut firsts: Vec<char> = Vec::new();
    // The names are sorted, so the shortest comes first. It is complete here.
    let complete = known.first().is_some_and(|name| name.len() == at);
    let mut from = usize::from(complete);
    while let Some(&first) = known.get(from).and_then(|name| name.get(at)) {
        let end = known[from..].iter().position(|name| name.get(at) != Some(&first)).map_or(known.len(), |n| from + n);
        if class.contains(first) && at < DEPTH {
            let rest = rest_of_other(builder, &known[from..end], at + 1, classes);
            alternatives.push(builder.sequence(&[builder.char(first), rest]));
        }
        firsts.push(first);
        from = end;
    }
    let other = Class::of(&firsts).negate().intersect(class);
    alternatives.push(builder.sequence(&[builder.class(other), builder.many(classes[1].clone())]));
    if at > 0 && !complete {
        alternatives.push(Expr::EMPTY);
    }
    builder.rule("other-name", builder.choice(&alternatives)).into()
}

/// Names are compared up to this length. A name that shares as many characters with a known one is not accepted.
const DEPTH: usize = 256;

impl Builder {
    pub(super) fn text_rule(&mut self, name: &str, part: TextPart) -> RuleId {
        let TextPart { text: number, stop, from, max } = part;
        let purpose = |state: usize| format!("free text {number} {stop:?} {max:?} {state}");
        if let Some(rule) = self.kept(&purpose(from)) {
            return rule;
        }
        let Some(free) = self.free_text(number) else { return self.reserve(name) };
        let rules: Vec<RuleId> = free.until.states.iter().map(|_| self.reserve(name)).collect();
        for (at, (state, rule)) in free.until.states.iter().zip(&rules).enumerate() {
            let alternatives = state.transitions.iter().filter_map(|transition| match transition {
                Transition::Char(chars, next) => Some(self.sequence(&[class(self, chars), rules[*next].into()])),
                Transition::Stop(char, this) => (stop == Some(*this)).then(|| self.char(*char)),
                Transition::Peek(this) => (stop == Some(*this)).then_some(Expr::EMPTY),
            });
            let end = (stop.is_none() && state.may_end).then_some(Expr::EMPTY);
            let alternatives: Vec<Expr> = alternatives.chain(end).collect();
            self.define(*rule, self.choice(&alternatives));
            self.keep(&purpose(at), *rule);
            self.mark_text(*rule, TextPart { from: at, ..part });
        }
        rules.get(from).copied().unwrap_or_else(|| self.reserve(name))
    }
}

/// Text up to a marker, including the marker.
pub(super) fn up_to(builder: &mut Builder, name: &str, core: &str) -> Expr {
    let text = builder.add_text(Arc::new(FreeText::new(&[Stop { core, confirm: Vec::new(), peek: false }])));
    builder.text_rule(name, TextPart { text, stop: Some(0), from: 0, max: None }).into()
}
