//! The opener of the answer, a special token, comes while reasoning is open: reasoning ends there.

use super::prelude::*;

pub(super) const RULE: Rule = Rule { name: "an answer that opens in reasoning", apply };

fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let opener = core(spec, MarkerKey::ContentStart);
    if !is_special(opener) || spec.reasoning.end.trim().is_empty() {
        return;
    }
    let opener = Literal { peek: true, ..tolerated(MarkerKey::ContentStart, opener, Role::ReasoningEnd) };
    let end = Expr::Sequence(vec![Expr::Literal(opener), Expr::Action(Action::CloseReasoning)]);
    turn.change(&[Part::ReasoningEnd], &mut |close| close.or([end.clone()]));
}
