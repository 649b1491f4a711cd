use super::forms::marker;
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "calls that are opened and not written",
    written: "The turn ends directly after the special token that opens all calls.",
    read: "That token is broken markup.",
    diagnostic: Some("abandoned_call"),
    case: "section_tags: the turn ends after the token that opens all calls",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let is_literal = |form: &Expr| matches!(form, Expr::Literal(literal) if is_special(&literal.core));
    let is_token = match &normalised(marker(spec, MarkerKey::SectionStart, Role::CallOpen)) {
        Expr::Choice(forms) => forms.iter().all(is_literal),
        form => is_literal(form),
    };
    if !is_token {
        return;
    }
    let ended = |end: Literal| {
        let end = Literal { peek: true, role: Role::Inner, ..end };
        Expr::sequence([Expr::from(end), Expr::Action(Action::Unparsed)])
    };
    turn.also(&[PlanPart::AfterSection], ends_before_more(spec).into_iter().map(ended).collect());
}
