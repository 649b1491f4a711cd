//! How much of a template a spec describes.

use serde::{Deserialize, Serialize};

/// How much of what a template renders its spec describes.
///
/// ```
/// use unjinja_spec::Status;
///
/// assert!(Status::Partial.makes_parser());
/// assert_eq!(Status::Unsupported.name(), "unsupported");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Everything.
    #[default]
    Supported,
    /// Something is missing, and `gaps` names it. A parser reads the rest.
    Partial,
    /// So little that no parser is made.
    Unsupported,
}

impl Status {
    /// The name of the status in a spec.
    pub fn name(self) -> &'static str {
        match self {
            Status::Supported => "supported",
            Status::Partial => "partial",
            Status::Unsupported => "unsupported",
        }
    }

    /// Whether a parser is made from a spec with this status.
    pub fn makes_parser(self) -> bool {
        self != Status::Unsupported
    }
}
