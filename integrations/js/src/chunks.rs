//! What a stream reads, in the forms of OpenAI and Anthropic.

use std::cell::RefCell;
use std::rc::Rc;

use serde::Serialize;
use serde_json::Value;
use unjinja_bindings::{Chunks, Form, Step, Written, finish, reasoning_name};
use unjinja_server::openai::ReasoningName;
use unjinja_server::{Finish, Usage};

use crate::arguments::{Arguments, expected};
use crate::failure::Failure;
use crate::turn::TurnObject;

/// Writes what a stream reads.
pub(crate) struct ChunksObject {
    turn: Rc<RefCell<TurnObject>>,
    chunks: Chunks,
}

impl ChunksObject {
    /// A writer of `form`, which is `openai` or `anthropic`.
    pub(crate) fn new(turn: &Rc<RefCell<TurnObject>>, form: &str, arguments: &mut Arguments) -> Result<Self, Failure> {
        let form = match form {
            "openai" => Form::OpenAi {
                reasoning: match arguments.text("reasoning")? {
                    Some(name) => reasoning_name(&name)?,
                    None => ReasoningName::default(),
                },
                include_usage: arguments.flag("includeUsage")?.unwrap_or(false),
                created: arguments.number("created")?,
            },
            _ => Form::Anthropic,
        };
        let chunks = Chunks::new(turn.borrow().reader.model(), form, arguments.text("model")?)
            .diagnostics(arguments.flag("diagnostics")?.unwrap_or(false))
            .after(arguments.texts("callIds")?.unwrap_or_default())
            .id(arguments.text("id")?);
        Ok(Self { turn: Rc::clone(turn), chunks })
    }

    /// Runs a step at this time, in seconds since 1970. Returns the chunks as a list in JSON.
    pub(crate) fn step(&mut self, step: Step<'_>, end: Option<(&Finish, Option<Usage>)>, now: u64) -> String {
        let mut list = List::default();
        self.chunks.step(&mut self.turn.borrow_mut().reader, step, end, Some(now), |written| match written {
            Written::OpenAi(chunks) => list.add(&chunks),
            Written::Anthropic(events) => list.add(&events),
        });
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

/// Why the output ended, in the words of an engine.
pub(crate) fn finish_reason(arguments: &mut Arguments) -> Result<Finish, Failure> {
    let reason = arguments.text("finishReason")?;
    Ok(finish("finishReason", reason.as_deref().unwrap_or("stop"))?)
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
