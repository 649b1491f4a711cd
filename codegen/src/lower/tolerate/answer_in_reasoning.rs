use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "an answer that opens in reasoning",
    written: "The opener of the answer, a special token, comes while reasoning is open: reasoning ends there.",
    read: "Reasoning ends there.",
    diagnostic: None,
    case: "counted_ids: the answer opens while reasoning is open",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let opener = core(spec, MarkerKey::ContentStart);
    if !is_special(opener) || spec.reasoning.end.trim().is_empty() {
        return;
    }
    let opener = Literal { peek: true, ..tolerated(MarkerKey::ContentStart, opener, Role::ReasoningEnd) };
    let end = Expr::sequence([Expr::from(opener), Expr::Action(Action::CloseReasoning)]);
    turn.also(&[PlanPart::ReasoningEnd], vec![end]);
}
