//! Events that own their text: for channels, queues and logs.

use serde::de::Error;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::{Diagnostic, Event};

/// An [`Event`] that owns its text.
///
/// Under serde, it and [`Event`] are `{"event": "content", "text": "…"}`, as `unjinja parse --stream --format json` writes them.
///
/// ```
/// use unjinja_runtime::{Event, OwnedEvent};
///
/// let event = Event::ToolCallStart { index: 0, name: "now", id: None }.into_owned();
/// let json = serde_json::to_string(&event)?;
/// assert_eq!(json, r#"{"event":"tool_call_start","index":0,"name":"now","id":null}"#);
/// let read: OwnedEvent = serde_json::from_str(&json)?;
/// assert_eq!(read.as_event(), event.as_event());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OwnedEvent {
    /// More reasoning.
    Reasoning(String),
    /// More of the answer.
    Content(String),
    /// More broken markup.
    Unparsed(String),
    /// A tool call. It comes with the first byte of its arguments, or with the closer of the call.
    ToolCallStart {
        /// Position among the calls of this message, from 0.
        index: usize,
        /// The function's name.
        name: String,
        /// The call's id, if the model wrote it before the arguments.
        id: Option<String>,
    },
    /// The id of a call that was announced without one.
    ToolCallId {
        /// Position among the calls of this message, from 0.
        index: usize,
        /// The call's id.
        id: String,
    },
    /// More of a call's arguments.
    ToolCallArguments {
        /// Position among the calls of this message, from 0.
        index: usize,
        /// A fragment of JSON text.
        json: String,
    },
    /// A call is over.
    ToolCallEnd {
        /// Position among the calls of this message, from 0.
        index: usize,
        /// Whether the model closed the call as its format demands.
        complete: bool,
    },
    /// Something unusual about the output.
    Diagnostic(Diagnostic),
}

impl Event<'_> {
    /// The same event with its own text.
    pub fn into_owned(self) -> OwnedEvent {
        match self {
            Event::Reasoning(text) => OwnedEvent::Reasoning(text.to_owned()),
            Event::Content(text) => OwnedEvent::Content(text.to_owned()),
            Event::Unparsed(text) => OwnedEvent::Unparsed(text.to_owned()),
            Event::ToolCallStart { index, name, id } => {
                OwnedEvent::ToolCallStart { index, name: name.to_owned(), id: id.map(str::to_owned) }
            }
            Event::ToolCallId { index, id } => OwnedEvent::ToolCallId { index, id: id.to_owned() },
            Event::ToolCallArguments { index, json } => OwnedEvent::ToolCallArguments { index, json: json.to_owned() },
            Event::ToolCallEnd { index, complete } => OwnedEvent::ToolCallEnd { index, complete },
            Event::Diagnostic(diagnostic) => OwnedEvent::Diagnostic(diagnostic),
        }
    }
}

impl OwnedEvent {
    /// The event, with borrowed text.
    pub fn as_event(&self) -> Event<'_> {
        match self {
            OwnedEvent::Reasoning(text) => Event::Reasoning(text),
            OwnedEvent::Content(text) => Event::Content(text),
            OwnedEvent::Unparsed(text) => Event::Unparsed(text),
            OwnedEvent::ToolCallStart { index, name, id } => {
                Event::ToolCallStart { index: *index, name, id: id.as_deref() }
            }
            OwnedEvent::ToolCallId { index, id } => Event::ToolCallId { index: *index, id },
            OwnedEvent::ToolCallArguments { index, json } => Event::ToolCallArguments { index: *index, json },
            OwnedEvent::ToolCallEnd { index, complete } => Event::ToolCallEnd { index: *index, complete: *complete },
            OwnedEvent::Diagnostic(diagnostic) => Event::Diagnostic(diagnostic.clone()),
        }
    }
}

impl Serialize for Event<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let (kind, text) = match self {
            Event::Reasoning(text) => ("reasoning", Some(text)),
            Event::Content(text) => ("content", Some(text)),
            Event::Unparsed(text) => ("unparsed", Some(text)),
            Event::ToolCallStart { .. } => ("tool_call_start", None),
            Event::ToolCallId { .. } => ("tool_call_id", None),
            Event::ToolCallArguments { .. } => ("tool_call_arguments", None),
            Event::ToolCallEnd { .. } => ("tool_call_end", None),
            Event::Diagnostic(_) => ("diagnostic", None),
        };
        map.serialize_entry("event", kind)?;
        if let Some(text) = text {
            map.serialize_entry("text", text)?;
        }
        match self {
            Event::ToolCallStart { index, name, id } => {
                map.serialize_entry("index", index)?;
                map.serialize_entry("name", name)?;
                map.serialize_entry("id", id)?;
            }
            Event::ToolCallId { index, id } => {
                map.serialize_entry("index", index)?;
                map.serialize_entry("id", id)?;
            }
            Event::ToolCallArguments { index, json } => {
                map.serialize_entry("index", index)?;
                map.serialize_entry("json", json)?;
            }
            Event::ToolCallEnd { index, complete } => {
                map.serialize_entry("index", index)?;
                map.serialize_entry("complete", complete)?;
            }
            Event::Diagnostic(diagnostic) => map.serialize_entry("diagnostic", diagnostic)?,
            Event::Reasoning(_) | Event::Content(_) | Event::Unparsed(_) => {}
        }
        map.end()
    }
}

impl Serialize for OwnedEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_event().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for OwnedEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let event = Value::deserialize(deserializer)?;
        let text = |key: &str| match event.get(key).and_then(Value::as_str) {
            Some(text) => Ok(text.to_owned()),
            None => Err(D::Error::custom(format_args!("the event's `{key}` must be a text"))),
        };
        let index = || match event.get("index").and_then(Value::as_u64).and_then(|index| usize::try_from(index).ok()) {
            Some(index) => Ok(index),
            None => Err(D::Error::custom("the event's `index` must be a number")),
        };
        Ok(match text("event")?.as_str() {
            "reasoning" => OwnedEvent::Reasoning(text("text")?),
            "content" => OwnedEvent::Content(text("text")?),
            "unparsed" => OwnedEvent::Unparsed(text("text")?),
            "tool_call_start" => {
                let id = event.get("id").is_some_and(|id| !id.is_null()).then(|| text("id")).transpose()?;
                OwnedEvent::ToolCallStart { index: index()?, name: text("name")?, id }
            }
            "tool_call_id" => OwnedEvent::ToolCallId { index: index()?, id: text("id")? },
            "tool_call_arguments" => OwnedEvent::ToolCallArguments { index: index()?, json: text("json")? },
            "tool_call_end" => {
                let complete = event.get("complete").and_then(Value::as_bool);
                let complete =
                    complete.ok_or_else(|| D::Error::custom("the event's `complete` must be true or false"))?;
                OwnedEvent::ToolCallEnd { index: index()?, complete }
            }
            "diagnostic" => {
                let diagnostic = event.get("diagnostic").cloned().unwrap_or_default();
                OwnedEvent::Diagnostic(Diagnostic::deserialize(diagnostic).map_err(D::Error::custom)?)
            }
            other => return Err(D::Error::custom(format_args!("there is no event `{other}`"))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::DiagnosticKind;

    #[test]
    fn every_event_comes_back_from_its_json() -> Result<(), serde_json::Error> {
        for event in [
            Event::Reasoning("a"),
            Event::Content("\"b\""),
            Event::Unparsed("c"),
            Event::ToolCallStart { index: 1, name: "f", id: None },
            Event::ToolCallStart { index: 1, name: "f", id: Some("7") },
            Event::ToolCallId { index: 1, id: "7" },
            Event::ToolCallArguments { index: 1, json: "{}" },
            Event::ToolCallEnd { index: 1, complete: false },
            Event::Diagnostic(Diagnostic::new(DiagnosticKind::UnknownTool, Some(1), "f").at(3).expected("g")),
        ] {
            let json = serde_json::to_string(&event)?;
            assert_eq!(serde_json::from_str::<OwnedEvent>(&json)?.as_event(), event, "{json}");
        }
        Ok(())
    }

    #[test]
    fn what_is_no_event_is_named() {
        for (json, expected) in [
            (r#"{"event": "content"}"#, "`text` must be a text"),
            (r#"{"event": "tool_call_id", "id": "7"}"#, "`index` must be a number"),
            (r#"{"event": "tool_call_end", "index": 0}"#, "`complete` must be true or false"),
            (r#"{"event": "what"}"#, "there is no event `what`"),
        ] {
            let error = serde_json::from_str::<OwnedEvent>(json).unwrap_err().to_string();
            assert!(error.contains(expected), "{json}: {error}");
        }
    }
}
