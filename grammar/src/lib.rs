#![doc = include_str!("../README.md")]
//!
//! The crate has three parts: expressions of GBNF with their builder and writer, JSON schemas compiled into these, and the grammar of
//! a turn made from a program.
//!
//! Nothing here knows a model or a format. Input may be hostile: the result is always a grammar that llama.cpp can
//! load, or an error. Depth, count and size are limited, and everything that is not expressed is reported.

mod after;
mod assemble;
mod builder;
mod compose;
mod counted;
mod engine;
mod error;
mod escaped;
mod expr;
mod free_text;
mod graph;
mod key_order;
mod lark;
mod members;
mod notation;
mod options;
/// The parser of regular expressions, for this crate and `unjinja-export`. Not for applications.
#[doc(hidden)]
pub mod regex;
mod schema;
mod special_tokens;
mod syntax;
mod target;
mod text_rules;
mod tool_rules;
mod trigger;
mod turn;
mod until;
mod values;
mod write;
mod xgrammar;

pub use assemble::{Grammar, GrammarExt, Reasoning, grammar};
pub use builder::{Builder, IntoExpr, MAX_COUNT, MAX_REPETITION, Rule};
pub use error::GrammarError;
pub use expr::{Class, Expr, ExprKind, Repeat, RuleId};
pub use options::{GrammarOptions, ToolChoice};
pub use schema::{SchemaError, Schemas, Widened, any_object, any_string, any_value, compile_schema, white_space};
pub use special_tokens::SpecialToken;
pub use syntax::{Integers, Syntax, WhiteSpace};
pub use target::{Target, UnknownTarget};
pub use unjinja_runtime::Trigger;
pub use values::Wider;
