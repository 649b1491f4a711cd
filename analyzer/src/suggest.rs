//! Placeholder.

use unjinja_render::Template;
use unjinja_spec::FormatSpec;

/// A
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// O
    pub overlay: String,
    /// Q
    pub quotes: Vec<String>,
}
/// B
pub fn suggest(_template: &Template, _spec: &FormatSpec) -> Option<Suggestion> {
    None
}
