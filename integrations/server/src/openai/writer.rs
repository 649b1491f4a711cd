//! Writes the events of a parser as chunks.

use serde_json::Value;
use unjinja_runtime::{Event, Message};

use super::chunk::{
    ChatCompletionChunk, ChunkChoice, CustomDelta, Delta, FunctionDelta, Logprobs, ReasoningName, ToolCallDelta, reason,
};
use crate::calls::{CallPiece, CallWriter};
use crate::finish::{Finish, Usage};
use crate::responses::CalledTools;
use crate::responses::custom::input_of;
use unjinja_spec::CallIds;

use crate::ids::{now, unique_id};

/// Writes the events of one turn as chunks.
///
/// What a client assembles from the chunks equals the message that the events add up to. A call is announced when its name is
/// known; if the format writes ids after the arguments, when its id is known.
///
/// ```
/// use unjinja_runtime::Event;
/// use unjinja_server::openai::ChunkWriter;
/// use unjinja_server::{CallIds, CallIdShape, Finish, Usage, sse};
///
/// let mut writer = ChunkWriter::new("my-model", CallIds::new(CallIdShape::Free)).include_usage(true);
/// let mut stream = String::new();
/// for event in [Event::Content("Hello, "), Event::Content("world!")] {
///     stream.extend(writer.event(&event).iter().map(|chunk| chunk.to_sse()));
/// }
/// stream.extend(writer.finish(&Finish::Stop, Some(Usage::new(5, 3))).iter().map(|chunk| chunk.to_sse()));
/// stream.push_str(sse::DONE);
/// assert!(stream.contains(r#""delta":{"role":"assistant","content":"Hello, "}"#), "{stream}");
/// assert!(stream.contains(r#""finish_reason":"stop""#) && stream.contains(r#""total_tokens":8"#));
/// ```
#[derive(Debug)]
pub struct ChunkWriter {
    /// These two are made with the first chunk, if nobody gives them before: where there is no clock, as in WebAssembly, the
    /// caller has to.
    id: Option<String>,
    created: Option<u64>,
    model: String,
    reasoning: ReasoningName,
    choice: u32,
    include_usage: bool,
    /// The probabilities of tokens that no chunk has yet, if they are to be included.
    logprobs: Option<Vec<Value>>,
    write_diagnostics: bool,
    /// The role was written.
    begun: bool,
    answered: bool,
    calls: CallWriter,
    custom: CalledTools,
    /// The arguments of open calls of custom tools, by their positions.
    inputs: Vec<(usize, String)>,
    /// Collects the diagnostics in their order.
    noticed: Message,
}

impl ChunkWriter {
    /// A writer for one turn of this model. `call_ids` come from [`Prepared`](crate::Prepared).
    pub fn new(model: impl Into<String>, call_ids: CallIds) -> Self {
        Self {
            id: None,
            created: None,
            model: model.into(),
            reasoning: ReasoningName::default(),
            choice: 0,
            include_usage: false,
            logprobs: None,
            write_diagnostics: false,
            begun: false,
            answered: false,
            calls: CallWriter::new(call_ids),
            custom: CalledTools::default(),
            inputs: Vec::new(),
            noticed: Message::default(),
        }
    }

    /// The id of the response, if it is not to be a new one.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// When the response was made, in seconds since 1970; the time of the first chunk, unless this says otherwise.
    pub fn created(mut self, seconds: u64) -> Self {
        self.created = Some(seconds);
        self
    }

    /// The name of the reasoning.
    pub fn reasoning(mut self, name: ReasoningName) -> Self {
        self.reasoning = name;
        self
    }

    /// The custom tools of the request: their calls have a text as input.
    pub fn custom_tools(mut self, tools: CalledTools) -> Self {
        self.custom = tools;
        self
    }

    /// Which of several answers to the same request this is, from 0. Give all the same [`id`](Self::id).
    pub fn choice(mut self, index: u32) -> Self {
        self.choice = index;
        self
    }

    /// Whether the probabilities of tokens are written; [`logprobs`](Self::logprobs) says what they are.
    pub fn include_logprobs(mut self, on: bool) -> Self {
        self.logprobs = on.then(Vec::new);
        self
    }

    /// The probabilities of the tokens that come next: an object for each, in OpenAI's form. The next chunk has them.
    pub fn logprobs(&mut self, tokens: Vec<Value>) {
        if let Some(known) = &mut self.logprobs {
            known.extend(tokens);
        }
    }

    /// Whether the usage is written as a last chunk.
    pub fn include_usage(mut self, on: bool) -> Self {
        self.include_usage = on;
        self
    }

    /// Whether the diagnostics are written, in the last chunk.
    pub fn diagnostics(mut self, on: bool) -> Self {
        self.write_diagnostics = on;
        self
    }

    /// A first chunk with the role alone, for clients that want to know early that an answer comes. Without it, the role is
    /// part of the first chunk that says something.
    pub fn start(&mut self) -> ChatCompletionChunk {
        self.chunk(Delta::default())
    }

    /// The chunks for an event; often none.
    pub fn event(&mut self, event: &Event<'_>) -> Vec<ChatCompletionChunk> {
        let mut deltas = Vec::new();
        match event {
            Event::Reasoning("") | Event::Content("") | Event::Unparsed("") => {}
            Event::Reasoning(text) => {
                let text = Some((*text).to_owned());
                deltas.push(match self.reasoning {
                    ReasoningName::ReasoningContent => Delta { reasoning_content: text, ..Delta::default() },
                    ReasoningName::Reasoning => Delta { reasoning: text, ..Delta::default() },
                });
            }
            Event::Content(text) => {
                self.answered = true;
                deltas.push(Delta { content: Some((*text).to_owned()), ..Delta::default() });
            }
            Event::Unparsed(text) => deltas.push(Delta { unparsed: Some((*text).to_owned()), ..Delta::default() }),
            Event::Diagnostic(_) => self.noticed.apply(event),
            _ => {
                let pieces = self.calls.event(event);
                deltas.extend(pieces.into_iter().filter_map(|piece| self.call_delta(piece)));
            }
        }
        deltas.into_iter().map(|delta| self.chunk(delta)).collect()
    }

    /// The last chunks: the reason why the output ended, and the usage if it is to be included and is
    /// known.
    pub fn finish(&mut self, finish: &Finish, usage: Option<Usage>) -> Vec<ChatCompletionChunk> {
        let open = self.calls.finish();
        let open: Vec<Delta> = open.into_iter().filter_map(|piece| self.call_delta(piece)).collect();
        let mut chunks: Vec<_> = open.into_iter().map(|delta| self.chunk(delta)).collect();
        let mut delta = Delta::default();
        if !self.answered && !self.calls.called() {
            // The content is null only with calls.
            delta.content = Some(String::new());
        }
        if self.write_diagnostics {
            delta.diagnostics = std::mem::take(&mut self.noticed.diagnostics);
        }
        let mut last = self.chunk(delta);
        if let Some(choice) = last.choices.first_mut() {
            choice.finish_reason = Some(reason(finish, self.calls.handed_over()).to_owned());
        }
        chunks.push(last);
        if let (true, Some(usage)) = (self.include_usage, usage) {
            let mut chunk = self.chunk(Delta::default());
            chunk.choices.clear();
            chunk.usage = Some(Some(usage.into()));
            chunks.push(chunk);
        }
        chunks
    }

    fn chunk(&mut self, mut delta: Delta) -> ChatCompletionChunk {
        if !self.begun {
            self.begun = true;
            delta.role = Some("assistant".to_owned());
        }
        let tokens = self.logprobs.as_mut().map(std::mem::take).filter(|tokens| !tokens.is_empty());
        let logprobs = tokens.map(|content| Logprobs { content });
        ChatCompletionChunk {
            id: self.id.get_or_insert_with(|| unique_id("chatcmpl-")).clone(),
            object: "chat.completion.chunk".to_owned(),
            created: *self.created.get_or_insert_with(now),
            model: self.model.clone(),
            choices: vec![ChunkChoice { index: self.choice, delta, logprobs, finish_reason: None }],
            usage: self.include_usage.then_some(None),
        }
    }

    /// The delta for a piece of a call. OpenAI does not mark the end of a call. The input of a custom tool comes at the end.
    fn call_delta(&mut self, piece: CallPiece) -> Option<Delta> {
        let custom = |name, input| Some(CustomDelta { name, input });
        let call = match piece {
            CallPiece::Start { index, id, name } if self.custom.is_custom(&name) => {
                self.inputs.push((index, String::new()));
                let (id, kind, custom) = (Some(id), Some("custom".to_owned()), custom(Some(name), String::new()));
                ToolCallDelta { index, id, kind, custom, ..ToolCallDelta::default() }
            }
            CallPiece::Start { index, id, name } => {
                let function = FunctionDelta { name: Some(name), arguments: String::new() };
                ToolCallDelta { index, id: Some(id), kind: Some("function".to_owned()), function, custom: None }
            }
            CallPiece::Arguments { index, json } => match self.inputs.iter_mut().find(|(open, _)| *open == index) {
                Some((_, input)) => {
                    input.push_str(&json);
                    return None;
                }
                None => {
                    let function = FunctionDelta { name: None, arguments: json };
                    ToolCallDelta { index, function, ..ToolCallDelta::default() }
                }
            },
            CallPiece::End { index, .. } => {
                let at = self.inputs.iter().position(|(open, _)| *open == index)?;
                let input = input_of(&self.inputs.swap_remove(at).1);
                ToolCallDelta { index, custom: custom(None, input), ..ToolCallDelta::default() }
            }
        };
        Some(Delta { tool_calls: vec![call], ..Delta::default() })
    }
}
