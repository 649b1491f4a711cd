use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a missing marker before the arguments",
    written: "After a special token and an offered name, the marker before the arguments is missing.",
    read: "A call.",
    diagnostic: None,
    case: "args_marker: the marker before the arguments is missing",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    if spec.tools.format != ToolFormat::TagWithJson || needs_brace(spec) || !spec.is_announced() {
        return;
    }
    turn.change(&[PlanPart::AfterName], &mut |call| {
        let start = match spec.tools.call_id.position {
            CallIdPosition::InName => turn_start(&call),
            _ => Action::StartOffered,
        };
        let Some(rest) = call.find(PlanPart::Rest).cloned() else { return call };
        call.or([Expr::sequence([Expr::Action(start), marked(opening_brace()), rest.named(PlanPart::Rest)])])
    });
}

/// How a call with a label begins.
fn turn_start(call: &Expr) -> Action {
    start_of(call).cloned().unwrap_or(Action::StartCall)
}
