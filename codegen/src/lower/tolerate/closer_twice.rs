//! A closer of a call, of all calls or of reasoning comes once more after a call.

use super::prelude::*;

pub(super) const RULE: Rule = Rule { name: "a closer twice", apply };

fn apply(spec: &Source<'_>, turn: &mut Expr) {
    turn.change(&[Part::Calls], &mut |calls| Expr::Sequence(vec![calls, leftovers(spec)]));
}
