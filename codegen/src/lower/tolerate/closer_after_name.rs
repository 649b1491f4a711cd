use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "the closer of reasoning after a name",
    written: "The closer of reasoning comes again after the name of a function.",
    read: "Syntax.",
    diagnostic: None,
    case: "arg_key_value: the closer of reasoning after the name of a function",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let closer = core(spec, MarkerKey::ReasoningEnd);
    let is_marker = |(key, text): (MarkerKey, &str)| key != MarkerKey::ReasoningEnd && text.contains(closer);
    if !is_one_tag(closer) || spec.tools.format != ToolFormat::TagWithTagged || spec.markers().any(is_marker) {
        return;
    }
    let again = || part(MarkerKey::ReasoningEnd, closer);
    turn.change(&[PlanPart::AfterName], &mut |call| call.clone().or([Expr::sequence([again(), call])]));
}
