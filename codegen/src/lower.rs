//! Lowers a format spec to a plan: what templates write ([`canonical`]), and what models write in its place ([`tolerate`]).
//!
//! It must not look at the name of a model.

mod canonical;
pub(crate) mod tolerate;

use std::collections::BTreeSet;

use unjinja_spec::{FormatSpec, MarkerKey};

use crate::plan::{Plan, RuleId};
use canonical::build::normalised;
use canonical::source::Source;

/// What templates write in a turn, as text for people.
pub(crate) fn notation(spec: &FormatSpec) -> String {
    crate::plan::notation(&canonical::turn(&Source::new(spec, &BTreeSet::new())))
}

/// The plan of a spec's turn, without what the rule `left_out` tolerates. The markers in `whole` are not taken apart.
pub(crate) fn plan(spec: &FormatSpec, whole: &BTreeSet<MarkerKey>, left_out: Option<RuleId>) -> Plan {
    let spec = &Source::new(spec, whole);
    let mut turn = canonical::turn(spec);
    tolerate::tolerate(spec, &mut turn, left_out);
    Plan { turn: normalised(turn) }
}
