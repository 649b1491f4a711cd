//! The parts of the conversations that a template is asked with: messages, calls, and the ways to hand them over. This
//! module makes JSON for the template; it renders nothing.

use serde_json::{Map, Value, json};
use unjinja_spec::{ArgumentsForm, CallIdForm, Carrier, ContentForm, EmptyContent, Messages};

use crate::observed::MessagePart;
use crate::sentinels::SENTINELS;

/// A way to ask a template. What one template refuses or drops, another needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Style {
    /// How messages are handed over.
    pub needs: Messages,
    /// A message that only calls has a word as its content, because the template looks into the text.
    pub word: bool,
    /// How tools are offered to turns with calls.
    pub tools: Offer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    /// As OpenAI does: `{"type": "function", "function": {…}}`.
    Wrapped,
    /// The inner objects alone.
    Flat,
    None,
}

impl Style {
    pub(crate) fn usual() -> Self {
        Self { needs: Messages::default(), word: false, tools: Offer::Wrapped }
    }

    pub(crate) fn with_arguments(self, arguments: ArgumentsForm) -> Self {
        Self { needs: Messages { arguments, ..self.needs }, ..self }
    }

    /// The style with this content of messages that only call.
    pub(crate) fn with_empty(self, content_of_calls: EmptyContent) -> Self {
        Self { needs: Messages { content_of_calls, ..self.needs }, word: false, ..self }
    }

    pub(crate) fn with_content(self, content: ContentForm) -> Self {
        Self { needs: Messages { content, ..self.needs }, ..self }
    }

    pub(crate) fn words(self) -> String {
        let mut words = vec![match self.needs.arguments {
            ArgumentsForm::Object => "arguments as an object",
            ArgumentsForm::Text => "arguments as JSON text",
        }];
        words.push(match self.needs.content_of_calls {
            _ if self.word => "content a word",
            EmptyContent::Empty => "content an empty text",
            EmptyContent::Null => "content null",
            EmptyContent::Absent => "no content",
        });
        match self.needs.ids {
            CallIdForm::Any => {}
            CallIdForm::Nine => words.push("ids of nine letters"),
            CallIdForm::Counted => words.push("ids as numbers"),
            CallIdForm::Named => words.push("ids like functions.NAME:0"),
        }
        match self.tools {
            Offer::Wrapped => {}
            Offer::Flat => words.push("tools without their wrapper"),
            Offer::None => words.push("no tools offered"),
        }
        if self.needs.content == ContentForm::Parts {
            words.push("content as typed parts");
        }
        words.join(", ")
    }

    pub(crate) fn content(self, text: &str) -> Value {
        self.needs.content(text)
    }

    pub(crate) fn user(self, text: &str) -> Value {
        json!({"role": "user", "content": self.content(text)})
    }

    pub(crate) fn offer(self, tools: Value) -> Value {
        match self.tools {
            Offer::None => Value::Null,
            Offer::Wrapped => tools,
            Offer::Flat => tools.as_array().into_iter().flatten().map(|tool| tool["function"].clone()).collect(),
        }
    }

    /// The result of the call with this number in its turn.
    pub(crate) fn result(self, number: usize, call: &Call, text: &str) -> Value {
        json!({
            "role": "tool", "tool_call_id": self.id(number, call), "name": call.name, "content": self.content(text),
        })
    }

    fn id(self, number: usize, call: &Call) -> String {
        match self.needs.ids {
            CallIdForm::Any | CallIdForm::Nine => call.id.clone(),
            CallIdForm::Counted => number.to_string(),
            CallIdForm::Named => format!("functions.{}:{number}", call.name),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub name: String,
    pub id: String,
    pub arguments: Map<String, Value>,
}

impl Call {
    pub(crate) fn new(name: &str, id: &str, arguments: &[(&str, Value)]) -> Self {
        let arguments = arguments.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
        Self { name: name.to_owned(), id: id.to_owned(), arguments }
    }

    /// The call with this number that the comparisons render: one argument, a text.
    pub(crate) fn probe(number: usize) -> Self {
        let s = &SENTINELS;
        Self::with(number, &[(s.arguments[number % 2], s.values[number % 2].into())])
    }

    pub(crate) fn with(number: usize, arguments: &[(&str, Value)]) -> Self {
        Self::new(SENTINELS.functions[number % 2], SENTINELS.ids[number % 2], arguments)
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AssistantMessage {
    pub content: String,
    pub reasoning: Option<(Carrier, String)>,
    pub calls: Vec<Call>,
}

impl AssistantMessage {
    pub(crate) fn content(text: &str) -> Self {
        Self { content: text.to_owned(), ..Self::default() }
    }

    pub(crate) fn calls(calls: &[Call]) -> Self {
        Self { calls: calls.to_vec(), ..Self::default() }
    }

    pub(crate) fn with_content(mut self, text: &str) -> Self {
        self.content = text.to_owned();
        self
    }

    pub(crate) fn with_reasoning(mut self, carrier: &Carrier, text: &str) -> Self {
        self.reasoning = Some((carrier.clone(), text.to_owned()));
        self
    }

    pub(crate) fn message(&self, style: Style) -> Value {
        let mut message = Map::new();
        message.insert("role".into(), "assistant".into());
        let word = if style.word && !self.calls.is_empty() { SENTINELS.word } else { "" };
        let content = if self.content.is_empty() { word } else { &self.content };
        message.insert("content".into(), content.into());
        if let Some((_, text)) = &self.reasoning {
            message.insert("reasoning_content".into(), text.as_str().into());
        }
        let calls = self.calls.iter().enumerate().map(|(number, call)| {
            let arguments = style.needs.arguments(call.arguments.clone());
            let id = style.id(number, call);
            json!({"type": "function", "id": id, "function": {"name": call.name, "arguments": arguments}})
        });
        let carrier = self.reasoning.as_ref().map(|(carrier, _)| carrier);
        style.needs.set_assistant(&mut message, calls.collect(), carrier);
        Value::Object(message)
    }

    /// The words of the message, each with the part that it stands for.
    pub(crate) fn words(&self, style: Style) -> Vec<(String, MessagePart)> {
        let mut words = vec![(self.content.clone(), MessagePart::Content)];
        words.extend(self.reasoning.iter().map(|(_, text)| (text.clone(), MessagePart::Reasoning)));
        for (number, call) in self.calls.iter().enumerate() {
            words.push((call.name.clone(), MessagePart::Name(number)));
            if matches!(style.needs.ids, CallIdForm::Any | CallIdForm::Nine) {
                words.push((call.id.clone(), MessagePart::Id(number)));
            }
            for (index, (key, value)) in call.arguments.iter().enumerate() {
                words.push((key.clone(), MessagePart::Key(number, index)));
                match value {
                    Value::String(text) => words.push((text.clone(), MessagePart::Value(number, index))),
                    Value::Number(value) => words.push((value.to_string(), MessagePart::Value(number, index))),
                    _ => {}
                }
            }
        }
        if style.word && self.content.is_empty() && !self.calls.is_empty() {
            words.push((SENTINELS.word.to_owned(), MessagePart::Content));
        }
        words.retain(|(word, _)| !word.is_empty());
        words
    }

    /// The texts of the message that have a field of their own: the field, the part, and the text.
    pub(crate) fn texts(&self) -> Vec<(&str, MessagePart, &str)> {
        let carrier = self.reasoning.as_ref().map(|(carrier, text)| (carrier, text.as_str()));
        let mut texts = Vec::new();
        // Reasoning in tags is a part of the content.
        if !matches!(carrier, Some((Carrier::Tags(..), _))) && !self.content.is_empty() {
            texts.push(("content", MessagePart::Content, self.content.as_str()));
        }
        if let Some((Carrier::Field(field), text)) = carrier {
            texts.push((field, MessagePart::Reasoning, text));
        }
        texts
    }

    /// The part of the message at a path within it, if there is exactly one part at that path.
    pub(crate) fn part_at(&self, path: &str, is_key: bool) -> Option<MessagePart> {
        let (number, rest) = path.strip_prefix("tool_calls[")?.split_once("].")?;
        let number: usize = number.parse().ok()?;
        let call = self.calls.get(number)?;
        match rest {
            "function.name" => Some(MessagePart::Name(number)),
            "id" => Some(MessagePart::Id(number)),
            _ => {
                let path = rest.strip_prefix("function.arguments.")?;
                let index = call.arguments.keys().position(|key| key == path)?;
                Some(if is_key { MessagePart::Key(number, index) } else { MessagePart::Value(number, index) })
            }
        }
    }

    /// The tools that a style offers with this message.
    pub(crate) fn tools(&self, style: Style) -> Value {
        if self.calls.is_empty() { Value::Null } else { style.offer(tools_for(&self.calls)) }
    }
}

/// Tools that offer what the calls use: their functions and arguments.
pub(crate) fn tools_for(calls: &[Call]) -> Value {
    let mut tools: Vec<Value> = Vec::new();
    for (number, call) in calls.iter().enumerate() {
        if calls[..number].iter().any(|other| other.name == call.name) {
            continue;
        }
        let same = calls.iter().filter(|other| other.name == call.name).flat_map(|other| &other.arguments);
        let properties: Map<String, Value> =
            same.map(|(key, value)| (key.clone(), json!({"type": type_of(value), "description": "a value"}))).collect();
        tools.push(json!({"type": "function", "function": {
            "name": call.name,
            "description": "does something",
            "parameters": {"type": "object", "properties": properties, "required": []},
        }}));
    }
    Value::Array(tools)
}

pub(crate) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
