//! Writes the events of a parser as the events of a response, and the whole response.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use unjinja_runtime::{Event, Message};

use super::custom::{CalledTools, ToolKind, input_of};
use super::input::OPEN_REASONING;
use super::request::ResponsesRequest;
use super::token_queue::TokenQueue;
use crate::calls::{CallPiece, CallWriter};
use crate::error::ApiError;
use crate::finish::{Finish, Usage};
use crate::ids::{now, unique_id};
use crate::sse;
use unjinja_spec::CallIds;

/// An event of a streamed response.
#[derive(Debug, Clone, PartialEq)]
pub struct ResponseEvent {
    /// Its type.
    pub name: &'static str,
    /// The event, with its type and its number.
    pub data: Value,
}

impl ResponseEvent {
    /// The event as a server-sent event.
    pub fn to_sse(&self) -> String {
        sse::event(Some(self.name), &self.data)
    }
}

/// Writes the events of one turn as items, in the order in which the model began them.
///
/// The last event has the whole response: a server that does not stream sends that alone.
///
/// ```
/// use unjinja_runtime::Event;
/// use unjinja_server::responses::{ResponseWriter, ResponsesRequest};
/// use unjinja_server::{CallIds, CallIdShape, Finish, Usage};
///
/// let request = ResponsesRequest::from_json(br#"{"model": "m", "input": "Hi", "stream": true}"#)?;
/// let mut writer = ResponseWriter::new("my-model", CallIds::new(CallIdShape::Free), &request);
/// let mut events = writer.start();
/// for event in [Event::Content("Hello, "), Event::Content("world!")] {
///     events.extend(writer.event(&event));
/// }
/// events.extend(writer.finish(&Finish::Stop, Some(Usage::new(5, 3))));
/// let names: Vec<&str> = events.iter().map(|event| event.name).collect();
/// assert_eq!(names, [
///     "response.created", "response.in_progress",
///     "response.output_item.added", "response.content_part.added",
///     "response.output_text.delta", "response.output_text.delta",
///     "response.output_text.done", "response.content_part.done", "response.output_item.done",
///     "response.completed",
/// ]);
/// let response = &events[9].data["response"];
/// assert_eq!(response["output"][0]["content"][0]["text"], "Hello, world!");
/// assert_eq!(response["usage"]["total_tokens"], 8);
/// # Ok::<(), unjinja_server::ApiError>(())
/// ```
#[derive(Debug)]
pub struct ResponseWriter {
    /// The response without its items.
    response: Map<String, Value>,
    called: CalledTools,
    reasoning_as_summary: bool,
    carries_reasoning: bool,
    write_diagnostics: bool,
    begun: bool,
    sequence: u64,
    /// The items; null while an item is open.
    output: Vec<Value>,
    text: Option<OpenText>,
    /// The tokens whose probabilities no text has yet, if they are wanted.
    tokens: Option<TokenQueue>,
    calls: CallWriter,
    /// The calls that are open, by their index.
    open: BTreeMap<usize, OpenCall>,
    /// Collects broken markup and diagnostics.
    told: Message,
}

/// An item that text is added to.
#[derive(Debug)]
struct OpenText {
    form: TextForm,
    at: usize,
    id: String,
    text: String,
    /// The probabilities of its tokens.
    logprobs: Vec<Value>,
}

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextForm {
    Answer,
    Reasoning,
    /// Reasoning in the place of its summary.
    Summary,
}

/// The names of the events for a text.
struct TextEvents {
    added: &'static str,
    delta: &'static str,
    text_done: &'static str,
    done: &'static str,
}

#[derive(Debug)]
struct OpenCall {
    at: usize,
    id: String,
    call_id: String,
    name: String,
    arguments: String,
}

impl ResponseWriter {
    /// A writer for one turn of this model. `call_ids` come from [`Prepared`](crate::Prepared).
    pub fn new(model: impl Into<String>, call_ids: CallIds, request: &ResponsesRequest) -> Self {
        let mut response = request.repeated.clone();
        let own = json!({
            "id": unique_id("resp_"), "object": "response", "created_at": now(), "model": model.into(),
            "status": "in_progress", "error": null, "incomplete_details": null, "usage": null, "store": false,
        });
        response.extend(own.as_object().cloned().unwrap_or_default());
        Self {
            response,
            called: request.called.clone(),
            reasoning_as_summary: request.reasoning_as_summary,
            carries_reasoning: request.carries_reasoning,
            write_diagnostics: false,
            begun: false,
            sequence: 0,
            output: Vec::new(),
            text: None,
            tokens: None,
            calls: CallWriter::new(call_ids),
            open: BTreeMap::new(),
            told: Message::default(),
        }
    }

    /// Whether the diagnostics are written, in a field `diagnostics` of the response.
    pub fn diagnostics(mut self, on: bool) -> Self {
        self.write_diagnostics = on;
        self
    }

    /// Whether the probabilities of the tokens of answers are written; [`logprobs`](Self::logprobs) says what they are.
    pub fn include_logprobs(mut self, on: bool) -> Self {
        self.tokens = on.then(TokenQueue::default);
        self
    }

    /// The probabilities of the tokens that come next, also of those of reasoning, calls and markup: an object for each, in OpenAI's form. The
    /// text of an answer gets those of its own tokens.
    pub fn logprobs(&mut self, tokens: Vec<Value>) {
        if let Some(known) = &mut self.tokens {
            known.push(tokens);
        }
    }

    /// Says that the response is kept, and may be named by later requests.
    pub fn stored(mut self, on: bool) -> Self {
        self.response.insert("store".to_owned(), on.into());
        self
    }

    /// The id of the response.
    pub fn id(&self) -> &str {
        self.response.get("id").and_then(Value::as_str).unwrap_or_default()
    }

    /// The first events. Without this call, they precede the first item.
    pub fn start(&mut self) -> Vec<ResponseEvent> {
        let mut events = Vec::new();
        self.begin(&mut events);
        events
    }

    /// The events for an event of the parser; often one.
    pub fn event(&mut self, event: &Event<'_>) -> Vec<ResponseEvent> {
        let mut events = Vec::new();
        match event {
            Event::Reasoning(text) => {
                let form = if self.reasoning_as_summary { TextForm::Summary } else { TextForm::Reasoning };
                self.add_text(form, text, &mut events);
            }
            Event::Content(text) => self.add_text(TextForm::Answer, text, &mut events),
            Event::Unparsed(_) | Event::Diagnostic(_) => self.told.apply(event),
            _ => {
                if let Some(tokens) = &mut self.tokens {
                    tokens.call();
                }
                for piece in self.calls.event(event) {
                    self.call(piece, &mut events);
                }
            }
        }
        events
    }

    /// The last events.
    pub fn finish(&mut self, finish: &Finish, usage: Option<Usage>) -> Vec<ResponseEvent> {
        let (status, name, why) = match finish {
            Finish::Length => ("incomplete", "response.incomplete", Some("max_output_tokens")),
            Finish::ContentFilter => ("incomplete", "response.incomplete", Some("content_filter")),
            Finish::Stop | Finish::StopSequence(_) => ("completed", "response.completed", None),
        };
        let mut events = Vec::new();
        self.end_items(status, &mut events);
        if self.output.is_empty() {
            // Clients expect a message, and send it back, so that the next prompt has its turn.
            self.open_text(TextForm::Answer, &mut events);
            self.end_items(status, &mut events);
        }
        self.set("status", status);
        self.set("incomplete_details", why.map(|reason| json!({"reason": reason})));
        self.set("usage", usage.map(usage_object));
        self.last(name, &mut events);
        events
    }

    /// The last events of a response that failed. What came before is incomplete.
    pub fn fail(&mut self, error: &ApiError) -> Vec<ResponseEvent> {
        let mut events = Vec::new();
        self.end_items("incomplete", &mut events);
        let code = error.code().unwrap_or(error.kind()).to_owned();
        self.set("status", "failed");
        self.set("error", json!({"code": code, "message": error.message()}));
        // Some clients read the error from the event itself, and others from a member of it.
        let mut said = json!({"code": code, "message": error.message(), "param": error.param()});
        let inner = json!({"type": error.kind(), "code": code, "message": error.message(), "param": error.param()});
        said["error"] = inner;
        self.push("error", said, &mut events);
        self.last("response.failed", &mut events);
        events
    }

    /// The response as it is now.
    pub fn response(&self) -> Value {
        let mut response = self.response.clone();
        response.insert("output".to_owned(), self.output.iter().filter(|item| !item.is_null()).cloned().collect());
        if !self.told.unparsed.is_empty() {
            response.insert("unparsed".to_owned(), self.told.unparsed.as_str().into());
        }
        if self.write_diagnostics && !self.told.diagnostics.is_empty() {
            response.insert("diagnostics".to_owned(), json!(self.told.diagnostics));
        }
        Value::Object(response)
    }

    fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.response.insert(key.to_owned(), value.into());
    }

    fn push(&mut self, name: &'static str, mut data: Value, events: &mut Vec<ResponseEvent>) {
        if let Value::Object(data) = &mut data {
            data.insert("type".to_owned(), name.into());
            data.insert("sequence_number".to_owned(), self.sequence.into());
        }
        self.sequence += 1;
        events.push(ResponseEvent { name, data });
    }

    fn begin(&mut self, events: &mut Vec<ResponseEvent>) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        for name in ["response.created", "response.in_progress"] {
            self.push(name, json!({"response": self.response()}), events);
        }
    }

    fn last(&mut self, name: &'static str, events: &mut Vec<ResponseEvent>) {
        self.begin(events);
        self.push(name, json!({"response": self.response()}), events);
    }

    /// Opens an item. Returns its place.
    fn add_item(&mut self, item: Value, events: &mut Vec<ResponseEvent>) -> usize {
        self.begin(events);
        let at = self.output.len();
        self.output.push(Value::Null);
        self.push("response.output_item.added", json!({"output_index": at, "item": item}), events);
        at
    }

    fn end_item(&mut self, at: usize, item: Value, events: &mut Vec<ResponseEvent>) {
        self.output[at] = item.clone();
        self.push("response.output_item.done", json!({"output_index": at, "item": item}), events);
    }

    fn end_items(&mut self, status: &str, events: &mut Vec<ResponseEvent>) {
        for piece in self.calls.finish() {
            self.call(piece, events);
        }
        self.close_text(status, events);
    }

    fn add_text(&mut self, form: TextForm, text: &str, events: &mut Vec<ResponseEvent>) {
        if text.is_empty() {
            return;
        }
        if self.text.as_ref().is_none_or(|open| open.form != form) {
            self.close_text("completed", events);
            self.open_text(form, events);
        }
        // Reasoning takes its tokens out of the queue too.
        let logprobs = self.tokens.as_mut().map(|tokens| tokens.take(text)).unwrap_or_default();
        let Some(open) = &mut self.text else { return };
        open.text.push_str(text);
        let mut data = open.place();
        data["delta"] = text.into();
        if form == TextForm::Answer {
            data["logprobs"] = json!(logprobs);
            open.logprobs.extend(logprobs);
        }
        self.push(form.events().delta, data, events);
    }

    fn open_text(&mut self, form: TextForm, events: &mut Vec<ResponseEvent>) {
        let id = unique_id(if form == TextForm::Answer { "msg_" } else { "rs_" });
        let mut open = OpenText { form, at: 0, id, text: String::new(), logprobs: Vec::new() };
        open.at = self.add_item(open.item("in_progress", false, false), events);
        let mut data = open.place();
        data["part"] = form.part("", &[]);
        self.push(form.events().added, data, events);
        self.text = Some(open);
    }

    fn close_text(&mut self, status: &str, events: &mut Vec<ResponseEvent>) {
        let Some(open) = self.text.take() else { return };
        let (names, place) = (open.form.events(), open.place());
        let with = |key: &str, value: Value| {
            let mut data = place.clone();
            data[key] = value;
            data
        };
        let mut done = with("text", open.text.as_str().into());
        if open.form == TextForm::Answer {
            done["logprobs"] = json!(open.logprobs);
        }
        self.push(names.text_done, done, events);
        self.push(names.done, with("part", open.form.part(&open.text, &open.logprobs)), events);
        self.end_item(open.at, open.item(status, true, self.carries_reasoning), events);
    }

    fn call(&mut self, piece: CallPiece, events: &mut Vec<ResponseEvent>) {
        match piece {
            CallPiece::Start { index, id, name } => {
                self.close_text("completed", events);
                let item_id = unique_id(if self.called.is_custom(&name) { "ctc_" } else { "fc_" });
                let mut open = OpenCall { at: 0, id: item_id, call_id: id, name, arguments: String::new() };
                open.at = self.add_item(open.item(self.called.get(&open.name), "in_progress"), events);
                self.open.insert(index, open);
            }
            CallPiece::Arguments { index, json } => {
                let Some(open) = self.open.get_mut(&index) else { return };
                open.arguments.push_str(&json);
                if !self.called.is_custom(&open.name) {
                    let data = json!({"item_id": open.id, "output_index": open.at, "delta": json});
                    self.push("response.function_call_arguments.delta", data, events);
                }
            }
            CallPiece::End { index, complete } => {
                let Some(open) = self.open.remove(&index) else { return };
                let place = json!({"item_id": open.id, "output_index": open.at});
                let with = |key: &str, text: &str| {
                    let mut data = place.clone();
                    data[key] = text.into();
                    data
                };
                if self.called.is_custom(&open.name) {
                    // It is known only now whether the arguments are the one text.
                    let input = input_of(&open.arguments);
                    self.push("response.custom_tool_call_input.delta", with("delta", &input), events);
                    self.push("response.custom_tool_call_input.done", with("input", &input), events);
                } else {
                    let mut data = with("arguments", &open.arguments);
                    data["name"] = open.name.as_str().into();
                    self.push("response.function_call_arguments.done", data, events);
                }
                let status = if complete { "completed" } else { "incomplete" };
                self.end_item(open.at, open.item(self.called.get(&open.name), status), events);
            }
        }
    }
}

impl TextForm {
    fn events(self) -> TextEvents {
        match self {
            Self::Answer => TextEvents {
                added: "response.content_part.added",
                delta: "response.output_text.delta",
                text_done: "response.output_text.done",
                done: "response.content_part.done",
            },
            Self::Reasoning => TextEvents {
                added: "response.content_part.added",
                delta: "response.reasoning_text.delta",
                text_done: "response.reasoning_text.done",
                done: "response.content_part.done",
            },
            Self::Summary => TextEvents {
                added: "response.reasoning_summary_part.added",
                delta: "response.reasoning_summary_text.delta",
                text_done: "response.reasoning_summary_text.done",
                done: "response.reasoning_summary_part.done",
            },
        }
    }

    /// The part of an item that holds the text.
    fn part(self, text: &str, logprobs: &[Value]) -> Value {
        match self {
            Self::Answer => json!({"type": "output_text", "text": text, "annotations": [], "logprobs": logprobs}),
            Self::Reasoning => json!({"type": "reasoning_text", "text": text}),
            Self::Summary => json!({"type": "summary_text", "text": text}),
        }
    }
}

impl OpenText {
    /// The place of the text in the response.
    fn place(&self) -> Value {
        let part = if self.form == TextForm::Summary { "summary_index" } else { "content_index" };
        json!({"item_id": self.id, "output_index": self.at, part: 0})
    }

    /// The item, with its text or before it. `carried` says that reasoning comes back from the client.
    fn item(&self, status: &str, has_text: bool, carried: bool) -> Value {
        let parts: Vec<Value> = has_text.then(|| self.form.part(&self.text, &self.logprobs)).into_iter().collect();
        let mut item = match self.form {
            TextForm::Answer => json!({"type": "message", "role": "assistant", "content": parts}),
            TextForm::Reasoning => json!({"type": "reasoning", "summary": [], "content": parts}),
            TextForm::Summary => json!({"type": "reasoning", "summary": parts}),
        };
        item["id"] = self.id.as_str().into();
        item["status"] = status.into();
        if self.form != TextForm::Answer && carried {
            item["encrypted_content"] = format!("{OPEN_REASONING}{}", self.text).into();
        }
        item
    }
}

impl OpenCall {
    fn item(&self, kind: Option<&ToolKind>, status: &str) -> Value {
        let (name, arguments) = (self.name.as_str(), self.arguments.as_str());
        let mut item = match kind {
            Some(ToolKind::Custom) => json!({"type": "custom_tool_call", "name": name, "input": input_of(arguments)}),
            Some(ToolKind::InNamespace { namespace, name }) => {
                json!({"type": "function_call", "namespace": namespace, "name": name, "arguments": arguments})
            }
            None => json!({"type": "function_call", "name": name, "arguments": arguments}),
        };
        item["id"] = self.id.as_str().into();
        item["call_id"] = self.call_id.as_str().into();
        item["status"] = status.into();
        item
    }
}

fn usage_object(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input, "input_tokens_details": {"cached_tokens": usage.cached.unwrap_or_default()},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning.unwrap_or_default()},
        "total_tokens": usage.input.saturating_add(usage.output),
    })
}
