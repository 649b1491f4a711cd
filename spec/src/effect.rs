//! What a change of a spec means for a parser that was built before the change.

use std::fmt;

use serde::Serialize;

/// What a change means for a parser that was built from the old spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Nothing: the change is about what goes into the template, or about the analysis.
    Informational,
    /// It still reads every turn, except for white space next to a marker.
    Compatible,
    /// It reads some turn wrongly.
    Breaking,
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Effect::Informational => "informational",
            Effect::Compatible => "compatible",
            Effect::Breaking => "breaking",
        })
    }
}
