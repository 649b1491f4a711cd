use super::forms::marker;
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a tag that closes itself",
    written: "The tag with the name of a function closes itself, or the closer of the call follows the name where JSON was to come: the call has no arguments.",
    read: "A call without arguments.",
    diagnostic: None,
    case: "xml_parameters: a tag that closes itself",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let [prefix, suffix, end] =
        [MarkerKey::FunctionNamePrefix, MarkerKey::FunctionNameSuffix, MarkerKey::CallEnd].map(|key| spec.marker(key));
    let call_end = marker(spec, MarkerKey::CallEnd, Role::Inner);
    let (ends, rest) = if tag_of_name(prefix, suffix).is_some() {
        (["/>", "\"/>"].map(|end| part(MarkerKey::FunctionNameSuffix, end)).to_vec(), call_end)
    } else if spec.tools.format == ToolFormat::TagWithJson && is_tag(&call_end) {
        (vec![part(MarkerKey::CallEnd, MarkerText::new(end).core)], Expr::empty())
    } else {
        return;
    };
    turn.change(&[PlanPart::AfterName], &mut |call| {
        let Some(start) = start_of(&call).cloned() else { return call };
        let closed =
            |end: &Expr| Expr::sequence([Expr::Action(start.clone()), end.clone(), end_of_call(rest.clone())]);
        call.or(ends.iter().map(closed))
    });
}
