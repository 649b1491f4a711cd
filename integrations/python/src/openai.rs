//! OpenAI's chunks, as dicts.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde::Serialize;
use serde_json::Value;
use unjinja_dynamic::Event;
use unjinja_server::openai::{
    ChatCompletionChunk, ChunkChoice, ChunkWriter, Delta, FunctionDelta, ReasoningName, ToolCallDelta,
};
use unjinja_server::{CallIds, Finish, Usage};

use crate::data::not_copied;
use crate::error::RequestError;
use crate::json;
use crate::turn::{Step, TurnParser, chunk, token_of};

/// Writes what a stream reads as `chat.completion.chunk` dicts. Made by `Stream.openai_chunks`.
///
/// >>> from unjinja import Model
/// >>> chunks = Model.known("qwen_qwen3_0_6b").stream().openai_chunks(model="qwen3")
/// >>> [chunk["choices"][0]["delta"] for chunk in chunks.push("Hello!")]
/// [{'role': 'assistant', 'content': 'Hello!'}]
/// >>> chunks.finish("stop")[0]["choices"][0]["finish_reason"]
/// 'stop'
#[pyclass(frozen, module = "unjinja")]
pub(crate) struct OpenAIChunks {
    turn: Arc<TurnParser>,
    settings: Settings,
    answer: Mutex<Answer>,
}

/// What holds for all answers of a stream.
pub(crate) struct Settings {
    pub(crate) model: String,
    pub(crate) reasoning: ReasoningName,
    pub(crate) include_usage: bool,
    pub(crate) diagnostics: bool,
    /// The ids of calls, for a conversation without calls.
    pub(crate) call_ids: CallIds,
}

/// What is known about the answer that is being written.
struct Answer {
    writer: ChunkWriter,
    /// Its number in the turn; None if it has not begun.
    number: Option<u64>,
    /// Its last chunk was written.
    closed: bool,
    /// The ids of the calls before it, and of its own.
    call_ids: Vec<String>,
}

/// The name of the field for reasoning.
pub(crate) fn reasoning_name(name: &str) -> PyResult<ReasoningName> {
    let names = [ReasoningName::ReasoningContent, ReasoningName::Reasoning];
    names.into_iter().find(|known| known.field() == name).ok_or_else(|| {
        let text = format!("reasoning: {name:?} is unknown; use \"reasoning_content\" or \"reasoning\"");
        RequestError::new_err(text)
    })
}

impl Settings {
    fn writer(&self, call_ids: &[String]) -> ChunkWriter {
        let ids = self.call_ids.clone().after(call_ids);
        ChunkWriter::new(&*self.model, ids)
            .reasoning(self.reasoning)
            .include_usage(self.include_usage)
            .diagnostics(self.diagnostics)
    }
}

impl Answer {
    /// Continues the answer of this number. Another answer than before gets a writer of its own.
    fn resume(&mut self, number: u64, settings: &Settings) {
        if self.number.is_some_and(|before| before != number) {
            self.writer = settings.writer(&self.call_ids);
            self.closed = false;
        }
        self.number = Some(number);
    }

    fn write(&mut self, event: &Event<'_>, chunks: &mut Vec<ChatCompletionChunk>) {
        let written = self.writer.event(event);
        let deltas = written.iter().flat_map(|chunk| &chunk.choices).flat_map(|choice| &choice.delta.tool_calls);
        self.call_ids.extend(deltas.filter_map(|call| call.id.clone()));
        chunks.extend(written);
    }
}

impl OpenAIChunks {
    pub(crate) fn new(
        turn: Arc<TurnParser>,
        settings: Settings,
        id: Option<String>,
        created: Option<u64>,
        call_ids: Vec<String>,
    ) -> Self {
        let mut writer = settings.writer(&call_ids);
        if let Some(id) = id {
            writer = writer.id(id);
        }
        if let Some(seconds) = created {
            writer = writer.created(seconds);
        }
        let answer = Mutex::new(Answer { writer, number: None, closed: false, call_ids });
        Self { turn, settings, answer }
    }

    /// The chunks of a step. No object of Python is made while the answer is locked.
    fn step(&self, step: Step<'_>, end: Option<(&Finish, Option<Usage>)>) -> Vec<ChatCompletionChunk> {
        let mut answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut chunks = Vec::new();
        let begin = |answer: &mut Answer, number| answer.resume(number, &self.settings);
        self.turn.run_for(step, &mut *answer, begin, |answer, event| answer.write(event, &mut chunks));
        if let Some((finish, usage)) = end.filter(|_| !answer.closed) {
            answer.closed = true;
            chunks.extend(answer.writer.finish(finish, usage));
        }
        chunks
    }
}

#[pymethods]
impl OpenAIChunks {
    /// Reads more of the model's output. Returns the chunks, often none or one.
    ///
    /// Args:
    ///     piece: A text, or bytes, cut anywhere.
    fn push<'py>(&self, py: Python<'py>, piece: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        dicts(py, &self.step(Step::Push(chunk(piece, "piece")?), None))
    }

    /// Reads the model's next token. Returns the chunks, often none or one.
    ///
    /// Args:
    ///     token: Its text, or its bytes.
    ///     special: Whether it is a special token of the tokenizer. With `special_tokens`, only such a token is a marker.
    #[pyo3(signature = (token, special=false))]
    fn push_token<'py>(
        &self,
        py: Python<'py>,
        token: &Bound<'py, PyAny>,
        special: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        dicts(py, &self.step(Step::Token(token_of(token, special)?), None))
    }

    /// The output is over. A second call writes nothing. A push after the end begins another answer, with an id of its own.
    ///
    /// Args:
    ///     finish_reason: Why it ended, as the engine says it: `"stop"`, `"length"` or `"content_filter"`. It becomes `tool_calls`
    ///         where the model called a tool. Raises RequestError if it is unknown, or says that the engine gave up.
    ///     usage: A dict with the numbers `prompt_tokens` and `completion_tokens`, for `include_usage`. Raises RequestError if one is
    ///         missing.
    #[pyo3(signature = (finish_reason="stop", usage=None))]
    fn finish<'py>(
        &self,
        py: Python<'py>,
        finish_reason: &str,
        usage: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let finish = finish_of(finish_reason)?;
        let usage = usage.filter(|usage| !usage.is_none()).map(usage_of).transpose()?;
        dicts(py, &self.step(Step::Finish, Some((&finish, usage))))
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(not_copied("OpenAIChunks"))
    }

    fn __repr__(&self) -> String {
        format!("OpenAIChunks(model={:?})", self.settings.model)
    }
}

/// Why the output ended, in the words of an engine.
fn finish_of(reason: &str) -> PyResult<Finish> {
    if Finish::is_failure(reason) {
        let text = format!("finish_reason: {reason:?} says that the engine gave up; tell the client of an error");
        return Err(RequestError::new_err(text));
    }
    match (Finish::from_reason(reason), reason) {
        (Finish::Stop, "stop" | "eos" | "eos_token" | "end_turn" | "tool_calls" | "tool_use" | "function_call") => {
            Ok(Finish::Stop)
        }
        (Finish::Stop, _) => {
            let text = format!("finish_reason: {reason:?} is unknown; use \"stop\", \"length\" or \"content_filter\"");
            Err(RequestError::new_err(text))
        }
        (finish, _) => Ok(finish),
    }
}

fn usage_of(usage: &Bound<'_, PyAny>) -> PyResult<Usage> {
    let value = json::from_python(usage, "usage", RequestError::new_err)?;
    let count = |key: &str| {
        value.get(key).and_then(Value::as_u64).ok_or_else(|| {
            let text = "expected a dict with the numbers prompt_tokens and completion_tokens";
            RequestError::new_err(format!("usage: {text}, found {value}"))
        })
    };
    Ok(Usage::new(count("prompt_tokens")?, count("completion_tokens")?))
}

fn dicts<'py>(py: Python<'py>, chunks: &[ChatCompletionChunk]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for chunk in chunks {
        list.append(dict(py, chunk)?)?;
    }
    Ok(list)
}

/// A chunk as a dict. A server makes one for every token, so the fields that every chunk has are written one by one. By way of
/// JSON values that takes about four times as long.
fn dict<'py>(py: Python<'py>, chunk: &ChatCompletionChunk) -> PyResult<Bound<'py, PyDict>> {
    let ChatCompletionChunk { id, object, created, model, choices, usage } = chunk;
    let dict = PyDict::new(py);
    dict.set_item(intern!(py, "id"), id)?;
    dict.set_item(intern!(py, "object"), object)?;
    dict.set_item(intern!(py, "created"), created)?;
    dict.set_item(intern!(py, "model"), model)?;
    let list = PyList::empty(py);
    // Nobody gave probabilities of tokens.
    for ChunkChoice { index, delta: written, finish_reason, logprobs: _ } in choices {
        let choice = PyDict::new(py);
        choice.set_item(intern!(py, "index"), index)?;
        choice.set_item(intern!(py, "delta"), delta(py, written)?)?;
        choice.set_item(intern!(py, "finish_reason"), finish_reason.as_deref())?;
        list.append(choice)?;
    }
    dict.set_item(intern!(py, "choices"), list)?;
    if let Some(usage) = usage {
        dict.set_item(intern!(py, "usage"), by_json(py, usage)?)?;
    }
    Ok(dict)
}

fn delta<'py>(py: Python<'py>, delta: &Delta) -> PyResult<Bound<'py, PyDict>> {
    let Delta { role, content, reasoning_content, reasoning, tool_calls, unparsed, diagnostics } = delta;
    let dict = PyDict::new(py);
    let texts = [
        (intern!(py, "role"), role),
        (intern!(py, "content"), content),
        (intern!(py, "reasoning_content"), reasoning_content),
        (intern!(py, "reasoning"), reasoning),
        (intern!(py, "unparsed"), unparsed),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            dict.set_item(name, text)?;
        }
    }
    if !tool_calls.is_empty() {
        let list = PyList::empty(py);
        for call in tool_calls {
            list.append(call_delta(py, call)?)?;
        }
        dict.set_item(intern!(py, "tool_calls"), list)?;
    }
    if !diagnostics.is_empty() {
        dict.set_item(intern!(py, "diagnostics"), by_json(py, diagnostics)?)?;
    }
    Ok(dict)
}

fn call_delta<'py>(py: Python<'py>, call: &ToolCallDelta) -> PyResult<Bound<'py, PyDict>> {
    let ToolCallDelta { index, id, kind, function: FunctionDelta { name, arguments } } = call;
    let dict = PyDict::new(py);
    dict.set_item(intern!(py, "index"), index)?;
    if let Some(id) = id {
        dict.set_item(intern!(py, "id"), id)?;
    }
    if let Some(kind) = kind {
        dict.set_item(intern!(py, "type"), kind)?;
    }
    let function = PyDict::new(py);
    if let Some(name) = name {
        function.set_item(intern!(py, "name"), name)?;
    }
    function.set_item(intern!(py, "arguments"), arguments)?;
    dict.set_item(intern!(py, "function"), function)?;
    Ok(dict)
}

/// Fields that few chunks have.
fn by_json<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let value = serde_json::to_value(value).map_err(|error| RequestError::new_err(error.to_string()))?;
    json::to_python(py, &value)
}
