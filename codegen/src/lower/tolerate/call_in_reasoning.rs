use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a call in reasoning",
    written: "A call opens with a special token in reasoning that nothing closed, and no marker closes calls.",
    read: "A call, if the end of the turn or of the output follows.",
    diagnostic: None,
    case: "",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let closers = [MarkerKey::SectionEnd, MarkerKey::CallEnd, MarkerKey::FunctionClose, MarkerKey::ReasoningEnd];
    let is_open = spec.reasoning.end.trim().is_empty();
    let is_closed = closers.iter().take(3).any(|key| !spec.marker(*key).trim().is_empty());
    // Where nothing closes a call, what follows does not tell a call from prose about one, and grammars cannot look further.
    if is_open || is_closed {
        return;
    }
    turn.change(&[PlanPart::Thoughts], &mut |text| match text {
        Expr::Hole(hole) => Expr::Hole(PlanHole { openers: Openers::Tolerated, ..hole }),
        other => other,
    });
}
