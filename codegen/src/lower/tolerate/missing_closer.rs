//! A closer is missing, or an opener that what follows tells.

use super::prelude::*;
use crate::plan::STOPPED;

pub(super) const RULE: Rule = Rule { name: "a missing closer", apply };

fn apply(_: &Source<'_>, turn: &mut Expr) {
    turn.change(&[Part::Closer], &mut |closer| {
        let is_token = matches!(normalised(closer.clone()), Expr::Literal(literal) if is_special(&literal.core));
        let rule = if is_token { STOPPED } else { "" };
        closer.or([Expr::Tolerated(rule, Box::new(Expr::empty()))])
    });
}
