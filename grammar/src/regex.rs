//! Regular expressions: one parser and one tree for the dialects that schemas and response templates are written in.
//!
//! `parse` reads the syntax of a `Dialect`; what the tree means, and which parts of it can be used, is decided by who uses
//! it: `schema/regex.rs` makes rules of it, and `unjinja-export` an expression for the library that searches. Sets stay as
//! they are written, because `\d` and `\s` are other characters in each dialect.
//!
//! Groups nest to a limited depth, so the tree can be walked by recursion.

mod dialect;
mod error;
mod escape;
mod parse;
#[cfg(test)]
mod tests;
mod tree;

pub use dialect::{Dialect, Ecma, Python};
pub use error::{Cause, SyntaxError};
pub use parse::parse;
pub use tree::{Assertion, Greed, Item, Named, Node, Set};
