use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a code fence around calls",
    written: "An answer begins with a code fence around calls that nothing announces.",
    read: "Calls, if their tools were offered.",
    diagnostic: None,
    case: "bare_json: an answer that begins with a code fence around calls",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    if spec.tools.format != ToolFormat::JsonNative || !is_bare(spec) || is_named(spec) || holds_fences(spec) {
        return;
    }
    // After a text, what is in a fence is an example.
    let open = |core: &str| {
        let fence = tolerated(MarkerKey::CodeFence, core, Role::CallOpen);
        Expr::from(Literal { confirm: true, in_text: InText::Text, ..fence })
    };
    let begins = Expr::Choice([format!("{FENCE}json"), FENCE.to_owned()].iter().map(|core| open(core)).collect());
    turn.change(&[PlanPart::Calls], &mut |calls| {
        let close = part(MarkerKey::CodeFence, FENCE).optional();
        let fenced = Expr::sequence([Expr::Action(Action::Speculate), begins.clone(), calls.clone(), close]);
        calls.or([fenced])
    });
}
