//! What the analysis has tried, and what it knows from elsewhere.

use serde::{Deserialize, Serialize};

/// How much the analysis has tried.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Evidence {
    /// How many times the template was rendered.
    pub renders: u32,
    /// Random conversations that were rendered and parsed back.
    pub round_trips: RoundTrips,
    /// The kinds of conversations that were tried and gave the same message back each time, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub covered: Vec<String>,
    /// What no render shows and the text of the prompt describes.
    #[serde(default, skip_serializing_if = "Described::is_empty")]
    pub described: Described,
}

/// What no render shows and the text of the prompt describes. Each part holds the example of the prompt that was read back; where
/// the prompt only names a value, another one stands in its place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Described {
    /// How tool calls are written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<String>,
    /// How reasoning is written: its tags.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
}

impl Described {
    /// Whether nothing is described that no render shows.
    pub fn is_empty(&self) -> bool {
        self.tool_calls.is_none() && self.reasoning.is_none()
    }
}

/// Random conversations that were rendered and parsed back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct RoundTrips {
    /// How many were tried.
    pub tried: u32,
    /// How many gave the same message back.
    pub held: u32,
}
