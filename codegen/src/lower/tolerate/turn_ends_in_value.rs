use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "the turn ends in a value",
    written: "The turn ends while a raw value is read.",
    read: "The value ends there, and the call is incomplete.",
    diagnostic: None,
    case: "xml_parameters: the turn ends in a value",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let end = |end| Expr::sequence([marked(end), Expr::Action(Action::EndCallIncomplete).tolerated()]);
    let ends = || ends_of_turn(spec).into_iter().filter(is_tag).map(end);
    turn.change(&[PlanPart::ValueEnd], &mut |closers| match is_empty(&closers) || spec.tools.arguments.nested {
        true => closers,
        false => closers.or(ends()),
    });
}
