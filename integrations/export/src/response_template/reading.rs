//! What a server gives its user of an output: the message that each reader makes of what the executor finds.
//!
//! transformers gives the fields of the template. vLLM and SGLang stream: content and reasoning are the pieces of text as they
//! came, so their white space is not trimmed, and nothing replaces anything. SGLang reads every output twice, first for
//! reasoning and then, in what is left, for calls.

use serde_json::{Value as Json, json};
use unjinja_runtime::Message;

use super::dialect::Dialect;
use super::error::ReadError;
use super::executor::{Event, Executor};
use super::pattern::expansions;
use super::schema::{Anchor, Content, Field, ResponseTemplate, Transform};
use super::transform;
use super::value::{Dict, Value};

const CONTENT: &str = "content";
const CALLS: &str = "tool_calls";
/// The field of text that is passed on, in templates that are made of the user's template.
const NORMAL: &str = "normal";
const MEMBERS: &str = "members";

/// The message that a reader makes of an output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// The reasoning; empty without reasoning.
    pub reasoning: String,
    /// The answer; empty without an answer.
    pub content: String,
    /// The calls.
    pub calls: Vec<ReadCall>,
    /// Regions that were dropped: why, each.
    pub dropped: Vec<String>,
    /// transformers: all fields of the message.
    pub fields: Dict,
}

impl Reading {
    /// The message as JSON: `reasoning_content`, `content`, and `tool_calls` with `name` and `arguments` each.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let calls = self.calls.iter().map(|call| (call.name.as_str(), call.arguments.as_str()));
        as_json(&self.reasoning, &self.content, calls)
    }
}

/// The message that was written, in the form of [`Reading::to_json`]: without what readers do not give.
#[must_use]
pub fn written_json(message: &Message) -> Json {
    let calls = message.tool_calls.iter().map(|call| (call.name.as_str(), call.arguments.as_str()));
    as_json(&message.reasoning_content, &message.content, calls)
}

fn as_json<'m>(reasoning: &str, content: &str, calls: impl Iterator<Item = (&'m str, &'m str)>) -> Json {
    let calls: Vec<Json> = calls.map(|(name, arguments)| json!({"name": name, "arguments": arguments})).collect();
    json!({"reasoning_content": reasoning, "content": content, "tool_calls": calls})
}

/// A call that a reader found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadCall {
    /// The function's name.
    pub name: String,
    /// The arguments as JSON text.
    pub arguments: String,
}

/// Reads a whole output as a reader does. The prompt says where the output begins; without one, it is the whole turn. The
/// tools are in OpenAI's form.
///
/// ```
/// use unjinja_export::response_template::{Dialect, ResponseTemplate, read};
///
/// let template = ResponseTemplate::from_json(&serde_json::json!({
///     "start_anchor": "<assistant>",
///     "fields": {
///         "content": {"close": "<end>"},
///         "tool_calls": {
///             "open": "<call>", "close": "</call>", "repeats": true, "content": "json", "transform": {"function": "{content}"}
///         }
///     }
/// }))?;
/// let output = r#"One moment.<call>{"name": "f", "arguments": {"a": 1}}</call>Done.<end>"#;
/// let reading = read(&template, Dialect::Vllm, "", output, &[])?;
/// assert_eq!((reading.content.as_str(), reading.calls[0].arguments.as_str()), ("One moment.Done.", "{\"a\": 1}"));
/// // Here the second region replaces the first one.
/// assert_eq!(read(&template, Dialect::Transformers, "", output, &[])?.content, "Done.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// A region cannot be read, and the reader raises that. A pattern runs away.
pub fn read(
    template: &ResponseTemplate,
    dialect: Dialect,
    prompt: &str,
    output: &str,
    tools: &[Json],
) -> Result<Reading, ReadError> {
    read_pieces(template, dialect, prompt, &[output], tools)
}

/// The same for an output that arrives in pieces, as a server streams it. A template whose markers overlap may give another
/// message then: a reader takes a marker as soon as it is certain that it is one.
///
/// # Errors
///
/// Those of [`read`].
pub fn read_pieces(
    template: &ResponseTemplate,
    dialect: Dialect,
    prompt: &str,
    pieces: &[&str],
    tools: &[Json],
) -> Result<Reading, ReadError> {
    match dialect {
        Dialect::Transformers | Dialect::Transformers523 => of_fields(template, dialect, prompt, pieces, tools),
        Dialect::Vllm => {
            let template = streaming(template);
            let run = Run::new(&template, dialect, prompt, pieces, tools)?;
            Ok(of_events(run.events()))
        }
        Dialect::Sglang => in_two_steps(template, prompt, pieces, tools),
    }
}

/// What transformers gives: the fields of the template.
fn of_fields(
    template: &ResponseTemplate,
    dialect: Dialect,
    prompt: &str,
    pieces: &[&str],
    tools: &[Json],
) -> Result<Reading, ReadError> {
    let mut executor = Executor::new(template, dialect, prompt, tools)?;
    for piece in pieces {
        executor.feed(piece)?;
    }
    let (fields, _) = executor.finish()?;
    let text = |name: &str| fields.get(name).and_then(Value::as_text).map(str::to_owned);
    let mut reading = Reading {
        reasoning: dialect.reasoning_fields().iter().find_map(|name| text(name)).unwrap_or_default(),
        content: text(CONTENT).unwrap_or_default(),
        ..Reading::default()
    };
    let found = match fields.get(CALLS) {
        Some(Value::List(items)) => items.as_slice(),
        _ => &[],
    };
    for value in found {
        match call(value) {
            Some(call) => reading.calls.push(call),
            None => reading.dropped.push("a value of `tool_calls` is no call".to_owned()),
        }
    }
    reading.fields = fields;
    Ok(reading)
}

/// A call of a value with the members that all readers want.
fn call(value: &Value) -> Option<ReadCall> {
    let function = value.get("function")?;
    let name = function.get("name")?.as_text()?.to_owned();
    let arguments = match function.get("arguments")? {
        Value::Text(text) => text.clone(),
        other => other.to_string(),
    };
    Some(ReadCall { name, arguments })
}

/// One output that was read, with what happened.
struct Run<'t> {
    executor: Executor<'t>,
    /// What happened with each piece, and at the end.
    steps: Vec<Vec<Event>>,
    /// Whether the prompt left a region of calls open.
    opened_by_prompt: Option<Event>,
}

impl<'t> Run<'t> {
    fn new(
        template: &'t ResponseTemplate,
        dialect: Dialect,
        prompt: &str,
        pieces: &[&str],
        tools: &[Json],
    ) -> Result<Self, ReadError> {
        let mut executor = Executor::new(template, dialect, prompt, tools)?;
        let of_calls = |event: &&Event| event.field() == CALLS && !matches!(event, Event::Chunk { .. });
        let opened = executor.initial_events().iter().rev().find(of_calls);
        let opened_by_prompt = opened.filter(|event| matches!(event, Event::Open { .. })).cloned();
        let mut steps = pieces.iter().map(|piece| executor.feed(piece)).collect::<Result<Vec<_>, _>>()?;
        let rest = closer_rest(template, &executor);
        steps.push(executor.feed(&rest)?);
        // The end consumes the executor; what was read is still needed.
        steps.push(executor.clone().finish()?.1);
        Ok(Self { executor, steps, opened_by_prompt })
    }

    fn events(&self) -> impl Iterator<Item = &Event> {
        self.steps.iter().flatten()
    }
}

impl Event {
    fn field(&self) -> &str {
        match self {
            Event::Open { field, .. }
            | Event::Chunk { field, .. }
            | Event::Close { field, .. }
            | Event::Malformed { field, .. } => field,
        }
    }
}

/// The rest of a closing marker in which the output stops, where only the start of the next message is missing.
fn closer_rest(template: &ResponseTemplate, executor: &Executor<'_>) -> String {
    let Some(Field { close: Some(Anchor { literals: Some(closers), .. }), .. }) = executor.open_field() else {
        return String::new();
    };
    let text = executor.open_text();
    let starts = match &template.start_anchor.literals {
        Some(literals) => literals.clone(),
        None => {
            let known = expansions(template.start_anchor.pattern.node()).unwrap_or_default();
            known.into_iter().filter(|text| text.is_text() && !text.has_space()).map(|text| text.text()).collect()
        }
    };
    for closer in closers {
        for start in
            starts.iter().filter(|start| !start.is_empty() && closer.ends_with(start.as_str()) && closer != *start)
        {
            let cuts = (closer.len() - start.len()..closer.len()).rev().filter(|cut| closer.is_char_boundary(*cut));
            for cut in cuts {
                if text.ends_with(&closer[..cut]) {
                    return closer[cut..].to_owned();
                }
            }
        }
    }
    String::new()
}

/// The template with which vLLM and SGLang read: all fields are optional, and without a field that takes the rest, it is
/// content.
fn streaming(template: &ResponseTemplate) -> ResponseTemplate {
    let mut template = template.clone();
    if template.field(CONTENT).is_none() && template.implicit.is_none() {
        template.implicit = Some(template.fields.len());
        template.fields.push(rest(CONTENT));
    }
    for field in &mut template.fields {
        field.optional = true;
    }
    template
}

/// A field that takes the rest.
fn rest(name: &str) -> Field {
    Field {
        name: name.to_owned(),
        open: None,
        close: None,
        content: Content::Text { strip: true },
        repeats: false,
        join: None,
        optional: true,
        transform: None,
        transform_each: false,
    }
}

/// What vLLM gives.
fn of_events<'e>(events: impl Iterator<Item = &'e Event>) -> Reading {
    let mut reading = Reading::default();
    for event in events {
        match event {
            Event::Chunk { field, text, .. } if field == Dialect::Vllm.reasoning_field() => {
                reading.reasoning.push_str(text)
            }
            Event::Chunk { field, text, .. } if field == CONTENT => reading.content.push_str(text),
            Event::Malformed { field, error, .. } if field == CALLS => reading.dropped.push(error.to_string()),
            Event::Close { field, value, .. } if field == CALLS => {
                let values = match value {
                    Value::List(items) => items.as_slice(),
                    one => std::slice::from_ref(one),
                };
                let has_arguments = |value: &&Value| {
                    let function = value.get("function");
                    function.and_then(|function| function.get("arguments")).is_some_and(|value| *value != Value::Null)
                };
                let calls: Option<Vec<ReadCall>> =
                    values.iter().map(|value| call(Some(value).filter(has_arguments)?)).collect();
                match calls.filter(|calls| calls.iter().all(|call| !call.name.is_empty())) {
                    Some(calls) => reading.calls.extend(calls),
                    None => reading.dropped.push("a region holds a call without name or arguments".to_owned()),
                }
            }
            _ => {}
        }
    }
    reading
}

/// What SGLang gives.
fn in_two_steps(
    template: &ResponseTemplate,
    prompt: &str,
    pieces: &[&str],
    tools: &[Json],
) -> Result<Reading, ReadError> {
    let dialect = Dialect::Sglang;
    let first = streaming(template);
    let run = Run::new(&first, dialect, prompt, pieces, tools)?;
    let mut reading = Reading::default();
    let mut passed_on = Vec::new();
    for step in &run.steps {
        passed_on.push(without_reasoning(step, &run.executor, &mut reading.reasoning));
    }
    let Some(second) = only_calls(template) else {
        reading.content = passed_on.concat();
        return Ok(reading);
    };
    let each = template.field(CALLS).filter(|field| field.transform_each).and_then(|field| field.transform.as_ref());
    let passed_on: Vec<&str> = passed_on.iter().map(String::as_str).collect();
    let run = Run::new(&second, dialect, prompt, &passed_on, tools)?;
    let mut captures: Vec<(String, String)> = Vec::new();
    for event in run.opened_by_prompt.iter().chain(run.events()) {
        match event {
            Event::Chunk { field, text, .. } if field == NORMAL => reading.content.push_str(text),
            Event::Open { field, captures: found, .. } if field == CALLS => captures.clone_from(found),
            Event::Malformed { field, error, .. } if field == CALLS => reading.dropped.push(error.to_string()),
            Event::Close { field, marker, .. } if field == CALLS && is_cut(&run.executor, &second, marker.start) => {
                reading.dropped.push("a call has no closing marker".to_owned());
            }
            Event::Close { field, value, .. } if field == CALLS => {
                let values = match each {
                    Some(each) => members(value, each, &captures, &run.executor, template),
                    None => match value {
                        Value::List(items) => items.clone(),
                        one => vec![one.clone()],
                    },
                };
                for value in &values {
                    match call(value) {
                        Some(call) if run.executor.tools().has(&call.name) => reading.calls.push(call),
                        Some(call) => reading.dropped.push(format!("no tool called {:?} was offered", call.name)),
                        None => reading.dropped.push("a region holds a call without name or arguments".to_owned()),
                    }
                }
            }
            _ => {}
        }
    }
    Ok(reading)
}

/// The text that SGLang's reader of reasoning passes on to the reader of calls. The reasoning is added to what is known of it.
fn without_reasoning(events: &[Event], executor: &Executor<'_>, reasoning: &mut String) -> String {
    let mut passed_on = String::new();
    for event in events {
        let field = event.field();
        match event {
            Event::Chunk { text, .. } if field == Dialect::Sglang.reasoning_field() => reasoning.push_str(text),
            Event::Chunk { text, .. } if field == CONTENT || field == CALLS => passed_on.push_str(text),
            Event::Open { marker, .. } | Event::Close { marker, .. } | Event::Malformed { marker, .. }
                if field == CALLS =>
            {
                let start = marker.start.max(executor.prefix_len());
                passed_on.push_str(executor.input().get(start..marker.end).unwrap_or_default());
            }
            _ => {}
        }
    }
    passed_on
}

/// The template that finds calls in what is left after the reasoning; `None` if there are no calls.
fn only_calls(template: &ResponseTemplate) -> Option<ResponseTemplate> {
    let mut calls = template.field(CALLS)?.clone();
    calls.optional = true;
    if calls.transform_each {
        // The members are transformed one by one, so that one that cannot be is dropped alone.
        calls.transform_each = false;
        let content = Transform::Placeholder(CONTENT.to_owned(), Vec::new());
        calls.transform = Some(Transform::Dict(vec![(MEMBERS.to_owned(), content)]));
    }
    Some(ResponseTemplate {
        defaults: Dict::default(),
        start_anchor: template.start_anchor.clone(),
        fields: vec![rest(NORMAL), calls],
        implicit: Some(0),
    })
}

/// Whether the closing marker of a call is missing at the end of the output.
fn is_cut(executor: &Executor<'_>, template: &ResponseTemplate, at: usize) -> bool {
    let text = executor.input();
    let close = template.field(CALLS).and_then(|field| field.close.as_ref());
    at == text.len() && close.is_some_and(|close| !matches!(close.pattern.search(text, at), Ok(Some(_))))
}

/// The calls in a region with several, without those that cannot be transformed.
fn members(
    value: &Value,
    each: &Transform,
    captures: &[(String, String)],
    executor: &Executor<'_>,
    template: &ResponseTemplate,
) -> Vec<Value> {
    let Some(Value::List(items)) = value.get(MEMBERS) else { return Vec::new() };
    let is_json = template.field(CALLS).is_some_and(|field| field.content.is_json());
    let made = items.iter().filter_map(|item| {
        let Value::Dict(item) = item else { return None };
        let mut scope = Dict::default();
        for (name, text) in captures {
            scope.set(name, Value::Text(text.clone()));
        }
        for (key, value) in item.iter() {
            scope.set(key, value.clone());
        }
        let mut call = transform::apply(each, &scope).ok()?;
        executor.tools().give(&mut call, is_json).ok()?;
        Some(call)
    });
    made.collect()
}
