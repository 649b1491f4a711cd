use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a missing opener of a value",
    written: "A value begins without its opener after the tag that closes its name.",
    read: "The value begins there.",
    diagnostic: Some("missing_marker"),
    case: "arg_key_value: a value without its opener",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let arguments = &spec.tools.arguments;
    if MarkerText::new(&arguments.name_suffix).tags().last().is_none_or(|tag| !tag.starts_with("</")) {
        return;
    }
    let opener = MarkerText::new(&arguments.value_prefix).core;
    turn.change(&[PlanPart::ValueStart], &mut |own| if is_tag(&own) { own.or([missing(opener)]) } else { own });
}
