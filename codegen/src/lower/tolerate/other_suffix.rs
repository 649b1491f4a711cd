use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "another bracket after a name",
    written: "After another bracket than the template's, only an offered name makes a call, if any was offered.",
    read: "A call if the name was offered, or none was.",
    diagnostic: None,
    case: "python_calls: another bracket makes a call of an offered name only",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    if spec.tools.format != ToolFormat::CallExpression {
        return;
    }
    turn.change(&[PlanPart::AfterName], &mut |call| {
        let suffix = call.find(PlanPart::NameEnd).cloned().unwrap_or_else(Expr::empty);
        let (own, others) = own_and_others(&suffix);
        if is_empty(&others) {
            return call;
        }
        let with = |mut call: Expr, suffix: &Expr| {
            call.change(&[PlanPart::NameEnd], &mut |_| suffix.clone());
            call
        };
        let other = with(started(&call, Action::StartKnown), &others);
        with(call, &own).or([other])
    });
}
