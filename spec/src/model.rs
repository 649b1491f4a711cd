//! The data model of a format spec. Every field is a key of the TOML file; its doc comment is the key's
//! documentation. A marker is written as the template writes it, white space included.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::marker::MarkerKey;

/// The version of the spec language that this crate reads and writes.
pub const SPEC_VERSION: u32 = 2;

/// The oldest version that [`FormatSpec::migrate`] reads.
pub const OLDEST_SPEC_VERSION: u32 = 1;

/// How the output of one model is to be read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FormatSpec {
    /// Version of the spec language; [`SPEC_VERSION`].
    pub spec_version: u32,
    /// Why the template's format cannot be said in this language. A spec with this key makes no parser.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsupported: Option<String>,
    /// Which template this spec describes.
    pub template: TemplateInfo,
    /// What the template can render.
    #[serde(default)]
    pub capabilities: Capabilities,
    /// What frames a message.
    #[serde(default)]
    pub turn: Turn,
    /// What `add_generation_prompt` writes, one entry per distinct text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generation_prompt: Vec<GenerationPrompt>,
    /// How reasoning is written.
    #[serde(default)]
    pub reasoning: Reasoning,
    /// How the final answer is written.
    #[serde(default)]
    pub content: Content,
    /// How tool calls are written.
    #[serde(default)]
    pub tools: Tools,
    /// Other texts that do what a marker does, by the marker's dotted key: models write more than templates do.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub alternatives: BTreeMap<MarkerKey, Vec<String>>,
    /// The tokens that matter to whoever runs the model.
    #[serde(default)]
    pub tokens: Tokens,
    /// What the analysis rests on.
    #[serde(default)]
    pub evidence: Evidence,
}

/// Which template a spec describes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TemplateInfo {
    /// Name of the spec: lower-case letters, digits and `_`, the name of the generated module.
    pub name: String,
    /// Where the template comes from, for people: a model id, a URL.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// Hugging Face ids (`owner/name`) of the models whose output this spec reads. People write this list: no analysis
    /// finds it, and `unjinja check --write` keeps it. A registry finds the parser by these names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// File name of the template, without folders; of a file with several templates, with `#` and the template's name.
    pub file: String,
    /// SHA-256 of the template text, 64 lower-case hexadecimal digits.
    pub sha256: String,
    /// Other template files with the very same text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
}

/// What the template can render.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capabilities {
    /// The template lists the tools offered.
    #[serde(default)]
    pub tools: bool,
    /// The template renders an assistant's tool calls.
    #[serde(default)]
    pub tool_calls: bool,
    /// It renders more than one call in a turn.
    #[serde(default)]
    pub parallel_tool_calls: bool,
    /// It accepts a system message.
    #[serde(default)]
    pub system_role: bool,
    /// It accepts content given as a list of typed parts.
    #[serde(default)]
    pub typed_content: bool,
    /// It renders arguments that are given as an object.
    #[serde(default)]
    pub object_arguments: bool,
    /// It renders arguments that are given as JSON text.
    #[serde(default)]
    pub string_arguments: bool,
    /// It renders reasoning or asks for it.
    #[serde(default)]
    pub reasoning: bool,
    /// A turn of calls needs a content string: null content is an error or is printed.
    #[serde(default)]
    pub requires_nonnull_content: bool,
}

/// What frames a message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// Text before a user message.
    #[serde(default)]
    pub user_start: String,
    /// Text before an assistant message.
    #[serde(default)]
    pub assistant_start: String,
    /// Text after an assistant message, up to the next message.
    #[serde(default)]
    pub end: String,
}

/// What `add_generation_prompt` writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GenerationPrompt {
    /// The value of the thinking switch that gives this text; absent where the switch was not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<bool>,
    /// The text, from the start of the assistant's turn.
    pub text: String,
    /// Where the model's output begins.
    pub starts_in: Channel,
}

/// A channel of plain text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// The answer.
    #[default]
    Content,
    /// The chain of thought.
    Reasoning,
    /// None yet: the text ends inside a marker, which the model completes.
    Marker,
}

/// How reasoning is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reasoning {
    /// When reasoning is written.
    #[serde(default)]
    pub mode: ReasoningMode,
    /// Marker before the reasoning; empty where only the end is marked (delimiter style).
    #[serde(default)]
    pub start: String,
    /// Marker after the reasoning.
    #[serde(default)]
    pub end: String,
    /// What the template writes where a turn has no reasoning, if that is no empty block of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub empty: String,
    /// The opening marker of a tool call ends reasoning that was not closed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ended_by_call: bool,
    /// The message field that carries the reasoning (`reasoning_content`, `thinking`, …); empty where none does.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub field: String,
    /// The template variable that switches thinking (`enable_thinking`, `thinking`, …); empty where none does.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub switch: String,
}

/// When reasoning is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningMode {
    /// Never.
    #[default]
    None,
    /// Between the markers, wherever the model reasons.
    TagBased,
    /// Between the markers, and history shows it only in turns that call tools.
    ToolsOnly,
}

/// How the final answer is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    /// Whether markers stand around the answer.
    #[serde(default)]
    pub mode: ContentMode,
    /// Marker before the answer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub start: String,
    /// Marker after the answer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub end: String,
    /// The answer stands behind the calls of a turn that has both.
    #[serde(default, skip_serializing_if = "is_false")]
    pub after_calls: bool,
}

/// Whether markers stand around the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContentMode {
    /// The answer stands bare.
    #[default]
    Plain,
    /// Markers always stand around it.
    AlwaysWrapped,
    /// Markers stand around it where the turn has reasoning.
    WrappedWithReasoning,
}

/// How tool calls are written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tools {
    /// The family of the wire format.
    #[serde(default)]
    pub format: ToolFormat,
    /// Marker before all calls of a turn.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub section_start: String,
    /// Marker after all calls of a turn.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub section_end: String,
    /// Marker before each call.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub per_call_start: String,
    /// Marker after each call.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub per_call_end: String,
    /// Text between two calls.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub separator: String,
    /// `json_native`: the key whose object holds name and arguments; empty where they stand at the top.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub function_field: String,
    /// `json_native`: the key of the function's name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name_field: String,
    /// `json_native`: the key of the arguments.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub args_field: String,
    /// `json_native`: the key of the call's id, where the message's own id is written.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id_field: String,
    /// `json_native`: the key of an id that the template counts up by itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub gen_id_field: String,
    /// `json_native`: the function's name is the key, the arguments its value.
    #[serde(default, skip_serializing_if = "is_false")]
    pub fun_name_is_key: bool,
    /// `json_native`: the calls of a turn stand in one array.
    #[serde(default, skip_serializing_if = "is_false")]
    pub tools_array_wrapped: bool,
    /// `json_native`: the keys in the order in which the template writes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameter_order: Vec<String>,
    /// Values are written as Python literals (`True`, `None`, `{'a': 1}`).
    #[serde(default, skip_serializing_if = "is_false")]
    pub uses_python_dicts: bool,
    /// Around the function's name, where it stands outside JSON.
    #[serde(default, skip_serializing_if = "is_default")]
    pub function: Function,
    /// Around the arguments, where they stand outside a call's JSON.
    #[serde(default, skip_serializing_if = "is_default")]
    pub arguments: Arguments,
    /// Where the call's id stands, outside JSON.
    #[serde(default, skip_serializing_if = "is_default")]
    pub call_id: CallId,
}

/// The family of a wire format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolFormat {
    /// No tool calls.
    #[default]
    None,
    /// Name and arguments are fields of one JSON object.
    JsonNative,
    /// The name stands in a tag, the arguments are one JSON object.
    TagWithJson,
    /// The name stands in a tag, each argument in tags of its own.
    TagWithTagged,
    /// The name, then `name = value` pairs in brackets: `f(a=1, b="x")`, `call:f{a:1}`. Values are literals that end by
    /// themselves.
    CallExpression,
}

impl ToolFormat {
    /// The name, as specs write it.
    pub fn name(self) -> &'static str {
        match self {
            ToolFormat::None => "none",
            ToolFormat::JsonNative => "json_native",
            ToolFormat::TagWithJson => "tag_with_json",
            ToolFormat::TagWithTagged => "tag_with_tagged",
            ToolFormat::CallExpression => "call_expression",
        }
    }
}

/// Around the function's name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Function {
    /// Text before the name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name_prefix: String,
    /// Text after the name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name_suffix: String,
    /// Text that closes what `name_prefix` opened.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub close: String,
}

/// Around the arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Arguments {
    /// Text before all arguments.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub start: String,
    /// Text after all arguments.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub end: String,
    /// Text before an argument's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name_prefix: String,
    /// Text after an argument's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name_suffix: String,
    /// Text after an argument's name where the value is no string, if that differs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub other_name_suffix: String,
    /// The token around strings, where literals are written with quote tokens instead of quotes.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub quote: String,
    /// Text before an argument's value.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value_prefix: String,
    /// Text after an argument's value.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value_suffix: String,
    /// Text between two arguments.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub separator: String,
}

/// Where the call's id stands, outside JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CallId {
    /// Where it stands.
    pub position: CallIdPosition,
    /// Text before the id; for `in_name`, the part of the id before the name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub prefix: String,
    /// Text after the id; for `in_name`, what stands between the name and the index.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub suffix: String,
}

/// Where a call's id stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallIdPosition {
    /// Nowhere outside JSON.
    #[default]
    None,
    /// Before the function's name.
    PreFuncName,
    /// Between the name and the arguments.
    BetweenFuncAndArgs,
    /// After the arguments.
    PostArgs,
    /// The id holds the name and the call's index: what stands where the name would is the whole id.
    InName,
}

/// The tokens that matter to whoever runs the model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tokens {
    /// Markers that a detokenizer must keep, sorted.
    pub preserved: Vec<String>,
    /// What `bos_token` was in the renders; absent where the template's file does not say it, and then it was empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bos: Option<String>,
    /// What `eos_token` was in the renders; absent where the template's file does not say it, and then it was empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eos: Option<String>,
}

/// What the analysis rests on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Evidence {
    /// How many times the template was rendered.
    pub renders: u32,
    /// Random conversations that were rendered and parsed back.
    pub round_trips: RoundTrips,
}

/// Random conversations that were rendered and parsed back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RoundTrips {
    /// How many were tried.
    pub tried: u32,
    /// How many came back the same.
    pub held: u32,
}

fn is_false(value: &bool) -> bool {
    !*value
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
