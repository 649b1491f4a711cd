use super::forms::marker;
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a tag that closes itself",
    written: "The tag with the name of a function closes itself: the call has no arguments.",
    read: "A call without arguments.",
    diagnostic: None,
    case: "xml_parameters: a tag that closes itself",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let suffix = spec.marker(MarkerKey::FunctionNameSuffix);
    if tag_of_name(spec.marker(MarkerKey::FunctionNamePrefix), suffix).is_none() {
        return;
    }
    let call_end = marker(spec, MarkerKey::CallEnd, Role::Inner);
    turn.change(&[PlanPart::AfterName], &mut |call| {
        let Some(start) = start_of(&call).cloned() else { return call };
        let closed = |end: &str| {
            let end = part(MarkerKey::FunctionNameSuffix, end);
            Expr::sequence([Expr::Action(start.clone()), end, end_of_call(call_end.clone())])
        };
        call.or(["/>", "\"/>"].map(closed))
    });
}
