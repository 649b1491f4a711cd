use super::prelude::*;
use crate::plan::STOPPED;

pub(super) const RULE: Rule = Rule { name: "a missing closer", apply };

pub(super) const DESCRIPTION: Description = Description {
    rule: RULE.name,
    written: "A closer is missing, or an opener that what follows tells.",
    read: "Syntax is not missed.",
    diagnostic: None,
    case: "hermes: a code fence after a call without its closer",
};

fn apply(_: &Source<'_>, turn: &mut Expr) {
    turn.change(&[PlanPart::Closer], &mut |closer| {
        let is_token = matches!(normalised(closer.clone()), Expr::Literal(literal) if is_special(&literal.core));
        let rule = if is_token { STOPPED } else { "" };
        closer.or([Expr::Tolerated(rule, Box::new(Expr::empty()))])
    });
}
