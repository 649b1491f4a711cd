use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "the start of the turn twice",
    written: "The start of the turn, or the last tag of it, is written again.",
    read: "Syntax.",
    diagnostic: None,
    case: "",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let start = MarkerText::new(&spec.turn.assistant_start);
    let last = start.tags().pop().filter(|tag| start.core.ends_with(tag)).unwrap_or_default();
    let mut starts: Vec<Expr> = Vec::new();
    for text in [start, MarkerText::new(last)] {
        let start = Expr::from(mark(literal(MarkerKey::AssistantStart, text, Role::Inner)));
        if !is_empty(&start) && is_tag(&start) && !starts.contains(&start) {
            starts.push(start);
        }
    }
    if starts.is_empty() {
        return;
    }
    turn.change(&[PlanPart::Start], &mut |label| match label {
        Expr::Option(label) => label.or(starts.clone()).optional(),
        _ => Expr::Choice(starts.clone()).optional(),
    });
}
