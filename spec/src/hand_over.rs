//! Hands a conversation to a template: takes the messages of OpenAI's API and puts them into the forms that the
//! `[messages]` table of the spec names. Everything that renders messages for a user goes through here; nothing here renders.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use unjinja_runtime::close_json;

use crate::functions::FunctionsForm;
use crate::messages::{ArgumentsForm, CallIdForm, ContentForm, EmptyContent, Messages, SystemPlace};
use crate::model::{CallIdPosition, FormatSpec, ReasoningMode};

/// The field in which a message carries reasoning before it is handed over.
const REASONING_CONTENT: &str = "reasoning_content";

/// All fields in which clients hand reasoning over: servers use the first two, and some templates read the third.
const REASONING_FIELDS: [&str; 3] = [REASONING_CONTENT, "reasoning", "thinking"];

/// Letters and digits of an id.
const ID_LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

impl FormatSpec {
    /// Puts the `messages`, `tools` and `functions` of a render into the forms that the template reads. `variables` are all
    /// variables of the render; the others stay as they are.
    ///
    /// The messages are those of OpenAI's API. A message that [`parse`](unjinja_runtime::parse) returned, serialized, is one of
    /// them: it then renders as the turn that was parsed. What is changed, each only if the spec says so:
    /// - Reasoning moves to the field that the template reads, or into the content, between its markers.
    /// - Content becomes a text or a list of typed parts. An assistant's message that only calls tools gets an empty content,
    ///   null, or none.
    /// - Arguments become an object or JSON text. A call is written with the keys `type`, `id`, `function`, in this order.
    ///   Arguments that are cut short are closed.
    /// - Ids of a form that the template refuses are replaced, together with those of the results that name them.
    /// - A result gets the name of its function.
    /// - A system message moves to the front, or into the next message of the user.
    ///
    /// ```
    /// use serde_json::{Value, json};
    /// use unjinja_spec::FormatSpec;
    ///
    /// # let toml = format!("spec_version = 3\n[template]\nname = 'a'\nfile = 'a.jinja'\nsha256 = '{}'\n", "0".repeat(64));
    /// # let spec = FormatSpec::from_toml(&toml, "a.toml")?;
    /// let function = json!({"name": "rain", "arguments": "{\"day\": 3}"});
    /// let call = json!({"id": "a", "type": "function", "function": function});
    /// let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    /// let mut variables = [("messages".to_owned(), json!([message]))].into_iter().collect();
    /// spec.hand_over(&mut variables);
    /// let message = &variables["messages"][0];
    /// assert_eq!(message["content"], "");
    /// assert_eq!(message["tool_calls"][0]["function"]["arguments"]["day"], 3);
    /// # Ok::<(), unjinja_spec::SpecError>(())
    /// ```
    pub fn hand_over(&self, variables: &mut Map<String, Value>) {
        if let Some(Value::Array(messages)) = variables.get_mut("messages") {
            let given = std::mem::take(messages);
            *messages = Conversation::new(self).messages(given);
        }
        self.messages.set_functions(variables);
    }

    /// The texts before and after the name in an id of the form [`CallIdForm::Named`].
    pub fn named_id(&self) -> (&str, &str) {
        let shape = &self.tools.call_id;
        match shape.position {
            CallIdPosition::InName => (shape.prefix.trim_start(), shape.suffix.trim_end()),
            _ => ("functions.", ":"),
        }
    }
}

impl Messages {
    /// Sets the variable `functions` for templates that read it instead of `tools`, unless the caller has set it.
    pub fn set_functions(&self, variables: &mut Map<String, Value>) {
        if self.functions.is_unset() || variables.contains_key("functions") {
            return;
        }
        let tools = variables.get("tools").and_then(Value::as_array);
        if tools.is_none() && !self.functions.always {
            return;
        }
        let function = |tool: &Value| tool.get("function").unwrap_or(tool).clone();
        let list: Value = tools.into_iter().flatten().map(function).collect();
        let functions = if self.functions.form == FunctionsForm::Text { list.to_string().into() } else { list };
        variables.insert("functions".to_owned(), functions);
    }

    /// A content in the form that the template reads. What is no text stays as it is.
    pub fn content(&self, content: impl Into<Value>) -> Value {
        content_form(self.content, content.into())
    }

    /// Arguments, as an object or as JSON text, in the form that the template reads.
    pub fn arguments(&self, arguments: impl Into<Value>) -> Value {
        arguments_in(self.arguments, arguments.into())
    }

    /// Puts the calls, the reasoning and the content of an assistant's message into their places. `message` has its reasoning in
    /// `reasoning_content`, and `calls` have the form that the template reads.
    pub fn set_assistant(&self, message: &mut Map<String, Value>, calls: Vec<Value>, carrier: Option<&Carrier>) {
        let says_nothing = match message.get("content") {
            None | Some(Value::Null) => true,
            // White space between reasoning and a call is layout that the template writes by itself.
            Some(Value::String(text)) => text.is_empty() || (!calls.is_empty() && text.trim().is_empty()),
            Some(_) => false,
        };
        let content = if !says_nothing {
            message.get_mut("content").map(|content| self.content(content.take()))
        } else if calls.is_empty() {
            Some(self.content(""))
        } else {
            match self.content_of_calls {
                EmptyContent::Empty => Some(self.content("")),
                EmptyContent::Null => Some(Value::Null),
                EmptyContent::Absent => None,
            }
        };
        let reasoning = carrier.and_then(|carrier| take_reasoning(message, carrier));
        let content = match (carrier, reasoning) {
            (Some(Carrier::Field(field)), Some(reasoning)) => {
                message.insert(field.clone(), reasoning.into());
                content
            }
            (Some(Carrier::Parts), Some(reasoning)) => {
                let mut parts = vec![json!({"type": "thinking", "thinking": reasoning})];
                if !says_nothing && let Some(Value::Array(text)) = content.map(|c| content_form(ContentForm::Parts, c))
                {
                    parts.extend(text);
                }
                Some(parts.into())
            }
            // Where the model closed an empty block, the template writes that block by itself, or none.
            (Some(Carrier::Tags(start, end)), Some(reasoning)) if !says_nothing || !reasoning.trim().is_empty() => {
                let text = content.as_ref().and_then(text_of).unwrap_or_default();
                Some(self.content(format!("{start}{reasoning}{end}{text}")))
            }
            (_, _) => content,
        };
        match content {
            Some(content) => message.insert("content".to_owned(), content),
            None => message.shift_remove("content"),
        };
        if !calls.is_empty() {
            message.insert("tool_calls".to_owned(), calls.into());
        }
    }
}

/// A call of the conversation, for the results that come after it.
struct Made {
    /// The id that the template gets.
    id: Option<String>,
    name: String,
    answered: bool,
}

/// A conversation that is being handed over.
struct Conversation<'s> {
    spec: &'s FormatSpec,
    carrier: Option<Carrier>,
    /// All calls until here.
    made: Vec<Made>,
    /// The calls by the id that their message had; of two with the same id, the later one.
    by_id: HashMap<String, usize>,
    /// All calls before this one have a result.
    answered: usize,
}

impl<'s> Conversation<'s> {
    fn new(spec: &'s FormatSpec) -> Self {
        Self { spec, carrier: carrier_of(spec), made: Vec::new(), by_id: HashMap::new(), answered: 0 }
    }

    fn messages(&mut self, given: Vec<Value>) -> Vec<Value> {
        let mut list = Vec::with_capacity(given.len());
        // System messages that cannot stay where they are.
        let mut moved: Vec<String> = Vec::new();
        let place = self.spec.messages.system;
        for message in given {
            let Value::Object(mut message) = message else {
                list.push(message);
                continue;
            };
            let role = message.get("role").and_then(Value::as_str).unwrap_or_default().to_owned();
            let text = || message.get("content").and_then(text_of);
            let displaced = place == SystemPlace::Nowhere || (place == SystemPlace::First && !list.is_empty());
            if role == "system"
                && displaced
                && let Some(text) = text()
            {
                moved.push(text);
                continue;
            }
            if place == SystemPlace::Nowhere && role == "user" && !moved.is_empty() {
                moved.extend(text());
                message.insert("content".to_owned(), std::mem::take(&mut moved).join("\n\n").into());
            }
            match role.as_str() {
                "assistant" => self.assistant(&mut message),
                "tool" => self.result(&mut message),
                _ => self.content(&mut message),
            }
            list.push(Value::Object(message));
        }
        if !moved.is_empty() {
            self.add(&mut list, &moved.join("\n\n"));
        }
        list
    }

    /// Adds the text of system messages that could not stay: to the system message at the front, or at the end, from the user,
    /// where the template renders no system message.
    fn add(&self, list: &mut Vec<Value>, text: &str) {
        let mut message = Map::new();
        if self.spec.messages.system == SystemPlace::Nowhere {
            message.insert("role".to_owned(), "user".into());
            message.insert("content".to_owned(), text.into());
            self.content(&mut message);
            list.push(Value::Object(message));
            return;
        }
        let first = list.first().filter(|first| first["role"] == "system");
        let whole = match first.and_then(|first| text_of(&first["content"])) {
            Some(before) => format!("{before}\n\n{text}"),
            None => text.to_owned(),
        };
        let replaced = first.is_some();
        message.insert("role".to_owned(), "system".into());
        message.insert("content".to_owned(), whole.into());
        self.content(&mut message);
        match list.first_mut().filter(|_| replaced) {
            Some(first) => *first = Value::Object(message),
            None => list.insert(0, Value::Object(message)),
        }
    }

    /// Gives the content of a message the form that the template reads.
    fn content(&self, message: &mut Map<String, Value>) {
        let Some(content) = message.get_mut("content") else { return };
        *content = content_in(content.take(), self.spec);
    }

    fn assistant(&mut self, message: &mut Map<String, Value>) {
        let calls = match message.get_mut("tool_calls") {
            Some(Value::Array(calls)) => std::mem::take(calls),
            _ => Vec::new(),
        };
        let handed: Vec<Value> = calls.into_iter().map(|call| self.call(call)).collect();
        self.spec.messages.set_assistant(message, handed, self.carrier.as_ref());
        // A list of parts may still have to become a text.
        self.content(message);
    }

    /// A call as the template reads it.
    fn call(&mut self, call: Value) -> Value {
        let Value::Object(mut call) = call else { return call };
        // A call as `{"name", "arguments"}`, or inside `function`.
        let mut function = match call.shift_remove("function") {
            Some(Value::Object(function)) => function,
            _ => std::mem::take(&mut call),
        };
        let given =
            [call.shift_remove("id"), function.shift_remove("id")].into_iter().flatten().find(|id| !id.is_null());
        let given = given.map(|id| id.as_str().map_or_else(|| id.to_string(), str::to_owned));
        let kind = [call.shift_remove("type"), function.shift_remove("type")].into_iter().flatten().next();
        let name = function.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let id = self.id(given.as_deref(), &name);
        if let Some(arguments) = function.shift_remove("arguments") {
            let arguments = self.spec.messages.arguments(arguments);
            function.insert("arguments".to_owned(), arguments);
        }
        let mut handed = Map::new();
        handed.insert("type".to_owned(), kind.unwrap_or_else(|| "function".into()));
        if let Some(id) = &id {
            handed.insert("id".to_owned(), id.as_str().into());
        }
        handed.insert("function".to_owned(), function.into());
        handed.extend(call);
        self.by_id.extend(given.map(|given| (given, self.made.len())));
        self.made.push(Made { id, name, answered: false });
        Value::Object(handed)
    }

    /// The id of the next call, in a shape that the template accepts.
    fn id(&self, given: Option<&str>, name: &str) -> Option<String> {
        let number = self.made.len();
        let id = match self.spec.messages.ids {
            CallIdForm::Any => return given.map(str::to_owned),
            CallIdForm::Nine => match given {
                Some(id) if is_nine(id) => id.to_owned(),
                Some(id) => nine(id),
                None => nine(&format!("{name}:{number}")),
            },
            CallIdForm::Counted => match given {
                Some(id) if !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()) => id.to_owned(),
                _ => number.to_string(),
            },
            CallIdForm::Named => {
                let (prefix, suffix) = self.spec.named_id();
                let rest = |id: &str| id.strip_prefix(prefix)?.strip_prefix(name)?.strip_prefix(suffix).map(str::len);
                match given {
                    Some(id) if rest(id).is_some_and(|digits| digits > 0) => id.to_owned(),
                    _ => format!("{prefix}{name}{suffix}{number}"),
                }
            }
        };
        Some(id)
    }

    /// The result of a call.
    fn result(&mut self, message: &mut Map<String, Value>) {
        while self.made.get(self.answered).is_some_and(|made| made.answered) {
            self.answered += 1;
        }
        // A result without an id answers the calls in their order.
        let at = match message.get("tool_call_id").and_then(Value::as_str) {
            Some(id) => self.by_id.get(id).copied(),
            None => Some(self.answered),
        };
        if let Some(made) = at.and_then(|at| self.made.get_mut(at)) {
            made.answered = true;
            let has_id = message.contains_key("tool_call_id");
            if let Some(id) = made.id.as_ref().filter(|_| has_id || self.spec.messages.ids != CallIdForm::Any) {
                message.insert("tool_call_id".to_owned(), id.as_str().into());
            }
            if self.spec.messages.result_name && !message.get("name").is_some_and(Value::is_string) {
                message.insert("name".to_owned(), made.name.as_str().into());
            }
        }
        self.content(message);
    }
}

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

/// The name that is given for the field where reasoning is passed as a content part of the type `thinking`.
const PARTS: &str = "content.thinking";

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
}

/// How messages carry reasoning, so that the template of this spec reads it.
fn carrier_of(spec: &FormatSpec) -> Option<Carrier> {
    let reasoning = &spec.reasoning;
    Carrier::of_field(&reasoning.field).or_else(|| {
        // The template takes it from the content.
        let marked = reasoning.mode != ReasoningMode::None && !reasoning.end.is_empty();
        marked.then(|| Carrier::Tags(reasoning.start.clone(), reasoning.end.clone()))
    })
}

/// Takes the reasoning out of a message; `None` if there is none, or the message has it in the right place.
fn take_reasoning(message: &mut Map<String, Value>, carrier: &Carrier) -> Option<String> {
    if let Carrier::Field(field) = carrier
        && message.get(field).is_some_and(|value| value.as_str().is_some_and(|text| !text.is_empty()))
    {
        return None;
    }
    let field = REASONING_FIELDS
        .into_iter()
        .find(|field| message.get(*field).and_then(Value::as_str).is_some_and(|text| !text.is_empty()))?;
    match message.shift_remove(field) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

/// The text of a content: itself, or its parts if all of them are texts.
fn text_of(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => parts.iter().map(|part| part["text"].as_str()).collect(),
        _ => None,
    }
}

/// A content in the form that the template reads. A list with parts that are no texts stays a list.
fn content_in(content: Value, spec: &FormatSpec) -> Value {
    match content {
        Value::Array(_) if spec.messages.content == ContentForm::Text && !spec.capabilities.typed_content => {
            text_of(&content).map_or(content, Value::String)
        }
        content => content_form(spec.messages.content, content),
    }
}

/// A text in this form.
fn content_form(form: ContentForm, content: Value) -> Value {
    match content {
        Value::String(text) if form == ContentForm::Parts => json!([{"type": "text", "text": text}]),
        content => content,
    }
}

/// Arguments in this form.
fn arguments_in(form: ArgumentsForm, arguments: Value) -> Value {
    match (form, arguments) {
        (ArgumentsForm::Object, Value::String(text)) => object(&text),
        (ArgumentsForm::Object, Value::Null) => json!({}),
        (ArgumentsForm::Text, Value::String(text)) => text.into(),
        (ArgumentsForm::Text, Value::Null) => "{}".into(),
        (ArgumentsForm::Text, arguments) => arguments.to_string().into(),
        (ArgumentsForm::Object, arguments) => arguments,
    }
}

/// Arguments as an object. Broken arguments come back from clients, because they were delivered to them: what can be read of
/// them is kept.
fn object(arguments: &str) -> Value {
    let value: Value = serde_json::from_str(arguments)
        .or_else(|_| serde_json::from_str(&close_json(arguments)))
        .unwrap_or_else(|_| json!({}));
    // Some clients encode twice.
    let inner = value.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    match inner.filter(Value::is_object).unwrap_or(value) {
        Value::Object(object) => Value::Object(object),
        _ => json!({"arguments": arguments}),
    }
}

fn is_nine(id: &str) -> bool {
    id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Nine letters and digits that are always the same for the same id.
fn nine(id: &str) -> String {
    Sha256::digest(id.as_bytes()).iter().take(9).map(|byte| char::from(ID_LETTERS[usize::from(byte % 62)])).collect()
}
