//! Python's operators: arithmetic, comparison, subscripts and attributes, and `%` on strings.

pub(crate) mod arithmetic;
pub(crate) mod comparison;
pub(crate) mod format_spec;
pub(crate) mod lookup;
pub(crate) mod method_names;
pub(crate) mod percent;
