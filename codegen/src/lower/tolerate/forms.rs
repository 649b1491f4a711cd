//! Markers in all forms that models write: for what rules add.

use unjinja_runtime::abi::ArgumentKind;
use unjinja_spec::MarkerKey;

use super::{
    ascii_bars, blank_in_opener, doubled_bars, doubled_token, other_attribute, other_outer_name, second_bar,
    short_marker,
};
use crate::lower::canonical::arguments::value as written_value;
use crate::lower::canonical::build::marker as written_marker;
use crate::lower::canonical::source::Source;
use crate::plan::{Expr, Role};

/// The rules about other forms of one marker.
const FORMS: [fn(&Source<'_>, &mut Expr); 8] = [
    short_marker::apply,
    other_attribute::apply,
    doubled_token::apply,
    doubled_bars::apply,
    second_bar::apply,
    ascii_bars::apply,
    blank_in_opener::apply,
    other_outer_name::apply,
];

/// A marker in all its forms.
pub(super) fn marker(spec: &Source<'_>, key: MarkerKey, role: Role) -> Expr {
    in_all_forms(spec, written_marker(spec, key, role))
}

/// The value of an argument with its markers in all their forms.
pub(super) fn value(spec: &Source<'_>, kind: ArgumentKind, end_of_name: Expr) -> Expr {
    in_all_forms(spec, written_value(spec, kind, end_of_name))
}

fn in_all_forms(spec: &Source<'_>, mut expr: Expr) -> Expr {
    FORMS.iter().for_each(|apply| apply(spec, &mut expr));
    expr
}
