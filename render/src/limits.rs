//! How much one render may use.

use serde_json::Value;

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
    /// More steps for each byte of the variables beyond the first 4,096: templates look through a conversation once for each of its
    /// messages.
    pub fuel_per_byte: u64,
    /// Bytes of the rendered text.
    pub output_bytes: usize,
    /// Bytes of all values that are made during the render, whether they are still in use or not. So the values that are
    /// alive at any moment never take more.
    pub value_bytes: usize,
    /// More of them for each byte of the variables beyond the first 4,096: some templates copy the rest of a conversation at each
    /// message.
    pub value_bytes_per_byte: usize,
    /// How deep evaluation may nest: macros that call macros, loops in loops, brackets in brackets. Where rendering cannot
    /// get a [big stack](crate::with_big_stack), a smaller limit holds as well.
    pub depth: u32,
    /// Bytes of the template's source.
    pub source_bytes: usize,
}

/// The maximum size of small variables, in bytes: they get no more than what every render may use.
const SMALL: usize = 4_096;

impl Default for Limits {
    /// 3 million steps and 1,000 more for each byte of long variables, 64 MiB of values and 4 KiB more for each such byte, 16 MiB of text,
    /// depth 1,000, 2 MiB of source.
    fn default() -> Limits {
        Limits {
            fuel: 3_000_000,
            fuel_per_byte: 1_000,
            output_bytes: 16 << 20,
            value_bytes: 64 << 20,
            value_bytes_per_byte: 4 << 10,
            depth: 1_000,
            source_bytes: 2 << 20,
        }
    }
}

impl Limits {
    /// The limits of a render with these variables.
    pub(crate) fn of_render(&self, variables: &Value) -> Limits {
        let bytes = size(variables).saturating_sub(SMALL);
        let fuel = self.fuel.saturating_add(self.fuel_per_byte.saturating_mul(bytes as u64));
        let value_bytes = self.value_bytes.saturating_add(self.value_bytes_per_byte.saturating_mul(bytes));
        Limits { fuel, value_bytes, ..self.clone() }
    }
}

/// About how many bytes a value has as JSON text. Not recursive: the value may be nested deeper than the stack allows.
fn size(value: &Value) -> usize {
    let (mut bytes, mut open) = (0, vec![value]);
    while let Some(value) = open.pop() {
        bytes += 4;
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => bytes += text.len(),
            Value::Array(items) => open.extend(items),
            Value::Object(members) => {
                bytes += members.keys().map(String::len).sum::<usize>();
                open.extend(members.values());
            }
        }
    }
    bytes
}
