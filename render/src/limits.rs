//! How much one render may use.

/// The limits of one render. A real chat template stays far below the defaults.
///
/// ```
/// use unjinja_render::{Limits, RenderErrorKind, Template};
///
/// let mut limits = Limits::default();
/// limits.output_bytes = 999;
/// let template = Template::parse("long.jinja", "{{ 'a' * 1000 }}")?.with_limits(limits);
/// let error = template.render(&serde_json::json!({})).unwrap_err();
/// assert_eq!(error.kind(), RenderErrorKind::Limit);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Steps. Each expression and each statement that is evaluated costs one; reading or writing 64 bytes costs one more.
    pub fuel: u64,
    /// Bytes of the rendered text.
    pub output_bytes: usize,
    /// Bytes of all values that are made during the render, whether they are still in use or not. So the values that are
    /// alive at any moment never take more.
    pub value_bytes: usize,
    /// How deep evaluation may nest: macros that call macros, loops in loops, brackets in brackets. Where rendering cannot
    /// get a [big stack](crate::with_big_stack), a smaller limit holds as well.
    pub depth: u32,
    /// Bytes of the template's source.
    pub source_bytes: usize,
}

impl Default for Limits {
    /// 3 million steps, 16 MiB of text, 64 MiB of values, depth 1,000, 2 MiB of source.
    fn default() -> Limits {
        Limits { fuel: 3_000_000, output_bytes: 16 << 20, value_bytes: 64 << 20, depth: 1_000, source_bytes: 2 << 20 }
    }
}
