//! Hands a conversation to a template: takes the messages of OpenAI's API and puts them into the forms that the
//! `[messages]` table of the spec names. Everything that renders messages for a user goes through here; nothing here renders.

mod assistant;
mod calls;
mod forms;
mod shape;
mod written;

use std::ops::Range;

use serde_json::{Map, Value, json};

use crate::functions::FunctionsForm;
use crate::messages::{ContentForm, Messages, SystemPlace};
use crate::model::{CallIdPosition, FormatSpec};

pub use assistant::{Carrier, REASONING_FIELDS};
use calls::Calls;
pub use forms::{BIG_INTEGER, big_integer, exact_json};
use forms::{append_text, content_form, text_of};
use shape::shaped;
use written::Written;
pub use written::json_text;

impl FormatSpec {
    /// Puts the `messages`, `tools` and `functions` of a render into the forms that the template reads. `variables` are all
    /// variables of the render; the others stay as they are.
    ///
    /// The messages are those of OpenAI's API. A message that [`parse`](unjinja_runtime::parse) returned, serialized, is one of
    /// them: it then renders as the turn that was parsed. What is changed, each only if the spec says so:
    /// - Reasoning moves to the field that the template reads, or into the content, between its markers. Beside calls it stays in
    ///   `reasoning_content` where the template would not write it from the content.
    /// - Content becomes a text or a list of typed parts. An assistant's message that only calls tools gets an empty content,
    ///   null, or none.
    /// - Arguments become an object or JSON text. A call is written with the keys `type`, `id`, `function`, in this order.
    ///   Arguments that are cut short are closed.
    /// - Ids of a form that the template refuses are replaced, together with those of the results that name them.
    /// - A result gets the name of its function. If every call of a turn has a result, the results come in the order of the calls:
    ///   several results of one call as they were sent, results of no call of this turn after the others. If a call has none, they
    ///   stay in the order in which they were sent.
    /// - Where a message has one call, each further one gets a message of its own. The results of a call come after it, whether or
    ///   not every call has one.
    /// - Calls that the template does not write are written into the content, if it is a text.
    /// - Content next to calls that the template loses or refuses gets a message of its own, or becomes the end of the reasoning. Where a
    ///   template takes one content between two messages of the user, all of them are one.
    ///   Reasoning that is written into contents moves with it.
    /// - A system message moves to the front, or into the next message of the user.
    ///
    /// ```
    /// use serde_json::{Value, json};
    /// use unjinja_spec::FormatSpec;
    ///
    /// # let toml = format!("spec_version = 1\n[template]\nname = 'a'\nfile = 'a.jinja'\nsha256 = '{}'\n", "0".repeat(64));
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
    ///
    /// Returns what was written into texts of the conversation: the tags of reasoning and the markers of calls in contents.
    pub fn hand_over(&self, variables: &mut Map<String, Value>) -> Vec<WrittenTags> {
        let mut tags = Vec::new();
        if let Some(Value::Array(messages)) = variables.get_mut("messages") {
            let given = std::mem::take(messages);
            let mut conversation = Conversation::new(self);
            *messages = conversation.messages(shaped(self, given));
            tags = conversation.tags;
        }
        self.messages.set_functions(variables);
        tags
    }

    /// The texts before and after the name in an id of the form [`CallIdForm::Named`](crate::CallIdForm::Named).
    pub fn named_id(&self) -> (&str, &str) {
        let shape = &self.tools.call_id;
        match shape.position {
            CallIdPosition::InName => (shape.prefix.trim_start(), shape.suffix.trim_end()),
            _ => ("functions.", ":"),
        }
    }
}

/// The markers that [`FormatSpec::hand_over`] wrote into a message's content: the tags of reasoning, and those of calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenTags {
    /// The position of the message in the list that the template gets.
    pub message: usize,
    /// Where they are: bytes of the content, or of the first of its texts.
    pub ranges: Vec<Range<usize>>,
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

    /// A content in the form that the template reads. What is not a text stays as it is.
    pub fn content(&self, content: impl Into<Value>) -> Value {
        content_form(self.content, content.into())
    }

    /// Arguments, as an object or as JSON text, in the form that the template reads.
    pub fn arguments(&self, arguments: impl Into<Value>) -> Value {
        forms::arguments_in(self.arguments, arguments.into())
    }
}

/// A conversation that is being handed over.
struct Conversation<'s> {
    spec: &'s FormatSpec,
    carrier: Option<Carrier>,
    calls: Calls<'s>,
    tags: Vec<WrittenTags>,
}

impl<'s> Conversation<'s> {
    fn new(spec: &'s FormatSpec) -> Self {
        Self { spec, carrier: Carrier::of(spec), calls: Calls::new(spec), tags: Vec::new() }
    }

    fn messages(&mut self, given: Vec<Value>) -> Vec<Value> {
        let mut list: Vec<Value> = Vec::with_capacity(given.len());
        // The texts of system messages that no message has taken yet.
        let mut waiting: Vec<String> = Vec::new();
        let place = self.spec.messages.system;
        for message in given {
            let Value::Object(mut message) = message else {
                list.push(message);
                continue;
            };
            let role = message.get("role").and_then(Value::as_str).unwrap_or_default().to_owned();
            let displaced = place == SystemPlace::Nowhere || (place == SystemPlace::First && !list.is_empty());
            if role == "system"
                && displaced
                && let Some(text) = message.get("content").and_then(text_of)
            {
                self.displaced(text, &mut list, &mut waiting);
                continue;
            }
            match role.as_str() {
                "assistant" => {
                    let written = self.assistant(&mut message);
                    let tags = WrittenTags { message: list.len(), ranges: written };
                    self.tags.extend((!tags.ranges.is_empty()).then_some(tags));
                }
                "tool" => {
                    self.calls.result(&mut message);
                    self.content(&mut message);
                }
                _ => self.content(&mut message),
            }
            if place == SystemPlace::Nowhere && role == "user" {
                for text in waiting.drain(..).rev() {
                    append_text(&mut message, &text, true);
                }
            }
            list.push(Value::Object(message));
        }
        if !waiting.is_empty() {
            list.push(self.said("user", &waiting.join("\n\n")));
        }
        list
    }

    /// Puts the text of a system message that cannot stay where it is into the message of the user before it, or into the first
    /// system message. A text for a message of the user that has not come yet waits.
    fn displaced(&mut self, text: String, list: &mut Vec<Value>, waiting: &mut Vec<String>) {
        if text.is_empty() {
            return;
        }
        if self.spec.messages.system == SystemPlace::Nowhere {
            match list.last_mut().and_then(Value::as_object_mut).filter(|last| last["role"] == "user") {
                Some(last) => append_text(last, &text, false),
                None => waiting.push(text),
            }
            return;
        }
        match list.first_mut().and_then(Value::as_object_mut).filter(|first| first["role"] == "system") {
            Some(first) => append_text(first, &text, false),
            None => {
                list.insert(0, self.said("system", &text));
                self.tags.iter_mut().for_each(|tags| tags.message += 1);
            }
        }
    }

    /// A message of this role.
    fn said(&self, role: &str, text: &str) -> Value {
        json!({"role": role, "content": self.spec.messages.content(text)})
    }

    /// Gives the content of a message the form that the template reads.
    fn content(&self, message: &mut Map<String, Value>) {
        let Some(content) = message.get_mut("content") else { return };
        let content_of = &self.spec.messages;
        *content = match content.take() {
            // A list of texts, for a template that reads no list.
            list @ Value::Array(_)
                if content_of.content == ContentForm::Text && !self.spec.capabilities.typed_content =>
            {
                text_of(&list).map_or(list, Value::String)
            }
            content => content_of.content(content),
        };
    }

    fn assistant(&mut self, message: &mut Map<String, Value>) -> Vec<Range<usize>> {
        // A list of parts becomes a text first, where the template reads no list.
        self.content(message);
        let calls = match message.get_mut("tool_calls") {
            Some(Value::Array(calls)) => std::mem::take(calls),
            _ => Vec::new(),
        };
        let mut handed = self.calls.handed(calls);
        let mut markers = Vec::new();
        // A content that is no text, as with an image, stays; the template then does not show the calls.
        let said = match message.get("content") {
            None | Some(Value::Null) => Some(String::new()),
            Some(content) => text_of(content),
        };
        if self.spec.messages.calls_in_content
            && !handed.is_empty()
            && let Some(said) = said
            && let Some(calls) = Written::of(&self.spec.tools, &handed)
        {
            let shifted = |marker: Range<usize>| marker.start + said.len()..marker.end + said.len();
            markers.extend(calls.markers.into_iter().filter(|marker| !marker.is_empty()).map(shifted));
            message.insert("content".to_owned(), (said + &calls.text).into());
            handed.clear();
        }
        let start = self.spec.reasoning.start.trim();
        let text = message.get("content").and_then(text_of).unwrap_or_default();
        let has_reasoning = !start.is_empty() && text.trim_start().starts_with(start);
        let carrier = self.carrier.as_ref().filter(|_| !has_reasoning);
        if has_reasoning {
            // It is in the content already, and would be written twice.
            assistant::drop_reasoning(message, self.carrier.as_ref());
        }
        let tags = self.spec.messages.set_assistant(message, handed, carrier).into_iter().flatten().collect::<Vec<_>>();
        // The content comes after a block of reasoning.
        let block = tags.last().map_or(0, |tag| tag.end);
        tags.into_iter().chain(markers.into_iter().map(|marker| marker.start + block..marker.end + block)).collect()
    }
}
