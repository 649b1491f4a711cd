use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a missing closer of a key",
    written: "The tag that closes the name of an argument is missing before the opener of its value.",
    read: "The value begins there.",
    diagnostic: Some("missing_marker"),
    case: "arg_key_value: the closer of a key is missing",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let closer = MarkerText::new(&spec.tools.arguments.name_suffix).core;
    let opener = ahead(MarkerKey::ArgumentValuePrefix, core(spec, MarkerKey::ArgumentValuePrefix));
    if closer.starts_with("</") && is_tag(&opener) {
        turn.also(&[PlanPart::KeyEnd], vec![Expr::sequence([opener.clone(), missing(closer)])]);
    }
}
