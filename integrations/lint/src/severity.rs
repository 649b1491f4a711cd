//! How bad findings are.

/// How bad a finding is.
///
/// ```
/// use unjinja_lint::Severity;
///
/// assert!(Severity::Error > Severity::Warning);
/// assert_eq!(Severity::Note.name(), "note");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Good to know: a limit of the format, or a choice with a price.
    Note,
    /// Something is lost or wrong, but most conversations work.
    Warning,
    /// Conversations that clients send fail, or the model reads something else than was said.
    Error,
}

impl Severity {
    /// `note`, `warning` or `error`.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}
