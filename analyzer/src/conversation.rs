//! The parts of the conversations that a template is asked with: messages, calls, and the ways to hand them over. This
//! module makes JSON for the template; it renders nothing.

use serde_json::{Map, Value, json};

use crate::observed::Part;
use crate::sentinels::SENTINELS;

/// How messages are handed to a template. What one template refuses or drops, another needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Style {
    /// Every content as a list of typed parts, not as a text.
    pub typed: bool,
    /// Arguments as an object, or as JSON text.
    pub object_arguments: bool,
    /// The content of a message without content.
    pub empty: Empty,
    /// The form of call ids.
    pub ids: Ids,
    /// How tools are offered to turns with calls.
    pub tools: Offer,
}

/// The content of a message without content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Empty {
    /// An empty text.
    Text,
    /// Null.
    Null,
    /// No such field.
    Absent,
    /// A word, because the template looks into the text.
    Word,
}

/// The form of call ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ids {
    /// Nine letters and digits, which every template accepts that checks ids.
    Plain,
    /// Numbers.
    Numbered,
    /// `functions.NAME:0`: some templates write the name only as a part of the id.
    Functions,
}

/// How tools are offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    /// As OpenAI does: `{"type": "function", "function": {…}}`.
    Wrapped,
    /// The inner objects alone.
    Flat,
    /// Not at all.
    None,
}

impl Style {
    /// What most templates take.
    pub(crate) const USUAL: Self =
        Self { typed: false, object_arguments: true, empty: Empty::Text, ids: Ids::Plain, tools: Offer::Wrapped };

    /// The style in words.
    pub(crate) fn words(self) -> String {
        let mut words = vec![if self.object_arguments { "arguments as an object" } else { "arguments as JSON text" }];
        words.push(match self.empty {
            Empty::Text => "content an empty text",
            Empty::Null => "content null",
            Empty::Absent => "no content",
            Empty::Word => "content a word",
        });
        match self.ids {
            Ids::Plain => {}
            Ids::Numbered => words.push("ids as numbers"),
            Ids::Functions => words.push("ids like functions.NAME:0"),
        }
        match self.tools {
            Offer::Wrapped => {}
            Offer::Flat => words.push("tools without their wrapper"),
            Offer::None => words.push("no tools offered"),
        }
        if self.typed {
            words.push("content as typed parts");
        }
        words.join(", ")
    }

    /// A content as this style hands it over.
    pub(crate) fn content(self, text: &str) -> Value {
        if self.typed { json!([{"type": "text", "text": text}]) } else { text.into() }
    }

    /// A user message.
    pub(crate) fn user(self, text: &str) -> Value {
        json!({"role": "user", "content": self.content(text)})
    }

    /// Tools as this style offers them.
    pub(crate) fn offer(self, tools: Value) -> Value {
        match self.tools {
            Offer::None => Value::Null,
            Offer::Wrapped => tools,
            Offer::Flat => tools.as_array().into_iter().flatten().map(|tool| tool["function"].clone()).collect(),
        }
    }

    /// The id of the call with this number.
    fn id(self, number: usize, call: &Call) -> String {
        match self.ids {
            Ids::Plain => call.id.clone(),
            Ids::Numbered => number.to_string(),
            Ids::Functions => format!("functions.{}:{number}", call.name),
        }
    }
}

/// A call to be rendered.
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

    /// The call with this number, and these arguments.
    pub(crate) fn with(number: usize, arguments: &[(&str, Value)]) -> Self {
        Self::new(SENTINELS.functions[number % 2], SENTINELS.ids[number % 2], arguments)
    }
}

/// How a message carries reasoning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// In a field of its own.
    Field(String),
    /// As a part of the content, of the type `thinking`.
    Parts,
    /// In the content, between these tags.
    Tags(String, String),
}

/// The name that is given for the field where reasoning is passed as a content part of the type `thinking`.
const PARTS: &str = "content.thinking";

impl Carrier {
    /// The value of `reasoning.field` for this carrier.
    pub(crate) fn field(&self) -> &str {
        match self {
            Carrier::Field(name) => name,
            Carrier::Parts => PARTS,
            Carrier::Tags(..) => "",
        }
    }

    /// The carrier that a spec names; `None` if reasoning is handed over in no field.
    pub(crate) fn of_field(field: &str) -> Option<Self> {
        match field {
            "" => None,
            PARTS => Some(Carrier::Parts),
            name => Some(Carrier::Field(name.to_owned())),
        }
    }
}

/// An assistant message to be rendered.
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

    /// The message as JSON.
    pub(crate) fn message(&self, style: Style) -> Value {
        let mut message = Map::new();
        message.insert("role".into(), "assistant".into());
        if !self.content.is_empty() || self.calls.is_empty() {
            message.insert("content".into(), style.content(&self.content));
        } else {
            match style.empty {
                Empty::Text => message.insert("content".into(), style.content("")),
                Empty::Null => message.insert("content".into(), Value::Null),
                Empty::Word => message.insert("content".into(), style.content(SENTINELS.word)),
                Empty::Absent => None,
            };
        }
        match &self.reasoning {
            Some((Carrier::Parts, text)) => {
                let mut parts = vec![json!({"type": "thinking", "thinking": text})];
                if !self.content.is_empty() {
                    parts.push(json!({"type": "text", "text": self.content}));
                }
                message.insert("content".into(), parts.into());
            }
            Some((Carrier::Tags(start, end), text)) => {
                let content = format!("{start}{text}{end}{}", self.content);
                message.insert("content".into(), style.content(&content));
            }
            Some((Carrier::Field(field), text)) => {
                message.insert(field.clone(), text.as_str().into());
            }
            None => {}
        }
        if !self.calls.is_empty() {
            let calls = self.calls.iter().enumerate().map(|(number, call)| {
                let arguments = match style.object_arguments {
                    true => Value::Object(call.arguments.clone()),
                    false => Value::Object(call.arguments.clone()).to_string().into(),
                };
                let id = style.id(number, call);
                json!({"type": "function", "id": id, "function": {"name": call.name, "arguments": arguments}})
            });
            message.insert("tool_calls".into(), calls.collect());
        }
        Value::Object(message)
    }

    /// The words of the message, each with the part that it stands for.
    pub(crate) fn words(&self, style: Style) -> Vec<(String, Part)> {
        let mut words = vec![(self.content.clone(), Part::Content)];
        words.extend(self.reasoning.iter().map(|(_, text)| (text.clone(), Part::Reasoning)));
        for (number, call) in self.calls.iter().enumerate() {
            words.push((call.name.clone(), Part::Name(number)));
            if style.ids == Ids::Plain {
                words.push((call.id.clone(), Part::Id(number)));
            }
            for (index, (key, value)) in call.arguments.iter().enumerate() {
                words.push((key.clone(), Part::Key(number, index)));
                match value {
                    Value::String(text) => words.push((text.clone(), Part::Value(number, index))),
                    Value::Number(value) => words.push((value.to_string(), Part::Value(number, index))),
                    _ => {}
                }
            }
        }
        if style.empty == Empty::Word && self.content.is_empty() && !self.calls.is_empty() {
            words.push((SENTINELS.word.to_owned(), Part::Content));
        }
        words.retain(|(word, _)| !word.is_empty());
        words
    }

    /// The part of the message at a path within it, if there is exactly one part at that path.
    pub(crate) fn part_at(&self, path: &str, is_key: bool) -> Option<Part> {
        let (number, rest) = path.strip_prefix("tool_calls[")?.split_once("].")?;
        let number: usize = number.parse().ok()?;
        let call = self.calls.get(number)?;
        match rest {
            "function.name" => Some(Part::Name(number)),
            "id" => Some(Part::Id(number)),
            _ => {
                let path = rest.strip_prefix("function.arguments.")?;
                let index = call.arguments.keys().position(|key| key == path)?;
                Some(if is_key { Part::Key(number, index) } else { Part::Value(number, index) })
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
