//! Grammars for constrained sampling: GBNF as a tree, its writer, and JSON schemas compiled into it.
//!
//! Nothing here knows a model or a format. Input may be hostile: whatever is given, the result is a grammar that the
//! engine can load, or an error; depth, count and size are limited, and what is not expressed is reported.

mod builder;
mod expr;
mod write;

pub use builder::{Builder, MAX_COUNT, MAX_REPETITION, Rule, RuleId};
pub use expr::{Class, Expr, Repeat, choice, many, option, repeat, sequence, some, text};
