//! What a stream reads, in the forms of OpenAI and Anthropic.

use unjinja_dynamic::{CallIds, Event, Model};
use unjinja_server::anthropic::{ContentBlock, EventWriter, StreamEvent};
use unjinja_server::openai::{ChatCompletionChunk, ChunkWriter, ReasoningName};
use unjinja_server::{Finish, Usage};

use crate::turn::{Step, TurnReader};

/// The forms.
pub enum Form {
    /// Chunks of a completion.
    OpenAi {
        /// The field for reasoning.
        reasoning: ReasoningName,
        /// Whether the last chunk says how many tokens were used.
        include_usage: bool,
        /// When the first answer was begun, in seconds since 1970.
        created: Option<u64>,
    },
    /// Events of a message.
    Anthropic,
}

/// What was written.
pub enum Written {
    /// Chunks of a completion.
    OpenAi(Vec<ChatCompletionChunk>),
    /// Events of a message.
    Anthropic(Vec<StreamEvent>),
}

/// The writer of one answer.
enum Writer {
    OpenAi(ChunkWriter),
    Anthropic(EventWriter),
}

/// Writes what a stream reads. A push after the end begins another answer, with a writer of its own.
pub struct Chunks {
    form: Form,
    model: String,
    diagnostics: bool,
    /// The ids of calls, for a conversation without calls.
    call_ids: CallIds,
    /// The ids of the calls before the answer, and of its own.
    used: Vec<String>,
    /// The id of the first answer, if the caller gave one.
    id: Option<String>,
    writer: Option<Writer>,
    /// The number of the answer in the turn.
    answer: u64,
    /// Its last chunk was written.
    closed: bool,
}

impl Chunks {
    /// A writer for the turns of this model, which calls it `name`, or as its spec does.
    pub fn new(model: &Model, form: Form, name: Option<String>) -> Self {
        Self {
            form,
            model: name.unwrap_or_else(|| model.name().to_owned()),
            diagnostics: false,
            call_ids: CallIds::of(model.spec()),
            used: Vec::new(),
            id: None,
            writer: None,
            answer: 0,
            closed: false,
        }
    }

    /// The id of the first answer. The default is a new one, as others have.
    #[must_use]
    pub fn id(mut self, id: Option<String>) -> Self {
        self.id = id;
        self
    }

    /// Whether diagnostics are written, which these APIs do not know.
    #[must_use]
    pub fn diagnostics(mut self, on: bool) -> Self {
        self.diagnostics = on;
        self
    }

    /// The ids of the earlier calls in the conversation.
    #[must_use]
    pub fn after(mut self, call_ids: Vec<String>) -> Self {
        self.used = call_ids;
        self
    }

    /// The name of the model.
    pub fn model(&self) -> &str {
        &self.model
    }

    fn new_writer(&mut self, now: Option<u64>) -> Writer {
        let ids = self.call_ids.clone().after(&self.used);
        let id = self.id.take();
        match &mut self.form {
            Form::OpenAi { reasoning, include_usage, created } => {
                let writer = ChunkWriter::new(&*self.model, ids)
                    .reasoning(*reasoning)
                    .include_usage(*include_usage)
                    .diagnostics(self.diagnostics);
                let writer = match id {
                    Some(id) => writer.id(id),
                    None => writer,
                };
                Writer::OpenAi(match created.take().or(now) {
                    Some(seconds) => writer.created(seconds),
                    None => writer,
                })
            }
            Form::Anthropic => {
                let writer = EventWriter::new(&*self.model, ids).diagnostics(self.diagnostics);
                Writer::Anthropic(match id {
                    Some(id) => writer.id(id),
                    None => writer,
                })
            }
        }
    }

    /// Runs a step of the turn. `now` is the time in seconds since 1970, where there is no clock.
    pub fn step(
        &mut self,
        turn: &mut TurnReader,
        step: Step<'_>,
        end: Option<(&Finish, Option<Usage>)>,
        now: Option<u64>,
        mut sink: impl FnMut(Written),
    ) {
        let answer = turn.begin(&step);
        let mut writer = match self.writer.take() {
            Some(writer) if answer == self.answer => writer,
            _ => {
                self.closed = false;
                self.new_writer(now)
            }
        };
        self.answer = answer;
        let used = &mut self.used;
        turn.run(step, |event| sink(writer.event(event, used)));
        if let Some((finish, usage)) = end.filter(|_| !self.closed) {
            self.closed = true;
            sink(writer.finish(finish, usage));
        }
        self.writer = Some(writer);
    }
}

impl Writer {
    fn event(&mut self, event: &Event<'_>, used: &mut Vec<String>) -> Written {
        match self {
            Self::OpenAi(writer) => {
                let written = writer.event(event);
                let deltas =
                    written.iter().flat_map(|chunk| &chunk.choices).flat_map(|choice| &choice.delta.tool_calls);
                used.extend(deltas.filter_map(|call| call.id.clone()));
                Written::OpenAi(written)
            }
            Self::Anthropic(writer) => {
                let written = writer.event(event);
                used.extend(written.iter().filter_map(|event| match event {
                    StreamEvent::ContentBlockStart { content_block: ContentBlock::ToolUse { id, .. }, .. } => {
                        Some(id.clone())
                    }
                    _ => None,
                }));
                Written::Anthropic(written)
            }
        }
    }

    fn finish(&mut self, finish: &Finish, usage: Option<Usage>) -> Written {
        match self {
            Self::OpenAi(writer) => Written::OpenAi(writer.finish(finish, usage)),
            Self::Anthropic(writer) => Written::Anthropic(writer.finish(finish, usage.unwrap_or_default())),
        }
    }
}
