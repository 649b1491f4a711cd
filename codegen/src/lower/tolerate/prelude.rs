//! What rules are made of.

pub(super) use std::collections::BTreeSet;

pub(super) use unjinja_runtime::Channel;
pub(super) use unjinja_runtime::abi::{Action, ArgumentKind, CallShape, Hole, InText};
pub(super) use unjinja_spec::{CallIdPosition, MarkerKey, MarkerText, ToolFormat, begins_tag, tags as tags_in};

pub(super) use super::adding::*;
pub(super) use super::facts::*;
pub(super) use crate::lower::canonical::arguments::{by_schema, literal_kind, type_after_name};
pub(super) use crate::lower::canonical::build::{
    confirmed, hole, is_empty, is_tag, literal, normalised, opening_brace,
};
pub(super) use crate::lower::canonical::ends_of_turn;
pub(super) use crate::lower::canonical::native::{is_bare, is_named, shape};
pub(super) use crate::lower::canonical::source::{OPENERS, Source};
pub(super) use crate::lower::canonical::tagged::{end_of_call, is_bracketed, needs_brace};
pub(super) use crate::plan::{Expr, HoleRole, Literal, Openers, PlanHole, PlanPart, Role};
