use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a tag of an argument twice",
    written: "The tag that opens or closes the name of an argument, or that closes its value, comes twice.",
    read: "Syntax.",
    diagnostic: None,
    case: "arg_key_value: a tag of a key twice",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    for key in [MarkerKey::ArgumentNamePrefix, MarkerKey::ArgumentNameSuffix] {
        let core = core(spec, key);
        if is_one_tag(core) && is_tag(&part(key, core)) {
            let again = || part(key, core).repeated();
            turn.follow(&[PlanPart::Marker(key)], again());
        }
    }
    let (key, closer) = (MarkerKey::ArgumentValueSuffix, core(spec, MarkerKey::ArgumentValueSuffix));
    if is_one_tag(closer) && is_tag(&part(key, closer)) && !spec.tools.arguments.cdata {
        turn.follow(&[PlanPart::ValueEnd], part(key, closer).repeated());
    }
}
