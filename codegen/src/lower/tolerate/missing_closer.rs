//! A closer is missing, or an opener that what follows tells.

use super::prelude::*;

pub(super) const RULE: Rule = Rule { name: "a missing closer", apply };

fn apply(_: &Source<'_>, turn: &mut Expr) {
    turn.change(&[Part::Closer], &mut |closer| closer.or([Expr::empty().tolerated()]));
}
