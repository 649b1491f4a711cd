//! The limits for schemas. Where one is reached, the rest of the schema is not read: its types are unknown, a grammar accepts
//! any value and reports it, and generated types are an error.

/// How many schemas of one document are looked at. A schema counts each time that a reference leads to it.
pub const MAX_SCHEMAS: usize = 20_000;

/// How many schemas may contain each other, or lead to each other by references and combinations.
pub const MAX_DEPTH: usize = 64;

/// How many values of a document are searched for anchors and ids.
pub(super) const MAX_SEARCHED: usize = 200_000;

/// How many schemas of a document may have an id of their own. If there are more, no reference leads anywhere.
pub(super) const MAX_RESOURCES: usize = 64;

/// How many schemas are looked at to find the schema of one member or item while arguments are read.
pub(super) const MAX_LOOKED_UP: usize = 64;
