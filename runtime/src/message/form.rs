//! Serialises and deserialises messages, calls and diagnostics in OpenAI's form.

use serde::de::Error;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{Diagnostic, DiagnosticKind, Message, PartOrder, ToolCall};

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("role", "assistant")?;
        let content = (!self.content.is_empty() || self.tool_calls.is_empty()).then_some(&self.content);
        map.serialize_entry("content", &content)?;
        if !self.reasoning_content.is_empty() {
            map.serialize_entry("reasoning_content", &self.reasoning_content)?;
        }
        if !self.tool_calls.is_empty() {
            map.serialize_entry("tool_calls", &self.tool_calls)?;
        }
        if !self.unparsed.is_empty() {
            map.serialize_entry("unparsed", &self.unparsed)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let object = object(&value, "an assistant message")?;
        if let Some(role) = text(object, "role")?.filter(|role| *role != "assistant") {
            return Err(D::Error::custom(format_args!("the role is `{role}`, and must be `assistant`")));
        }
        let reasoning = text(object, "reasoning_content")?.or(text(object, "reasoning")?);
        let calls = match field(object, "tool_calls") {
            None => Vec::new(),
            Some(Value::Array(calls)) => calls.iter().map(call).collect::<Result<_, _>>()?,
            Some(other) => return Err(wrong("tool_calls", other, "a list")),
        };
        Ok(Self {
            reasoning_content: reasoning.unwrap_or_default().to_owned(),
            content: content(object)?,
            tool_calls: calls,
            unparsed: text(object, "unparsed")?.unwrap_or_default().to_owned(),
            diagnostics: Vec::new(),
            order: PartOrder::default(),
        })
    }
}

/// Content: a text, or a list of parts. Only parts with a text count.
fn content<E: Error>(message: &Map<String, Value>) -> Result<String, E> {
    match field(message, "content") {
        None => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Array(parts)) => {
            let mut all = String::new();
            for part in parts {
                let Value::Object(part) = part else {
                    let found = kind(part);
                    return Err(E::custom(format_args!("a part of `content` is {found}, and must be an object")));
                };
                all.push_str(text(part, "text")?.unwrap_or_default());
            }
            Ok(all)
        }
        Some(other) => Err(wrong("content", other, "a text or a list of parts")),
    }
}

impl Serialize for ToolCall {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Function<'c>(&'c ToolCall);
        impl Serialize for Function<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("name", &self.0.name)?;
                map.serialize_entry("arguments", &self.0.arguments)?;
                map.end()
            }
        }
        let mut map = serializer.serialize_map(None)?;
        if let Some(id) = &self.id {
            map.serialize_entry("id", id)?;
        }
        map.serialize_entry("type", "function")?;
        map.serialize_entry("function", &Function(self))?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for ToolCall {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        call(&Value::deserialize(deserializer)?)
    }
}

fn call<E: Error>(value: &Value) -> Result<ToolCall, E> {
    let call = object(value, "a tool call")?;
    if let Some(kind) = text(call, "type")?.filter(|kind| *kind != "function") {
        return Err(E::custom(format_args!("the tool call's type is `{kind}`, and must be `function`")));
    }
    let function = field(call, "function").ok_or_else(|| E::custom("the tool call's `function` is missing"))?;
    let function = object(function, "a function")?;
    let name = text(function, "name")?.ok_or_else(|| E::custom("the function's `name` is missing"))?;
    Ok(ToolCall {
        id: text(call, "id")?.map(str::to_owned),
        name: name.to_owned(),
        arguments: match field(function, "arguments") {
            None => "{}".to_owned(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        },
        complete: true,
    })
}

/// Each kind of diagnostic with its name under serde.
pub(super) const NAMES: [(DiagnosticKind, &str); 22] = [
    (DiagnosticKind::UnknownTool, "unknown_tool"),
    (DiagnosticKind::MalformedArguments, "malformed_arguments"),
    (DiagnosticKind::IncompleteCall, "incomplete_call"),
    (DiagnosticKind::InvalidUtf8, "invalid_utf8"),
    (DiagnosticKind::ArgumentTypeMismatch, "argument_type_mismatch"),
    (DiagnosticKind::ParallelCall, "parallel_call"),
    (DiagnosticKind::AbandonedCall, "abandoned_call"),
    (DiagnosticKind::StrayMarker, "stray_marker"),
    (DiagnosticKind::UnexpectedText, "unexpected_text"),
    (DiagnosticKind::UnknownMember, "unknown_member"),
    (DiagnosticKind::MissingMarker, "missing_marker"),
    (DiagnosticKind::SpecialToken, "special_token"),
    (DiagnosticKind::NoCallsInFormat, "no_calls_in_format"),
    (DiagnosticKind::UnknownArgument, "unknown_argument"),
    (DiagnosticKind::RepeatedTool, "repeated_tool"),
    (DiagnosticKind::ArgumentsAsText, "arguments_as_text"),
    (DiagnosticKind::ForbiddenCall, "forbidden_call"),
    (DiagnosticKind::StrippedTokens, "stripped_tokens"),
    (DiagnosticKind::OtherFormat, "other_format"),
    (DiagnosticKind::MissingCall, "missing_call"),
    (DiagnosticKind::AfterEnd, "after_end"),
    (DiagnosticKind::CutMarker, "cut_marker"),
];

impl DiagnosticKind {
    /// The name under serde, such as `unknown_tool`.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }
}

impl Serialize for DiagnosticKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for DiagnosticKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        kind_called(&name)
    }
}

fn kind_called<E: Error>(name: &str) -> Result<DiagnosticKind, E> {
    let known = NAMES.iter().find(|(_, known)| *known == name);
    known.map(|(kind, _)| *kind).ok_or_else(|| E::custom(format_args!("no kind of diagnostic is called `{name}`")))
}

impl Serialize for Diagnostic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("kind", &self.kind)?;
        if let Some(call) = self.call {
            map.serialize_entry("call", &call)?;
        }
        if let Some(at) = self.at {
            map.serialize_entry("at", &at)?;
        }
        if !self.detail.is_empty() {
            map.serialize_entry("detail", &self.detail)?;
        }
        if !self.expected.is_empty() {
            map.serialize_entry("expected", &self.expected)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Diagnostic {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let object = object(&value, "a diagnostic")?;
        let kind = text(object, "kind")?.ok_or_else(|| D::Error::custom("the diagnostic's `kind` is missing"))?;
        let owned = |key: &str| text(object, key).map(|text| text.unwrap_or_default().to_owned());
        Ok(Self {
            kind: kind_called(kind)?,
            call: position(object, "call")?,
            at: position(object, "at")?,
            detail: owned("detail")?,
            expected: owned("expected")?,
        })
    }
}

// ----- reading -----

/// A field that is present and not null.
fn field<'v>(object: &'v Map<String, Value>, key: &str) -> Option<&'v Value> {
    object.get(key).filter(|value| !value.is_null())
}

fn position<E: Error>(object: &Map<String, Value>, key: &str) -> Result<Option<usize>, E> {
    let Some(value) = field(object, key) else { return Ok(None) };
    let at = value.as_u64().and_then(|at| usize::try_from(at).ok());
    at.map(Some).ok_or_else(|| E::custom(format_args!("`{key}` is {value}, and must be a position")))
}

fn text<'v, E: Error>(object: &'v Map<String, Value>, key: &str) -> Result<Option<&'v str>, E> {
    match field(object, key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(wrong(key, other, "a text")),
    }
}

fn object<'v, E: Error>(value: &'v Value, what: &str) -> Result<&'v Map<String, Value>, E> {
    value.as_object().ok_or_else(|| E::custom(format_args!("expected {what}, found {}", kind(value))))
}

fn wrong<E: Error>(key: &str, found: &Value, wanted: &str) -> E {
    E::custom(format_args!("`{key}` is {}, and must be {wanted}", kind(found)))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
