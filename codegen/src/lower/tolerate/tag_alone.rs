use super::forms::marker;
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a tag with a name alone",
    written: "A tag with the name of an offered tool is without any opener before it.",
    read: "A call if the name was offered.",
    diagnostic: None,
    case: "",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let is_announced = [&spec.tools.section_start, &spec.tools.per_call_start].iter().any(|text| !text.trim().is_empty());
    let prefix = marker(spec, MarkerKey::FunctionNamePrefix, Role::CallOpen);
    let Some(named) = turn.find(PlanPart::Named).cloned() else { return };
    if !is_announced || !is_tag(&prefix) || spec.tools.format == ToolFormat::CallExpression {
        return;
    }
    // A tag with a name may be prose about the tag. So what follows must confirm it.
    let mut call = by_name(&named, Some(Action::StartKnown), &|prefix| prefix);
    call.change(&[PlanPart::NameEnd], &mut confirmed);
    turn.change(&[PlanPart::First], &mut |first| Expr::choice([call.clone(), first]));
}
