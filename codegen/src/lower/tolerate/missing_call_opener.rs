use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a missing opener of the first call",
    written: "After the special token that opens all calls, the opener of the first is missing, and a special token follows the name.",
    read: "A call.",
    diagnostic: None,
    case: "section_tags: the opener of the first call is missing",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let Some(named) = turn.find(PlanPart::Named).cloned().filter(|_| is_told_by_suffix(spec)) else { return };
    let known = (spec.tools.call_id.position != CallIdPosition::InName).then_some(Action::StartKnown);
    let call = by_name(&named, known, &|prefix| own_and_others(&prefix).0);
    turn.also(&[PlanPart::AfterSection], vec![call]);
}

/// Whether the special token after a name tells a call that lacks its own opener, after the special token that opens all calls.
fn is_told_by_suffix(spec: &Source<'_>) -> bool {
    let tools = &spec.tools;
    let suffixes = [&tools.function.name_suffix, &tools.arguments.start];
    let first = suffixes.into_iter().map(|text| MarkerText::new(text).core).find(|core| !core.is_empty());
    let markers = [MarkerText::new(&tools.section_start).core, MarkerText::new(&tools.per_call_start).core];
    let mut all = markers.into_iter().chain(Some(first.unwrap_or_default()));
    tools.format == ToolFormat::TagWithJson && all.all(is_special)
}
