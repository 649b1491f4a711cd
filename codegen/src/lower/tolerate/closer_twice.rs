use super::prelude::*;

pub(super) const RULE: Rule = Rule { name: "a closer twice", apply };

pub(super) const DESCRIPTION: Description = Description {
    rule: RULE.name,
    written: "A closer of a call, of all calls or of reasoning comes once more after a call.",
    read: "Syntax of that call.",
    diagnostic: None,
    case: "section_tags: closers that come twice belong to the call",
};

fn apply(spec: &Source<'_>, turn: &mut Expr) {
    turn.follow(&[PlanPart::Calls], leftovers(spec));
}
