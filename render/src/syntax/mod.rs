//! Reading a template: from its source to a syntax tree that the evaluator walks.
//!
//! [`parse`] is the way in. Nothing here evaluates anything. Only [`parser`] knows the crate `minijinja`.

pub(crate) mod ast;
pub(crate) mod inspect;
mod literals;
pub(crate) mod parse;
mod parser;
mod problem;
mod scan;
