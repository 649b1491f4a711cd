//! OpenAI's chunks, as dicts.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde::Serialize;
use serde_json::Value;
use unjinja_bindings::{Chunks, Step, Written, finish};
use unjinja_server::openai::{ChatCompletionChunk, ChunkChoice, Delta, FunctionDelta, ToolCallDelta};
use unjinja_server::{Finish, Usage};

use crate::data::not_copied;
use crate::error::{RequestError, raised};
use crate::json;
use crate::turn::{LockedTurn, chunk};

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
    turn: Arc<LockedTurn>,
    chunks: Mutex<Chunks>,
}

impl OpenAIChunks {
    pub(crate) fn new(turn: Arc<LockedTurn>, chunks: Chunks) -> Self {
        Self { turn, chunks: Mutex::new(chunks) }
    }

    fn lock(&self) -> MutexGuard<'_, Chunks> {
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The chunks of a step. No object of Python is made while something is locked.
    fn step(&self, step: Step<'_>, end: Option<(&Finish, Option<Usage>)>) -> Vec<ChatCompletionChunk> {
        let mut chunks = Vec::new();
        self.lock().step(&mut self.turn.lock(), step, end, None, |written| {
            if let Written::OpenAi(written) = written {
                chunks.extend(written);
            }
        });
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
        dicts(py, &self.step(Step::token(chunk(token, "piece")?, special), None))
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
        let finish = finish("finish_reason", finish_reason).map_err(raised)?;
        let usage = usage.filter(|usage| !usage.is_none()).map(usage_of).transpose()?;
        dicts(py, &self.step(Step::Finish, Some((&finish, usage))))
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(not_copied("OpenAIChunks"))
    }

    fn __repr__(&self) -> String {
        format!("OpenAIChunks(model={:?})", self.lock().model())
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
    let ToolCallDelta { index, id, kind, function: FunctionDelta { name, arguments }, .. } = call;
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
