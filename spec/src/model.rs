//! The data model of a format spec. Every field is a key of the TOML file, and `docs/spec.md` explains each with an
//! example. A marker is written as the template writes it, white space included. This module holds data only: what is
//! allowed is checked in `check.rs`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::evidence::Evidence;
use crate::marker::MarkerKey;
use crate::messages::Messages;
use crate::status::Status;

/// The version of the spec language that this crate reads and writes.
pub const SPEC_VERSION: u32 = 1;

/// The wire format of one model: how its output is divided into reasoning, answer and tool calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct FormatSpec {
    /// Version of the spec language: 1.
    pub spec_version: u32,
    /// How much of what the template renders this spec describes. No parser is made from an unsupported spec.
    #[serde(default)]
    pub status: Status,
    /// What is missing, one plain sentence each; empty if and only if the format is supported.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<String>,
    /// Which template this spec describes.
    pub template: TemplateInfo,
    /// What the template can render.
    #[serde(default)]
    pub capabilities: Capabilities,
    /// How messages are handed to the template.
    #[serde(default)]
    pub messages: Messages,
    /// The text around a message.
    #[serde(default)]
    pub turn: TurnMarkers,
    /// What `add_generation_prompt` adds to the prompt, one entry per distinct text.
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
    /// Other texts that count as a marker, by the marker's dotted key. Models write forms that their templates never
    /// show.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, Vec<String>>"))]
    pub alternatives: BTreeMap<MarkerKey, Vec<String>>,
    /// The tokens that a server which runs the model has to know.
    #[serde(default)]
    pub tokens: Tokens,
    /// How much the analysis has tried.
    #[serde(default)]
    pub evidence: Evidence,
}

impl FormatSpec {
    /// A spec of this template that says nothing yet: no markers, no calls.
    ///
    /// ```
    /// use unjinja_spec::{FormatSpec, Status, TemplateInfo};
    ///
    /// let mut spec = FormatSpec::new(TemplateInfo { name: "sample".to_owned(), ..TemplateInfo::default() });
    /// spec.turn.end = "<|end|>".to_owned();
    /// assert_eq!(spec.status, Status::Supported);
    /// ```
    pub fn new(template: TemplateInfo) -> Self {
        Self {
            spec_version: SPEC_VERSION,
            status: Status::Supported,
            gaps: Vec::new(),
            template,
            capabilities: Capabilities::default(),
            messages: Messages::default(),
            turn: TurnMarkers::default(),
            generation_prompt: Vec::new(),
            reasoning: Reasoning::default(),
            content: Content::default(),
            tools: Tools::default(),
            alternatives: BTreeMap::new(),
            tokens: Tokens::default(),
            evidence: Evidence::default(),
        }
    }

    /// Adds a gap, and marks the spec with `status` unless it is marked as worse already.
    ///
    /// ```
    /// use unjinja_spec::Status;
    ///
    /// # let toml = format!("spec_version = 1\n[template]\nname = 'a'\nfile = 'a.jinja'\nsha256 = '{}'\n", "0".repeat(64));
    /// # let mut spec = unjinja_spec::FormatSpec::from_toml(&toml, "a.toml")?;
    /// spec.add_gap(Status::Unsupported, "calls are drawn");
    /// spec.add_gap(Status::Partial, "reasoning is sung");
    /// assert_eq!((spec.status, spec.gaps.len()), (Status::Unsupported, 2));
    /// # Ok::<(), unjinja_spec::SpecError>(())
    /// ```
    pub fn add_gap(&mut self, status: Status, gap: impl Into<String>) {
        if self.status.makes_parser() {
            self.status = status;
        }
        self.gaps.push(gap.into());
    }
}

/// Which template a spec describes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TemplateInfo {
    /// Name of the spec: lower-case letters, digits and `_`, the name of the generated module.
    pub name: String,
    /// Where the template comes from, for people: a model id, a URL.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// Hugging Face ids (`owner/name`) of the models whose output this spec reads. People write this list: no analysis
    /// finds it, and `unjinja check --write` keeps it. A registry finds the parser by these names. `{size}` stands for any size, where
    /// a family has one template in all sizes: `Qwen/Qwen3-{size}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// File name of the template, without folders. For a file with several templates, `#` and the template's name
    /// follow.
    pub file: String,
    /// SHA-256 of the template text, 64 lower-case hexadecimal digits.
    pub sha256: String,
    /// Other template files with the same text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
}

/// What the template can render.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Capabilities {
    /// The template writes the offered tools into the prompt.
    #[serde(default)]
    pub tools: bool,
    /// The template renders an assistant's tool calls.
    #[serde(default)]
    pub tool_calls: bool,
    /// The template renders more than one call in a turn.
    #[serde(default)]
    pub parallel_tool_calls: bool,
    /// The template renders a system message.
    #[serde(default)]
    pub system_role: bool,
    /// The template renders content that is given as a list of typed parts.
    #[serde(default)]
    pub typed_content: bool,
    /// The template renders arguments that are given as an object.
    #[serde(default)]
    pub object_arguments: bool,
    /// The template renders arguments that are given as JSON text.
    #[serde(default)]
    pub string_arguments: bool,
    /// The template renders reasoning or tells the model to reason.
    #[serde(default)]
    pub reasoning: bool,
    /// A turn of calls needs a string as its content: with null, the template fails or prints `None`.
    #[serde(default)]
    pub requires_nonnull_content: bool,
}

/// The text around a message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TurnMarkers {
    /// Text before a user message.
    #[serde(default)]
    pub user_start: String,
    /// Text after a user message, where nothing else opens the assistant's turn: the turn begins after it. Empty if
    /// `assistant_start` or a generation prompt opens the turn.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub user_end: String,
    /// Text before an assistant message.
    #[serde(default)]
    pub assistant_start: String,
    /// Text after an assistant message, up to the next message. It ends the model's output.
    #[serde(default)]
    pub end: String,
}

/// What `add_generation_prompt` adds to the prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GenerationPrompt {
    /// The value of the thinking switch that leads to this text; absent if the switch was not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<bool>,
    /// The text, from the start of the assistant's turn to the end of the prompt. Where the template writes that start together
    /// with the user's message, only the markers of reasoning at the end of the prompt.
    pub text: String,
    /// What the model's output begins with.
    pub starts_in: StartsIn,
}

/// Where the model's output begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StartsIn {
    /// In the answer.
    #[default]
    Content,
    /// In the reasoning.
    Reasoning,
    /// Inside a marker that the prompt has begun and the model completes.
    Marker,
}

/// How reasoning is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Reasoning {
    /// When reasoning is written.
    #[serde(default)]
    pub mode: ReasoningMode,
    /// Marker before the reasoning; empty if only its end is marked.
    #[serde(default)]
    pub start: String,
    /// Marker after the reasoning.
    #[serde(default)]
    pub end: String,
    /// What the template writes in a turn without reasoning, if that is something else than an empty block of
    /// reasoning.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub empty: String,
    /// The opening marker of a tool call also ends reasoning that the model did not close.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ended_by_call: bool,
    /// The message field from which the template takes the reasoning (`reasoning_content`, `thinking`, …); empty if
    /// there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub field: String,
    /// The template variable that switches thinking on and off (`enable_thinking`, `thinking`, …); empty if there is
    /// none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub switch: String,
}

/// When reasoning is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReasoningMode {
    /// Never.
    #[default]
    None,
    /// Between the markers, in every turn in which the model reasons.
    TagBased,
    /// Between the markers; in past turns the template shows it only if they call tools.
    ToolsOnly,
}

/// How the final answer is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Content {
    /// Whether the answer has markers around it.
    #[serde(default)]
    pub mode: ContentMode,
    /// Marker before the answer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub start: String,
    /// Marker after the answer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub end: String,
    /// Text that some turns begin with, and that is not part of their answer. It is read only there, and need not be a
    /// tag.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// In a turn with both, the answer comes after the calls.
    #[serde(default, skip_serializing_if = "is_false")]
    pub after_calls: bool,
    /// The parts of a message's header, in formats whose turns are several messages.
    #[serde(default, skip_serializing_if = "is_default")]
    pub header: Header,
}

/// The parts of a message's header, in formats whose turns are several messages. The other markers of the spec show the
/// headers that the template writes. From the parts, a parser and its grammar know others that models write:
/// parts in another order, or left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Header {
    /// Text before the header of a message that is not the first of its turn.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub start: String,
    /// Text before the name of a channel.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub channel: String,
    /// The channels of reasoning.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasoning: Vec<String>,
    /// The channels of answers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<String>,
    /// The channels of calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
    /// Text before the name of the function that a message calls.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub recipient: String,
    /// The texts that say of which type the message is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// Text between the header and the message.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub end: String,
    /// Text after a message that is not the last of its turn.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message_end: String,
}

/// Whether the answer has markers around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ContentMode {
    /// Never.
    #[default]
    Plain,
    /// Always.
    AlwaysWrapped,
    /// In turns with reasoning.
    WrappedWithReasoning,
    /// In turns with calls.
    WrappedWithCalls,
}

/// How tool calls are written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// `json_native`: the key of an inner object that holds name and arguments; empty if the call's object holds them
    /// itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub function_field: String,
    /// `json_native`: the key of the function's name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name_field: String,
    /// `json_native`: the key of the arguments.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub args_field: String,
    /// `json_native`: the key of the call's id, if the template writes the id of the message.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id_field: String,
    /// `json_native`: the key of an id that the template makes by counting the calls.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub gen_id_field: String,
    /// `json_native`: the function's name is a key, and the arguments are its value.
    #[serde(default, skip_serializing_if = "is_false")]
    pub fun_name_is_key: bool,
    /// `json_native`: the calls of a turn are the items of one array.
    #[serde(default, skip_serializing_if = "is_false")]
    pub tools_array_wrapped: bool,
    /// `json_native`: the keys in the order in which the template writes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameter_order: Vec<String>,
    /// In which order the template writes the arguments of a call, and the keys of objects in them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub argument_order: ArgumentOrder,
    /// Values are written as Python literals (`True`, `None`, `{'a': 1}`).
    #[serde(default, skip_serializing_if = "is_false")]
    pub uses_python_dicts: bool,
    /// `json_native`: the arguments are JSON text in a string. Parsers read both.
    #[serde(default, skip_serializing_if = "is_false")]
    pub args_as_text: bool,
    /// The markers around the function's name, if it is not part of JSON. `json_native`: those around a name that is
    /// before the JSON object as well as in it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub function: Function,
    /// The markers around the arguments, if they are not part of a call's JSON.
    #[serde(default, skip_serializing_if = "is_default")]
    pub arguments: Arguments,
    /// Where the call's id is written, if it is not part of JSON.
    #[serde(default, skip_serializing_if = "is_default")]
    pub call_id: CallId,
}

/// The family of a wire format.
///
/// ```
/// assert_eq!(unjinja_spec::ToolFormat::JsonNative.name(), "json_native");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolFormat {
    /// No tool calls.
    #[default]
    None,
    /// Name and arguments are fields of one JSON object.
    JsonNative,
    /// The name is written between markers, and the arguments are one JSON object.
    TagWithJson,
    /// The name is written between markers, and so is each argument.
    TagWithTagged,
    /// The name, then `name = value` pairs in brackets: `f(a=1, b="x")`, `call:f{a:1}`. The values are literals, so no
    /// marker has to end them.
    CallExpression,
}

impl ToolFormat {
    /// The name of the format in a spec.
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

/// In which order the template writes the arguments of a call, and the keys of objects in them. Parsers read any order;
/// only grammars need to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ArgumentOrder {
    /// As the message has them.
    #[default]
    Given,
    /// Sorted by their code points: upper case comes before lower case.
    Sorted,
    /// Sorted as if they were all in lower case.
    SortedIgnoringCase,
}

/// The markers around the function's name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Function {
    /// Text before the name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name_prefix: String,
    /// Text after the name. `${name}` in it stands for the name, where it is written again.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name_suffix: String,
    /// Text after the arguments that closes what `name_prefix` opened. `${name}` in it stands for the name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub close: String,
}

/// The markers around the arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Text after an argument's name whose value is not a string, if it differs from `name_suffix`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub other_name_suffix: String,
    /// Text between an argument's name and the JSON type of its value. `name_suffix` is then empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub type_prefix: String,
    /// Text after the JSON type of an argument's value.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub type_suffix: String,
    /// The token before and after a string, in formats that use a token in place of quotes.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub quote: String,
    /// Text before an argument's value.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value_prefix: String,
    /// Text after an argument's value.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value_suffix: String,
    /// Text before the argument's name, where the name is repeated after the value. `value_suffix` is then empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub close_prefix: String,
    /// Text after the name that is repeated after the value.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub close_suffix: String,
    /// Objects are written as tags inside the argument's tag, and lists by repeating a tag.
    #[serde(skip_serializing_if = "is_false")]
    pub nested: bool,
    /// With `nested`, the name of the tag around each item of a list, if a list does not repeat a tag.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub item: String,
    /// A value may be between `<![CDATA[` and `]]>`.
    #[serde(skip_serializing_if = "is_false")]
    pub cdata: bool,
    /// Text between two arguments.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub separator: String,
}

/// Where the call's id is written, if it is not part of JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct CallId {
    /// Where the id is written.
    pub position: CallIdPosition,
    /// Text before the id; with `in_name`, the part of the id before the name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub prefix: String,
    /// Text after the id; with `in_name`, the text between the name and the index.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub suffix: String,
}

/// Where a call's id is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CallIdPosition {
    /// Nowhere, or as a part of JSON.
    #[default]
    None,
    /// Before the function's name.
    PreFuncName,
    /// Between the name and the arguments.
    BetweenFuncAndArgs,
    /// After the arguments.
    PostArgs,
    /// In place of the name: the id consists of a prefix, the name, a suffix and the call's index.
    InName,
}

/// The tokens that a server which runs the model has to know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Tokens {
    /// Tokens that a server must keep when it turns token ids into text, sorted: every tag in a marker or an
    /// alternative.
    pub preserved: Vec<String>,
    /// Special tokens that the template writes, and that mean nothing in an assistant's turn, sorted. If a model writes one,
    /// that is broken markup.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other: Vec<String>,
    /// The value of `bos_token` in the renders; absent if the template's file does not state it, and then it was empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bos: Option<String>,
    /// The value of `eos_token` in the renders; absent if the template's file does not state it, and then it was empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eos: Option<String>,
}

fn is_false(value: &bool) -> bool {
    !*value
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
