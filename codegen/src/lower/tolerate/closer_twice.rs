use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a closer twice",
    written: "A closer of a call, of all calls or of reasoning comes once more after a call.",
    read: "Syntax of that call.",
    diagnostic: None,
    case: "section_tags: closers that come twice belong to the call",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    turn.follow(&[PlanPart::Calls], leftovers(spec));
}
