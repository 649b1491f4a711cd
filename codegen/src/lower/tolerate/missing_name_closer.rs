use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "no tag after the name",
    written: "The tag after the name of a function is missing, and the first argument opens.",
    read: "The name ends there.",
    diagnostic: Some("missing_marker"),
    case: "",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let [own, next] = [MarkerKey::FunctionNameSuffix, MarkerKey::ArgumentNamePrefix].map(|key| core(spec, key));
    let is_tag = |core| is_one_tag(core) && begins_tag(core);
    if is_tag(own) && is_tag(next) && spec.tools.arguments.start.trim().is_empty() {
        turn.also(&[PlanPart::NameEnd], vec![Expr::sequence([ahead(MarkerKey::ArgumentNamePrefix, next), missing(own)])]);
    }
}
