use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "another token around calls",
    written: "A special token that the template writes elsewhere, or the tag of another format around calls, is before calls that nothing announces, or after them.",
    read: "Syntax.",
    diagnostic: None,
    case: "bare_json: a token that the template writes elsewhere is before the call",
};

/// The tags that other formats have around calls.
const WRAPPERS: [&str; 9] = [
    "<tool_call>",
    "</tool_call>",
    "<|tool_call|>",
    "<|/tool_call|>",
    "<|tool_calls|>",
    "<|python_tag|>",
    "<|python_start|>",
    "<|python_end|>",
    "[TOOL_CALLS]",
];

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    if spec.tools.format != ToolFormat::JsonNative || !is_bare(spec) || is_named(spec) {
        return;
    }
    let others = WRAPPERS.into_iter().filter(|core| is_new(spec, core));
    let others = others.map(|core| tolerated(MarkerKey::OtherToken, core, Role::Stray));
    let tokens: Vec<Literal> = other_tokens(spec).filter(|token| is_special(&token.core)).chain(others).collect();
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
