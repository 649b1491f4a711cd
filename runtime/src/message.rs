//! The result of parsing: an assistant message with its tool calls, and diagnostics about the output. Under serde a
//! message has OpenAI's form.

use std::fmt;

use serde_json::Value;

mod borrowed;
mod event;
// Written by hand, because serde's derive would make every application compile syn.
mod form;
mod missing;
mod owned_event;
mod parts;
#[cfg(feature = "schema")]
mod schema;
#[cfg(feature = "types")]
mod typed;

pub use borrowed::{BorrowedMessage, BorrowedToolCall};
pub use event::{Channel, Event};
pub use owned_event::OwnedEvent;
pub use parts::{Part, PartOrder};
#[cfg(feature = "types")]
pub use typed::{TypedCallError, TypedCallProblem};

/// An assistant message.
///
/// Under serde it has the form that OpenAI-compatible servers use:
///
/// ```
/// use unjinja_runtime::{Message, ToolCall};
///
/// let mut message = Message::default();
/// message.tool_calls.push(ToolCall::new("get_time", r#"{"city": "Paris"}"#));
/// assert_eq!(
///     serde_json::to_string(&message)?,
///     r#"{"role":"assistant","content":null,"tool_calls":[{"type":"function","function":{"name":"get_time","arguments":"{\"city\": \"Paris\"}"}}]}"#,
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// Empty `reasoning_content`, `tool_calls` and `unparsed` are left out; OpenAI has no field `unparsed`. An empty `content` is `null` if there are calls, else `""`.
/// Diagnostics and [`ToolCall::complete`] are not part of that form. Deserialising accepts the same form, and also
/// `content` as a list of text parts, `reasoning` instead of `reasoning_content`, and `arguments` as an object.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(
        from = "schema::MessageForm",
        into = "schema::MessageForm",
        description = "An assistant message in OpenAI's form."
    )
)]
#[non_exhaustive]
pub struct Message {
    /// The chain of thought; empty if there is none.
    pub reasoning_content: String,
    /// The answer; empty if there is none.
    pub content: String,
    /// The tools that the model called, in the order of the output.
    pub tool_calls: Vec<ToolCall>,
    /// Broken markup, which is neither an answer nor a call, if [`Unparsed::Separate`](crate::Unparsed::Separate) was asked
    /// for. Otherwise it is part of `content`.
    pub unparsed: String,
    /// What was unusual about the output: first what concerns each call, in their order, then the rest.
    pub diagnostics: Vec<Diagnostic>,
    /// In which order the parts came; see [`parts`](Self::parts).
    pub order: PartOrder,
}

impl Message {
    /// A message with this answer and these calls.
    ///
    /// ```
    /// use unjinja_runtime::{Message, ToolCall};
    ///
    /// let message = Message::new("I look it up.", vec![ToolCall::new("get_weather", "{}")]);
    /// assert_eq!(message.tool_calls[0].name, "get_weather");
    /// ```
    pub fn new(content: impl Into<String>, tool_calls: Vec<ToolCall>) -> Self {
        Self { content: content.into(), tool_calls, ..Self::default() }
    }
}

/// One call of a tool.
///
/// ```
/// use unjinja_runtime::ToolCall;
///
/// let mut call = ToolCall::new("get_weather", r#"{"city": "Par"#);
/// call.complete = false; // the output ended here
/// assert!(call.arguments_value().is_err());
/// assert_eq!(call.closed_arguments(), r#"{"city": "Par"}"#);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(from = "schema::CallForm", into = "schema::CallForm")
)]
#[non_exhaustive]
pub struct ToolCall {
    /// The call's id, if the model wrote one.
    pub id: Option<String>,
    /// The function's name.
    pub name: String,
    /// The arguments as JSON text. If the call is malformed or incomplete, they may not be valid JSON;
    /// [`closed_arguments`](Self::closed_arguments) always are.
    pub arguments: String,
    /// Whether the model closed the call as its format demands.
    pub complete: bool,
}

impl ToolCall {
    /// A complete call without an id.
    pub fn new(name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self { id: None, name: name.into(), arguments: arguments.into(), complete: true }
    }

    /// The same call with this id.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// The arguments, parsed.
    ///
    /// # Errors
    /// If the arguments are not valid JSON, because the call is malformed or incomplete.
    pub fn arguments_value(&self) -> Result<Value, serde_json::Error> {
        serde_json::from_str(&self.arguments)
    }

    /// The arguments as a type of the application.
    ///
    /// ```
    /// use std::collections::HashMap;
    /// use unjinja_runtime::ToolCall;
    ///
    /// let call = ToolCall::new("get_weather", r#"{"city": "Paris"}"#);
    /// let arguments: HashMap<String, String> = call.arguments_as()?;
    /// assert_eq!(arguments["city"], "Paris");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the arguments are not valid JSON, or do not fit the type.
    pub fn arguments_as<T: serde::de::DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.arguments)
    }

    /// The arguments, completed so that they are valid JSON at any moment of a stream. See
    /// [`close_json`](crate::close_json).
    pub fn closed_arguments(&self) -> String {
        crate::readers::json::close(&self.arguments)
    }
}

/// Something unusual about a model's output. It never means that text was lost.
///
/// Under serde it is `{"kind": "unknown_tool", "call": 0, "at": 12, "detail": "name", "expected": "…"}`. What is absent or
/// empty is left out.
///
/// ```
/// use unjinja_runtime::{Diagnostic, DiagnosticKind};
///
/// let diagnostic = Diagnostic::new(DiagnosticKind::UnknownTool, Some(0), "get_wether");
/// assert!(diagnostic.to_string().contains("get_wether"));
/// assert_eq!(
///     serde_json::to_value(&diagnostic)?,
///     serde_json::json!({"kind": "unknown_tool", "call": 0, "detail": "get_wether"}),
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Diagnostic {
    /// Its kind.
    pub kind: DiagnosticKind,
    /// The call that it concerns, by its position among the message's calls, from 0.
    #[cfg_attr(feature = "schema", schemars(skip_serializing_if = "Option::is_none"))]
    pub call: Option<usize>,
    /// Where in the output, in bytes, the text begins that it concerns: the call, or the broken markup. Absent if it
    /// concerns the whole output, or a text that the prompt wrote.
    #[cfg_attr(feature = "schema", schemars(skip_serializing_if = "Option::is_none"))]
    pub at: Option<usize>,
    /// The name or text that it concerns; empty for kinds that have none.
    #[cfg_attr(feature = "schema", schemars(skip_serializing_if = "String::is_empty"))]
    pub detail: String,
    /// What was expected instead; empty for kinds that say it themselves.
    #[cfg_attr(feature = "schema", schemars(skip_serializing_if = "String::is_empty"))]
    pub expected: String,
}

impl Diagnostic {
    /// A diagnostic of this kind. `detail` is the name that it concerns, or empty.
    pub fn new(kind: DiagnosticKind, call: Option<usize>, detail: impl Into<String>) -> Self {
        Self { kind, call, at: None, detail: detail.into(), expected: String::new() }
    }

    /// The same diagnostic, about the text from this byte of the output on.
    pub fn at(mut self, at: usize) -> Self {
        self.at = Some(at);
        self
    }

    /// The same diagnostic, with what was expected instead.
    pub fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = expected.into();
        self
    }

    /// Inserts it in order. Which of two diagnostics is noticed first depends on how the text is cut; the message must
    /// not.
    pub(crate) fn insert_into(self, others: &mut Vec<Diagnostic>) {
        let rank = |d: &Diagnostic| (d.call.unwrap_or(usize::MAX), d.kind as u8, d.at);
        let at = others.partition_point(|known| rank(known) <= rank(&self));
        others.insert(at, self);
    }
}

/// The kinds of diagnostics. Under serde they are written in snake case: `"unknown_tool"`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename_all = "snake_case"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DiagnosticKind {
    /// The call names a tool that was not offered. The detail is the name. Without a call, the model wrote a message to a recipient
    /// that is no tool.
    UnknownTool,
    /// The call's arguments are not valid. What is surely meant was mended; the rest came as the model wrote it.
    MalformedArguments,
    /// The output ended, or continued with something else, before the call was closed. With
    /// `CutCalls::Drop` it is no call of the message.
    IncompleteCall,
    /// The output contained bytes that are not UTF-8. They became U+FFFD.
    InvalidUtf8,
    /// An argument has none of the types that the tool's schema allows. The detail is the argument's name.
    ArgumentTypeMismatch,
    /// A second call came, but parallel calls were off. It is broken markup, and no call of the message. The detail is the
    /// tool's name.
    ParallelCall,
    /// A call broke off before its name, or before anything of its arguments. It is broken markup. The detail is the marker that it
    /// begins with, or the name if that came.
    AbandonedCall,
    /// A marker is at a place where it closes nothing. The detail is the marker.
    StrayMarker,
    /// Text is at a place where only markers may be. The detail is its beginning.
    UnexpectedText,
    /// The object of a call has a member that the format does not know. The detail is the member's key.
    UnknownMember,
    /// A marker that opens or closes a value is missing. The detail is the argument's name.
    MissingMarker,
    /// The answer holds a special token of the format. The detail is the token.
    SpecialToken,
    /// Tools were offered, but it is not known how calls are written in this format.
    NoCallsInFormat,
    /// The call has an argument that the tool's schema does not declare. The detail is its name. Arguments that are one JSON
    /// value are not checked.
    UnknownArgument,
    /// Two of the tools offered have the same name and the same schema. The detail is the name.
    RepeatedTool,
    /// The arguments are a text that holds JSON, and no JSON object. They were delivered as the JSON in the text.
    ArgumentsAsText,
    /// A call came of a tool that may not be called; see `Options::callable`. It is broken markup, and
    /// no call of the message. The detail is the tool's name.
    ForbiddenCall,
    /// The answer looks like a call whose special tokens were removed before it was parsed. The detail is the name of the tool,
    /// and how the text continues.
    StrippedTokens,
    /// The answer looks like a call in the format of another model: with its special tokens. The detail is the name of the tool, and how
    /// the text continues.
    OtherFormat,
    /// The request demands a call, and the answer has none; see `Options::demands_call`.
    MissingCall,
    /// Text comes after the end of the turn. The detail is the marker that ended the turn.
    AfterEnd,
    /// The end of the output cuts off a marker. The detail is what there is of it.
    CutMarker,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(call) = self.call {
            write!(f, "tool call {call}: ")?;
        }
        let detail = self.detail.as_str();
        match self.kind {
            DiagnosticKind::UnknownTool if detail.is_empty() => f.write_str("no tool of this name was offered"),
            DiagnosticKind::UnknownTool => write!(f, "no tool named `{detail}` was offered"),
            DiagnosticKind::MalformedArguments => {
                f.write_str("the arguments are not valid; what is surely meant was mended, the rest came unchanged")
            }
            DiagnosticKind::IncompleteCall if self.call.is_none() => {
                f.write_str("the output broke off before a call was closed: the call is broken markup")
            }
            DiagnosticKind::IncompleteCall => f.write_str("the output broke off before the call was closed"),
            DiagnosticKind::InvalidUtf8 => f.write_str("the output holds bytes that are not UTF-8; each became U+FFFD"),
            DiagnosticKind::ArgumentTypeMismatch if detail.is_empty() => {
                f.write_str("an argument has none of the types that the tool's schema allows")
            }
            DiagnosticKind::ArgumentTypeMismatch => {
                write!(f, "the argument `{detail}` has none of the types that the tool's schema allows")
            }
            DiagnosticKind::ParallelCall => {
                write!(
                    f,
                    "there is more than one call, though parallel calls are off: the call of `{detail}` is broken markup"
                )
            }
            DiagnosticKind::ForbiddenCall => {
                write!(f, "the request does not allow a call of `{detail}`: it is broken markup")
            }
            DiagnosticKind::AbandonedCall => {
                write!(f, "{detail:?} begins a call that breaks off before its arguments: it is broken markup")
            }
            DiagnosticKind::CutMarker => write!(f, "the output ends within a marker: {detail:?}"),
            DiagnosticKind::AfterEnd => write!(f, "{detail:?} ends the turn, and more text follows it"),
            DiagnosticKind::StrayMarker => write!(f, "the marker {detail:?} closes nothing here"),
            DiagnosticKind::UnexpectedText => write!(f, "this text is where only markers may be: {detail:?}"),
            DiagnosticKind::UnknownMember => write!(f, "the format has no member `{detail}` in a call"),
            DiagnosticKind::MissingMarker if detail.is_empty() => f.write_str("a marker next to a value is missing"),
            DiagnosticKind::MissingMarker => write!(f, "a marker next to the value of `{detail}` is missing"),
            DiagnosticKind::RepeatedTool => write!(f, "the tool `{detail}` was offered more than once"),
            DiagnosticKind::ArgumentsAsText => {
                f.write_str("the arguments are a text that holds JSON; the text was read")
            }
            DiagnosticKind::StrippedTokens => write!(
                f,
                "the answer looks like a call without its special tokens ({detail:?}); have the server keep them, for example \
                 with `skip_special_tokens: false`"
            ),
            DiagnosticKind::OtherFormat => {
                write!(f, "the answer looks like a call of another format ({detail:?}); check which model wrote it")
            }
            DiagnosticKind::MissingCall => f.write_str("the request demands a call, and the answer has none"),
            DiagnosticKind::SpecialToken => write!(f, "the answer holds the special token {detail:?}"),
            DiagnosticKind::NoCallsInFormat => {
                f.write_str("tools were offered, but it is not known how calls are written in this format")
            }
            DiagnosticKind::UnknownArgument => write!(f, "the tool's schema has no argument `{detail}`"),
        }?;
        if !self.expected.is_empty() {
            write!(f, "; expected {}", self.expected)?;
        }
        if let Some(at) = self.at {
            write!(f, " (at byte {at})")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(id: Option<&str>) -> ToolCall {
        ToolCall { id: id.map(str::to_owned), ..ToolCall::new("f", r#"{"a": 1.50}"#) }
    }

    #[test]
    fn has_the_openai_form_both_ways() {
        let function = json!({"name": "f", "arguments": "{\"a\": 1.50}"});
        for (message, form) in [
            (Message::default(), json!({"role": "assistant", "content": ""})),
            (Message { content: "Hi".into(), ..Message::default() }, json!({"role": "assistant", "content": "Hi"})),
            (
                Message { reasoning_content: "hm".into(), ..Message::default() },
                json!({"role": "assistant", "content": "", "reasoning_content": "hm"}),
            ),
            (
                Message { tool_calls: vec![call(None), call(Some("c1"))], ..Message::default() },
                json!({"role": "assistant", "content": null, "tool_calls": [
                    {"type": "function", "function": function},
                    {"id": "c1", "type": "function", "function": function},
                ]}),
            ),
        ] {
            assert_eq!(serde_json::to_value(&message).unwrap(), form);
            assert_eq!(serde_json::from_value::<Message>(form).unwrap(), message);
        }
    }

    #[test]
    fn reads_the_forms_that_servers_write() {
        let message: Message = serde_json::from_value(json!({
            "role": "assistant", "refusal": null, "reasoning": "r",
            "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
            "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": {"a": 1}}}, {"function": {"name": "g"}}],
        }))
        .unwrap();
        assert_eq!((message.content.as_str(), message.reasoning_content.as_str()), ("ab", "r"));
        assert_eq!(message.tool_calls[0].arguments, r#"{"a":1}"#);
        assert_eq!(message.tool_calls[1].arguments, "{}");
    }

    #[test]
    fn refuses_what_is_no_assistant_message() {
        for (form, says) in [
            (json!({"role": "user", "content": "x"}), "role is `user`"),
            (json!([]), "expected an assistant message, found a list"),
            (json!({"content": 1}), "`content` is a number, and must be a text or a list of parts"),
            (json!({"content": ["x"]}), "a part of `content` is a text, and must be an object"),
            (json!({"reasoning": true}), "`reasoning` is a boolean, and must be a text"),
            (json!({"tool_calls": {}}), "`tool_calls` is an object, and must be a list"),
            (json!({"tool_calls": [{"id": 1, "function": {"name": "f"}}]}), "`id` is a number"),
            (json!({"tool_calls": [{}]}), "`function` is missing"),
            (json!({"tool_calls": [{"type": "custom", "function": {"name": "f"}}]}), "type is `custom`"),
            (json!({"tool_calls": [{"function": {}}]}), "`name` is missing"),
        ] {
            let error = serde_json::from_value::<Message>(form).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn arguments_are_parsed_or_closed() {
        assert_eq!(call(None).arguments_value().unwrap(), json!({"a": 1.5}));
        let cut = ToolCall::new("f", r#"{"a": [1, "x"#);
        assert!(cut.arguments_value().is_err());
        assert_eq!(cut.closed_arguments(), r#"{"a": [1, "x"]}"#);
    }

    #[test]
    fn diagnostics_are_sentences_and_data() {
        let diagnostic = Diagnostic::new(DiagnosticKind::UnknownTool, Some(1), "nope");
        assert_eq!(diagnostic.to_string(), "tool call 1: no tool named `nope` was offered");
        let form = json!({"kind": "unknown_tool", "call": 1, "detail": "nope"});
        assert_eq!(serde_json::to_value(&diagnostic).unwrap(), form);
        assert_eq!(serde_json::from_value::<Diagnostic>(form).unwrap(), diagnostic);
        let plain = Diagnostic::new(DiagnosticKind::InvalidUtf8, None, "");
        assert_eq!(serde_json::to_string(&plain).unwrap(), r#"{"kind":"invalid_utf8"}"#);
        assert!(plain.to_string().contains("UTF-8"));
        for (form, says) in [
            (json!({}), "`kind` is missing"),
            (json!({"kind": "odd"}), "no kind of diagnostic is called `odd`"),
            (json!({"kind": "parallel_call", "call": -1}), "`call` is -1, and must be a position"),
        ] {
            let error = serde_json::from_value::<Diagnostic>(form).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn every_kind_has_a_name() {
        for (kind, _) in form::NAMES {
            let name = serde_json::to_value(kind).unwrap();
            assert_eq!(name, kind.name());
            assert_eq!(serde_json::from_value::<DiagnosticKind>(name).unwrap(), kind);
        }
    }
}
