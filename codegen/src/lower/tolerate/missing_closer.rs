use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a missing closer",
    written: "A closer is missing, or an opener that what follows tells.",
    read: "Syntax is not missed.",
    diagnostic: None,
    case: "hermes: a code fence after a call without its closer",
};

pub(super) fn apply(_: &Source<'_>, turn: &mut Expr) {
    // Not marked yet: grammars allow it too.
    turn.also(&[PlanPart::Closer], vec![Expr::empty()]);
}
