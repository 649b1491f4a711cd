//! What a stream reads, in the forms of OpenAI and Anthropic.

use std::cell::RefCell;
use std::rc::Rc;

use serde::Serialize;
use serde_json::Value;
use unjinja_dynamic::Event;
use unjinja_server::anthropic::{ContentBlock, EventWriter, StreamEvent};
use unjinja_server::openai::{ChunkWriter, ReasoningName};
use unjinja_server::{CallIds, Finish, Usage, unique_id};

use crate::arguments::{Arguments, expected};
use crate::failure::Failure;
use crate::turn::{Step, TurnReader};

/// The forms.
enum Form {
    OpenAi { reasoning: ReasoningName, include_usage: bool },
    Anthropic,
}

/// The writer of one answer.
enum Writer {
    OpenAi(ChunkWriter),
    Anthropic(EventWriter),
}

/// Writes what a stream reads. A push after the end begins another answer, with a writer of its own.
pub(crate) struct Chunks {
    turn: Rc<RefCell<TurnReader>>,
    form: Form,
    model: String,
    diagnostics: bool,
    /// The ids of calls, for a conversation without calls.
    call_ids: CallIds,
    /// The ids of the calls before the answer, and of its own.
    used: Vec<String>,
    /// The id of the first answer, if the caller gave one.
    id: Option<String>,
    created: Option<u64>,
    writer: Option<Writer>,
    /// The number of the answer in the turn.
    answer: u64,
    /// Its last chunk was written.
    closed: bool,
}

impl Chunks {
    /// A writer of `form`, which is `openai` or `anthropic`.
    pub(crate) fn new(turn: &Rc<RefCell<TurnReader>>, form: &str, arguments: &mut Arguments) -> Result<Self, Failure> {
        let model = turn.borrow().model.clone();
        let form = match form {
            "openai" => Form::OpenAi {
                reasoning: reasoning_name(arguments.text("reasoning")?.as_deref())?,
                include_usage: arguments.flag("includeUsage")?.unwrap_or(false),
            },
            _ => Form::Anthropic,
        };
        let created = if matches!(form, Form::OpenAi { .. }) { arguments.number("created")? } else { None };
        Ok(Self {
            turn: Rc::clone(turn),
            form,
            model: arguments.text("model")?.unwrap_or_else(|| model.name().to_owned()),
            diagnostics: arguments.flag("diagnostics")?.unwrap_or(false),
            call_ids: CallIds::of(model.spec()),
            used: arguments.texts("callIds")?.unwrap_or_default(),
            id: arguments.text("id")?,
            created,
            writer: None,
            answer: 0,
            closed: false,
        })
    }

    fn new_writer(&mut self, now: u64) -> Writer {
        let ids = self.call_ids.clone().after(&self.used);
        let (id, created) = (self.id.take(), self.created.take());
        let id = |prefix| id.unwrap_or_else(|| unique_id(prefix));
        match self.form {
            Form::OpenAi { reasoning, include_usage } => Writer::OpenAi(
                ChunkWriter::new(&*self.model, ids)
                    .id(id("chatcmpl-"))
                    .created(created.unwrap_or(now))
                    .reasoning(reasoning)
                    .include_usage(include_usage)
                    .diagnostics(self.diagnostics),
            ),
            Form::Anthropic => {
                Writer::Anthropic(EventWriter::new(&*self.model, ids).id(id("msg_")).diagnostics(self.diagnostics))
            }
        }
    }

    /// Runs a step at this time, in seconds since 1970. Returns the chunks as a list in JSON.
    pub(crate) fn step(&mut self, step: Step<'_>, end: Option<(&Finish, Option<Usage>)>, now: u64) -> String {
        let turn = Rc::clone(&self.turn);
        let mut turn = turn.borrow_mut();
        let answer = turn.begin(step);
        let mut writer = match self.writer.take() {
            Some(writer) if answer == self.answer => writer,
            _ => {
                self.closed = false;
                self.new_writer(now)
            }
        };
        self.answer = answer;
        let mut list = List::default();
        let used = &mut self.used;
        turn.run(step, |event| writer.event(event, &mut list, used));
        if let Some((finish, usage)) = end.filter(|_| !self.closed) {
            self.closed = true;
            writer.finish(finish, usage, &mut list);
        }
        self.writer = Some(writer);
        list.text()
    }
}

/// A list in JSON that is being written.
#[derive(Default)]
struct List(String);

impl List {
    fn add<T: Serialize>(&mut self, items: &[T]) {
        for item in items {
            // What the writers make has a form in JSON: texts and numbers.
            let Ok(text) = serde_json::to_string(item) else { continue };
            self.0.push(if self.0.is_empty() { '[' } else { ',' });
            self.0.push_str(&text);
        }
    }

    fn text(mut self) -> String {
        if self.0.is_empty() {
            self.0.push('[');
        }
        self.0.push(']');
        self.0
    }
}

impl Writer {
    fn event(&mut self, event: &Event<'_>, list: &mut List, used: &mut Vec<String>) {
        match self {
            Self::OpenAi(writer) => {
                let written = writer.event(event);
                let deltas =
                    written.iter().flat_map(|chunk| &chunk.choices).flat_map(|choice| &choice.delta.tool_calls);
                used.extend(deltas.filter_map(|call| call.id.clone()));
                list.add(&written);
            }
            Self::Anthropic(writer) => {
                let written = writer.event(event);
                used.extend(written.iter().filter_map(|event| match event {
                    StreamEvent::ContentBlockStart { content_block: ContentBlock::ToolUse { id, .. }, .. } => {
                        Some(id.clone())
                    }
                    _ => None,
                }));
                list.add(&written);
            }
        }
    }

    fn finish(&mut self, finish: &Finish, usage: Option<Usage>, list: &mut List) {
        match self {
            Self::OpenAi(writer) => list.add(&writer.finish(finish, usage)),
            Self::Anthropic(writer) => list.add(&writer.finish(finish, usage.unwrap_or_default())),
        }
    }
}

/// The name of the field for reasoning.
fn reasoning_name(name: Option<&str>) -> Result<ReasoningName, Failure> {
    let Some(name) = name else { return Ok(ReasoningName::default()) };
    let names = [ReasoningName::ReasoningContent, ReasoningName::Reasoning];
    names.into_iter().find(|known| known.field() == name).ok_or_else(|| {
        Failure::request(format!("reasoning: {name:?} is unknown; use \"reasoning_content\" or \"reasoning\""))
    })
}

/// Why the output ended, in the words of an engine.
pub(crate) fn finish_reason(arguments: &mut Arguments) -> Result<Finish, Failure> {
    let reason = arguments.text("finishReason")?.unwrap_or_else(|| "stop".to_owned());
    if Finish::is_failure(&reason) {
        let text = format!("finishReason: {reason:?} says that the engine gave up; tell the client of an error");
        return Err(Failure::request(text));
    }
    const STOPS: [&str; 7] = ["stop", "eos", "eos_token", "end_turn", "tool_calls", "tool_use", "function_call"];
    match Finish::from_reason(&reason) {
        Finish::Stop if !STOPS.contains(&&*reason) => {
            let next = "use \"stop\", \"length\" or \"content_filter\"";
            Err(Failure::request(format!("finishReason: {reason:?} is unknown; {next}")))
        }
        finish => Ok(finish),
    }
}

/// How many tokens the turn took.
pub(crate) fn usage(arguments: &mut Arguments) -> Result<Option<Usage>, Failure> {
    let Some(value) = arguments.value("usage") else { return Ok(None) };
    let count = |one: &str, other: &str| value.get(one).or_else(|| value.get(other)).and_then(Value::as_u64);
    match (count("prompt_tokens", "input_tokens"), count("completion_tokens", "output_tokens")) {
        (Some(input), Some(output)) => Ok(Some(Usage::new(input, output))),
        _ => Err(expected("usage", "an object with the numbers prompt_tokens and completion_tokens", &value)),
    }
}
