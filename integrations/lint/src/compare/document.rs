//! A comparison as JSON.

use serde::Serialize;
use serde_json::Value;
use unjinja_runtime::Message;
use unjinja_spec::Change;

use super::readings::TurnReadings;
use super::renders::RenderDifference;

/// What two templates have in common, as the command and the npm package write it.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparisonDocument<'c> {
    /// Whether the templates render alike what clients send.
    pub(super) render: Renders<'c>,
    /// Whether the parsers read alike.
    pub(super) read: Readings<'c>,
    /// Why a template has no parser; null if it has one.
    pub(super) problems: Both<Option<&'c str>>,
}

/// The same of both templates.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Both<T> {
    /// Of the old template.
    pub(super) old: T,
    /// Of the new template.
    pub(super) new: T,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Renders<'c> {
    /// Whether every conversation comes out alike.
    pub(super) alike: bool,
    /// How many conversations were tried.
    pub(super) tried: usize,
    /// How many come out different.
    pub(super) differing: usize,
    /// How many of these differ in white space only.
    pub(super) space: usize,
    /// The smallest conversation that comes out different; null if there is none.
    pub(super) difference: Option<Difference<'c>>,
    /// The special tokens of which only one file says the text. Both templates were rendered with it.
    pub(super) assumed_tokens: &'c [String],
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Difference<'c> {
    /// The variables of the render, with each special token that a template reads and its file does not give.
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Map<String, Value>"))]
    conversation: &'c Value,
    /// What the old template writes.
    old: Rendered<'c>,
    /// What the new template writes.
    new: Rendered<'c>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum Rendered<'c> {
    /// The render.
    Text(&'c str),
    /// Why the template fails.
    Error(&'c str),
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Readings<'c> {
    /// Whether no change of the specs breaks a parser, and every turn is read alike.
    pub(super) alike: bool,
    /// The keys that differ between the specs.
    pub(super) changes: &'c [Change],
    /// Random turns of each template, read by the parser of the other one.
    pub(super) turns: Both<Turns<'c>>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Turns<'c> {
    /// How many turns were read.
    tried: usize,
    /// How many the other parser reads as the template's own.
    alike: usize,
    /// The shortest turn that is read otherwise; null if there is none.
    difference: Option<OtherReading<'c>>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct OtherReading<'c> {
    /// What the model writes.
    output: &'c str,
    /// The tools that are offered, as OpenAI has them.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<Value>"))]
    tools: Value,
    /// The message that the template's own parser reads.
    own: &'c Message,
    /// The message that the other parser reads.
    other: &'c Message,
}

pub(super) fn difference(difference: &RenderDifference) -> Difference<'_> {
    let [old, new] = [&difference.old, &difference.new].map(|text| match text {
        Ok(text) => Rendered::Text(text),
        Err(error) => Rendered::Error(error),
    });
    Difference { conversation: &difference.conversation, old, new }
}

pub(super) fn turns(readings: &TurnReadings) -> Turns<'_> {
    let turn = readings.difference.as_ref().map(|one| OtherReading {
        output: &one.output,
        tools: one.tools.to_openai(),
        own: &one.own,
        other: &one.other,
    });
    Turns { tried: readings.tried, alike: readings.alike, difference: turn }
}
