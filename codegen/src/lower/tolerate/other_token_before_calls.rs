use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "another token around calls",
    written: "A special token that the template writes elsewhere is before calls that nothing announces, or after them.",
    read: "Syntax.",
    diagnostic: None,
    case: "bare_json: a token that the template writes elsewhere is before the call",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let tokens: Vec<Literal> = other_tokens(spec).filter(|token| is_special(&token.core)).collect();
    let is_bare = spec.tools.format == ToolFormat::JsonNative && is_bare(spec) && !is_named(spec);
    if tokens.is_empty() || !is_bare {
        return;
    }
    let part = |role, confirm| {
        let part = |token: &Literal| Expr::from(Literal { role, confirm, ..token.clone() });
        Expr::Choice(tokens.iter().map(part).collect())
    };
    turn.change(&[PlanPart::Calls], &mut |calls| {
        let token = part(Role::CallOpen, true);
        let opened = Expr::sequence([Expr::Action(Action::Speculate), token, calls.clone()]);
        Expr::sequence([Expr::choice([calls, opened]), part(Role::Inner, false).repeated()])
    });
}
