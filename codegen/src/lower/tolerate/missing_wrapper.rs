use super::forms::marker;
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a missing wrapper",
    written: "The marker that opens all calls, or the outer tag of a call, is missing before a tag that opens a call.",
    read: "A call.",
    diagnostic: None,
    case: "",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let [section, start, prefix] = [MarkerKey::SectionStart, MarkerKey::CallStart, MarkerKey::FunctionNamePrefix]
        .map(|key| marker(spec, key, Role::CallOpen));
    let (start_is_tag, prefix_is_tag) = (is_tag(&start), is_tag(&prefix));
    if spec.tools.format == ToolFormat::JsonNative {
        if start_is_tag {
            turn.change(&[PlanPart::Wrapper], &mut |wrapper| match is_empty(&wrapper) {
                // White space alone wraps nothing.
                true => Expr::empty(),
                false => wrapper.or([Expr::empty()]),
            });
        }
        return;
    }
    let mut or_inner = |place, inner| {
        turn.change(&[place], &mut |opened: Expr| {
            let call = opened.find(inner).cloned();
            opened.or(call)
        });
    };
    if prefix_is_tag {
        or_inner(PlanPart::Opened, PlanPart::AfterOpener);
    }
    if (start_is_tag || prefix_is_tag) && !is_empty(&section) {
        or_inner(PlanPart::Section, PlanPart::AfterSection);
    }
}
