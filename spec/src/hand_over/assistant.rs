//! The parts of an assistant's message: its content, its reasoning and its calls.

use std::ops::Range;

use serde_json::{Map, Value, json};

use super::forms::{content_form, text_of};
use crate::messages::{ContentForm, EmptyContent, Messages};
use crate::model::{FormatSpec, ReasoningMode};

/// The field in which a message carries reasoning before it is handed over.
const REASONING_CONTENT: &str = "reasoning_content";

/// All fields in which clients hand reasoning over: servers use the first two, and some templates read the third.
pub const REASONING_FIELDS: [&str; 3] = [REASONING_CONTENT, "reasoning", "thinking"];

/// The name that is given for the field where reasoning is passed as a content part of the type `thinking`.
const PARTS: &str = "content.thinking";

/// How a message carries reasoning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// In a field of its own.
    Field(String),
    /// As a part of the content, of the type `thinking`.
    Parts,
    /// In the content, between these tags.
    Tags(String, String),
}

impl Carrier {
    /// The value of `reasoning.field` for this carrier.
    pub fn field(&self) -> &str {
        match self {
            Carrier::Field(name) => name,
            Carrier::Parts => PARTS,
            Carrier::Tags(..) => "",
        }
    }

    /// The carrier that a spec names; `None` if reasoning is handed over in no field.
    pub fn of_field(field: &str) -> Option<Self> {
        match field {
            "" => None,
            PARTS => Some(Carrier::Parts),
            name => Some(Carrier::Field(name.to_owned())),
        }
    }

    /// How messages carry reasoning, so that the template of this spec reads it.
    pub(super) fn of(spec: &FormatSpec) -> Option<Self> {
        let reasoning = &spec.reasoning;
        Self::of_field(&reasoning.field).or_else(|| {
            // The template takes it from the content.
            let marked = reasoning.mode != ReasoningMode::None && !reasoning.end.is_empty();
            marked.then(|| Carrier::Tags(reasoning.start.clone(), reasoning.end.clone()))
        })
    }
}

impl Messages {
    /// Puts the calls, the reasoning and the content of an assistant's message into their places. `message` has its reasoning in
    /// `reasoning_content`, and `calls` have the form that the template reads. Returns where in the content's first text it wrote
    /// the tags of the reasoning, if it did.
    pub fn set_assistant(
        &self,
        message: &mut Map<String, Value>,
        calls: Vec<Value>,
        carrier: Option<&Carrier>,
    ) -> Option<[Range<usize>; 2]> {
        let mut tags = None;
        let reasoning = carrier.and_then(|carrier| take_reasoning(message, carrier));
        let said =
            message.get_mut("content").map(Value::take).filter(|content| !says_nothing(content, !calls.is_empty()));
        let content = match (carrier, reasoning) {
            (Some(Carrier::Field(field)), Some(reasoning)) => {
                message.insert(field.clone(), reasoning.into());
                said
            }
            (Some(Carrier::Parts), Some(reasoning)) => {
                let mut parts = vec![json!({"type": "thinking", "thinking": reasoning})];
                parts.extend(said.map(|said| content_form(ContentForm::Parts, said)).into_iter().flat_map(|said| {
                    match said {
                        Value::Array(parts) => parts,
                        other => vec![other],
                    }
                }));
                Some(parts.into())
            }
            (Some(Carrier::Tags(start, end)), Some(reasoning)) => {
                let block = format!("{start}{reasoning}{end}");
                if calls.is_empty() || (self.reasoning_with_calls && !reasoning.trim().is_empty()) {
                    tags = Some([0..start.len(), block.len() - end.len()..block.len()]);
                    Some(after_text(block, said))
                } else {
                    // It stays in a field that the template does not read: there it is seen to be missing.
                    if !reasoning.trim().is_empty() {
                        message.insert(REASONING_CONTENT.to_owned(), reasoning.into());
                    }
                    // The template writes an empty block by itself, or none, and the layout after it.
                    said.map(|said| said.as_str().map_or(said.clone(), |text| text.trim_start().into()))
                }
            }
            (_, _) => said,
        };
        let content = match content {
            Some(content) => Some(self.content(content)),
            None if calls.is_empty() => Some(self.content("")),
            None => match self.content_of_calls {
                EmptyContent::Empty => Some(self.content("")),
                EmptyContent::Null => Some(Value::Null),
                EmptyContent::Absent => None,
            },
        };
        match content {
            Some(content) => message.insert("content".to_owned(), content),
            None => message.shift_remove("content"),
        };
        // Many templates ask only whether the field is there.
        match calls.is_empty() {
            true => message.shift_remove("tool_calls"),
            false => message.insert("tool_calls".to_owned(), calls.into()),
        };
        tags
    }
}

/// Whether a content says nothing. White space between reasoning and a call is layout that the template writes by itself.
fn says_nothing(content: &Value, calls: bool) -> bool {
    match text_of(content) {
        Some(text) => text.is_empty() || (calls && text.trim().is_empty()),
        None => content.is_null(),
    }
}

/// A content with a text before it.
fn after_text(before: String, content: Option<Value>) -> Value {
    match content {
        None => before.into(),
        Some(Value::String(text)) => (before + &text).into(),
        Some(Value::Array(mut parts)) => {
            parts.insert(0, json!({"type": "text", "text": before}));
            parts.into()
        }
        Some(other) => other,
    }
}

/// Takes the reasoning out of a message; `None` if there is none, or if its field is the one that the template reads. Some servers send it
/// in two fields: one is left.
fn take_reasoning(message: &mut Map<String, Value>, carrier: &Carrier) -> Option<String> {
    let is_said = |field: &&str| message.get(*field).is_some_and(is_reasoning);
    let own = Some(carrier.field()).filter(is_said);
    let field = own.or_else(|| REASONING_FIELDS.into_iter().find(is_said))?;
    let taken = message.get(field)?.clone();
    let is_other = |name: &str| REASONING_FIELDS.contains(&name) && own != Some(name);
    message.retain(|name, value| !is_other(name) || *value != taken);
    taken.as_str().filter(|_| own.is_none()).map(str::to_owned)
}

fn is_reasoning(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty())
}

/// Removes the reasoning of a message from all its fields.
pub(super) fn drop_reasoning(message: &mut Map<String, Value>, carrier: Option<&Carrier>) {
    let own = carrier.map(Carrier::field).filter(|field| !field.is_empty());
    for field in REASONING_FIELDS.into_iter().chain(own) {
        message.shift_remove(field);
    }
}
