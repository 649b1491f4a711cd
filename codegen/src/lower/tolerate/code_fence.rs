use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a call in a code fence",
    written: "A call that does not begin with a special token is in a code fence of the answer: it is an example.",
    read: "Content: it is an example.",
    diagnostic: None,
    case: "hermes: an example in a code fence is no call",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    stop_answer_at(turn, Role::Fence);
    if spec.tools.format == ToolFormat::None || spec.is_announced() || holds_fences(spec) {
        return;
    }
    // A model that shows how a call is written does not write special tokens.
    let fence = |role| Expr::from(tolerated(MarkerKey::CodeFence, FENCE, role));
    let until =
        vec![Role::ReasoningStart, Role::ContentWrapper, Role::CallOpen, Role::TurnEnd, Role::Stray, Role::FenceEnd];
    let hole = Expr::Hole(PlanHole::text(Channel::Content, until, Openers::Tokens));
    let close = Expr::sequence([fence(Role::FenceEnd), Expr::Action(Action::CloseFence)]).optional();
    let code = Expr::sequence([fence(Role::Fence), Expr::Action(Action::OpenFence), hole, close]);
    turn.also(&[PlanPart::Sections], vec![code]);
}
