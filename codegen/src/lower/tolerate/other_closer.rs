use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "the closer of a key or a value for the other",
    written: "The tag that closes a value closes a key, or that of a key a value, before what may come there.",
    read: "Syntax.",
    diagnostic: None,
    case: "arg_key_value: the closer of a key closes a value",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let [key, value] =
        [MarkerKey::ArgumentNameSuffix, MarkerKey::ArgumentValueSuffix].map(|key| MarkerText::new(spec.marker(key)));
    let is_closer = |text: &MarkerText<'_>| text.core.starts_with("</") && is_one_tag(text.core);
    if !is_closer(&key) || !is_closer(&value) || key.core == value.core {
        return;
    }
    let opener = core(spec, MarkerKey::ArgumentValuePrefix);
    if begins_tag(opener) {
        let closer = tolerated(MarkerKey::ArgumentNameSuffix, value.core, Role::Inner);
        let closer = Literal { followed_by: vec![opener.to_owned()], ..closer };
        turn.also(&[PlanPart::KeyEnd], vec![Expr::from(closer)]);
    }
    let other = mark(literal(MarkerKey::ArgumentValueSuffix, MarkerText { core: key.core, ..value }, Role::Inner));
    turn.also(&[PlanPart::ValueEnd], vec![confirmed(Expr::from(other))]);
}
