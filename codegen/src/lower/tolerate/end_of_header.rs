use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "only the end of a header",
    written: "Only the end of a header is left of it, before an answer.",
    read: "Syntax: an answer follows.",
    diagnostic: None,
    case: "",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let end = MarkerText::new(&spec.content.header.end).core;
    if is_special(end) {
        let end = tolerated(MarkerKey::ContentStart, end, Role::ContentWrapper);
        let end = Expr::from(Literal { in_text: InText::Text, ..end });
        turn.also(&[PlanPart::Sections], vec![end]);
    }
}
