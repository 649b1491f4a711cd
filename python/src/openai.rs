//! OpenAI's chunks, as dicts.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde::Serialize;
use serde_json::Value;
use unjinja_server::openai::{
    ChatCompletionChunk, ChunkChoice, ChunkWriter, Delta, FunctionDelta, ReasoningName, ToolCallDelta,
};
use unjinja_server::{CallIds, Finish, TemplateNeeds, Usage};

use crate::error::RequestError;
use crate::json;
use crate::turn::{Step, Turn, chunk};

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
    turn: Arc<Turn>,
    writer: Mutex<ChunkWriter>,
}

impl OpenAIChunks {
    pub(crate) fn new(turn: Arc<Turn>, writer: ChunkWriter) -> Self {
        Self { turn, writer: Mutex::new(writer) }
    }

    pub(crate) fn writer(
        model: &str,
        needs: &TemplateNeeds,
        reasoning: &str,
        call_ids: Vec<String>,
    ) -> PyResult<ChunkWriter> {
        let names = [ReasoningName::ReasoningContent, ReasoningName::Reasoning];
        let Some(name) = names.into_iter().find(|name| name.field() == reasoning) else {
            let text = format!("reasoning: {reasoning:?} is unknown; use \"reasoning_content\" or \"reasoning\"");
            return Err(RequestError::new_err(text));
        };
        let ids = CallIds::new(needs.ids.clone()).written(needs.model_ids).after(call_ids);
        Ok(ChunkWriter::new(model, ids).reasoning(name))
    }

    fn locked(&self) -> MutexGuard<'_, ChunkWriter> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn step<'py>(&self, py: Python<'py>, step: Step<'_>) -> PyResult<Bound<'py, PyList>> {
        let mut writer = self.locked();
        let mut chunks = Vec::new();
        self.turn.run(step, |event| chunks.extend(writer.event(event)));
        dicts(py, &chunks)
    }
}

#[pymethods]
impl OpenAIChunks {
    /// More of the model's output. Returns the chunks, often none or one.
    fn push<'py>(&self, py: Python<'py>, piece: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        self.step(py, Step::Push(chunk(piece)?))
    }

    /// The model's next token: its text, or its bytes. `special` says whether it is a special token of the tokenizer.
    #[pyo3(signature = (token, special=false))]
    fn push_token<'py>(
        &self,
        py: Python<'py>,
        token: &Bound<'py, PyAny>,
        special: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        self.step(py, Step::Token(chunk(token)?, special))
    }

    /// The output is over. `finish_reason` is what the engine says; it becomes `tool_calls` where the model called a tool.
    /// `usage` is a dict with `prompt_tokens` and `completion_tokens`, for `include_usage`.
    #[pyo3(signature = (finish_reason="stop", usage=None))]
    fn finish<'py>(
        &self,
        py: Python<'py>,
        finish_reason: &str,
        usage: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let usage = usage.map(|usage| json::from_python(usage, "usage")).transpose()?;
        let list = self.step(py, Step::Finish)?;
        let count = |usage: &Value, key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or_default();
        let usage = usage.map(|usage| Usage::new(count(&usage, "prompt_tokens"), count(&usage, "completion_tokens")));
        let last = self.locked().finish(&Finish::from_reason(finish_reason), usage);
        for dict in dicts(py, &last)? {
            list.append(dict)?;
        }
        Ok(list)
    }
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
    for ChunkChoice { index, delta: written, finish_reason } in choices {
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
