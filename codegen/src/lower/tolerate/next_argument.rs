use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "the next argument ends a value",
    written: "A raw value has no closer, and another argument that the tool declares opens, on a line of its own if the template writes it so.",
    read: "The value ends there.",
    diagnostic: Some("missing_marker"),
    case: "xml_parameters: a value whose closer is missing ends before the next argument",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let arguments = &spec.tools.arguments;
    let (own, name) = (MarkerText::new(&arguments.value_suffix), MarkerText::new(&arguments.name_prefix));
    if !begins_tag(own.core) || !begins_tag(name.core) || MarkerText::pieces(&arguments.name_prefix).len() != 1 {
        return;
    }
    let next = Literal {
        before: own.before.to_owned(),
        confirm: true,
        named_next: true,
        peek: true,
        // Where values are on lines of their own, it begins a line.
        line: own.before.contains('\n'),
        ..tolerated(MarkerKey::ArgumentNamePrefix, name.core, Role::Inner)
    };
    let end = Expr::sequence([Expr::from(next), missing(own.core)]);
    turn.also(&[PlanPart::ValueEnd], vec![end]);
}
