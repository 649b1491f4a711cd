//! Parses a template: normalises line ends, checks the tokens, builds the syntax tree.

use crate::stack::Bounds;
use crate::syntax::ast::Parsed;
use crate::syntax::problem::Problem;
use crate::syntax::{parser, scan};

/// The source with `\n` as its only line end, as Jinja2 normalises it. Lines of errors count in this text.
pub(crate) fn normalise(source: &str) -> String {
    source.replace("\r\n", "\n").replace('\r', "\n")
}

/// Parses a normalised source. `name` is used in messages only.
///
/// Recursion stays within `bounds`; a source that needs more is refused.
pub(crate) fn parse(name: &str, source: &str, bounds: &Bounds) -> Result<Parsed, Problem> {
    let prepared = scan::check(source, bounds)?;
    parser::parse(name, &prepared, bounds)
}
