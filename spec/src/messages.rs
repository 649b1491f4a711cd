//! How messages are handed to a template: the forms that this template reads, where clients and templates differ. This
//! module holds data only; `unjinja_analyzer::hand_over` applies it.

use serde::{Deserialize, Serialize};

use crate::functions::Functions;

/// How messages are handed to the template, so that it renders all of them. What a template does not need has the value
/// that most templates take.
///
/// ```
/// use unjinja_spec::{ArgumentsForm, FormatSpec};
///
/// let spec = FormatSpec::from_toml(r#"
/// spec_version = 1
///
/// [template]
/// name = "sample"
/// file = "sample.jinja"
/// sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
///
/// [messages]
/// arguments = "text"
/// "#, "sample.toml")?;
/// assert_eq!(spec.messages.arguments, ArgumentsForm::Text);
/// # Ok::<(), unjinja_spec::SpecError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Messages {
    /// The form of a content.
    pub content: ContentForm,
    /// The content of an assistant's message that calls tools and says nothing.
    pub content_of_calls: EmptyContent,
    /// The form of a call's arguments.
    pub arguments: ArgumentsForm,
    /// The ids that the template accepts.
    pub ids: CallIdForm,
    /// Where a system message may be.
    pub system: SystemPlace,
    /// Where reasoning is written into the content: a turn with calls keeps it.
    #[serde(skip_serializing_if = "is_false")]
    pub reasoning_with_calls: bool,
    /// The template leaves reasoning before a result out on purpose: it cuts it out of contents, or shows it at other places only.
    #[serde(skip_serializing_if = "is_false")]
    pub drops_reasoning: bool,
    /// The template reads the function's name in the message with its result, and does not look it up by the call's id.
    #[serde(skip_serializing_if = "is_false")]
    pub result_name: bool,
    /// Where the content of a message with calls is handed over.
    #[serde(skip_serializing_if = "is_default")]
    pub content_with_calls: ContentWithCalls,
    /// A message has one call: each further one is handed over in a message of its own, after the result of the call before it.
    #[serde(skip_serializing_if = "is_false")]
    pub one_call: bool,
    /// The template writes no calls: they are written into the content, as `[tools]` says.
    #[serde(skip_serializing_if = "is_false")]
    pub calls_in_content: bool,
    /// What the template reads in the variable `functions`, instead of `tools`.
    #[serde(skip_serializing_if = "is_default")]
    pub functions: Functions,
}

/// The form of a content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ContentForm {
    /// A text.
    #[default]
    Text,
    /// A list of typed parts: `[{"type": "text", "text": …}]`.
    Parts,
}

/// The content of a message that calls tools and says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EmptyContent {
    /// An empty text. Nearly all templates take it, and some fail at null or print it as a word.
    #[default]
    Empty,
    /// Null, for templates that write more for an empty text: a second, empty turn.
    Null,
    /// The message has no such field, for templates that take neither an empty text nor null.
    Absent,
}

/// Where the content of a message with calls is handed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ContentWithCalls {
    /// With the calls.
    #[default]
    Kept,
    /// In a message of its own before them: the template loses a content next to calls.
    Apart,
    /// In a message of its own before the last calls that have one, or with the answer: the template takes one content between two
    /// messages of the user.
    Joined,
    /// At the end of the reasoning, if there is some: the template refuses both next to calls.
    InReasoning,
}

/// The form of a call's arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ArgumentsForm {
    /// An object.
    #[default]
    Object,
    /// JSON text, as OpenAI's API has it.
    Text,
}

/// The ids that a template accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CallIdForm {
    /// Any text, or none.
    #[default]
    Any,
    /// Nine letters and digits; the template fails at others.
    Nine,
    /// A number that counts all calls of the conversation from 0.
    Counted,
    /// The function's name with a number: `functions.NAME:0`. The template writes the name only as a part of the id.
    Named,
}

/// Where a system message may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SystemPlace {
    /// Anywhere.
    #[default]
    Anywhere,
    /// Only before all other messages: the template fails at a later one, or loses it.
    First,
    /// Nowhere: the template renders no system message.
    Nowhere,
}

fn is_false(value: &bool) -> bool {
    !*value
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
