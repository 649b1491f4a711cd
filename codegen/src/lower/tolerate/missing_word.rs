use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a word before the name is missing",
    written: "The word before the token that announces the name of a function is missing, or both are.",
    read: "Syntax.",
    diagnostic: None,
    case: "",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let (opener, prefix) = (core(spec, MarkerKey::CallStart), core(spec, MarkerKey::FunctionNamePrefix));
    let Some(token) = tags_in(prefix).first().copied().filter(|token| is_special(token)) else { return };
    let has_word = prefix.strip_suffix(token).is_some_and(|word| !word.is_empty() && word.chars().all(char::is_alphanumeric));
    if has_word && is_one_tag(opener) && spec.tools.call_id.position == CallIdPosition::None {
        let ways = vec![part(MarkerKey::FunctionNamePrefix, token), Expr::empty().tolerated()];
        turn.also(&[PlanPart::Marker(MarkerKey::FunctionNamePrefix)], ways);
    }
}
