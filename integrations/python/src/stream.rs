//! A turn that arrives in pieces, as Python sees it.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use unjinja_bindings::{Chunks, Form, Step, reasoning_name};
use unjinja_dynamic::{Model, Options};

use crate::data::not_copied;
use crate::error::raised;
use crate::event::Event;
use crate::keywords::Keywords;
use crate::message::Message;
use crate::openai::OpenAIChunks;
use crate::span::{Span, spans};
use crate::turn::{LockedTurn, chunk};

/// A parser in the middle of a turn. However the text is cut, the events add up to the same message, and no event is taken
/// back. A stream may be used from several threads, one after the other.
///
/// >>> from unjinja import Model
/// >>> stream = Model.known("qwen_qwen3_0_6b").stream()
/// >>> [event for piece in ["<think>\nHm", ".\n</th", "ink>\n\nYes."] for event in stream.push(piece)] + stream.finish()
/// [Event.Reasoning('Hm'), Event.Reasoning('.'), Event.Content('Yes.')]
/// >>> stream.message.content
/// 'Yes.'
#[pyclass(frozen, module = "unjinja")]
pub(crate) struct Stream(Arc<LockedTurn>);

impl Stream {
    pub(crate) fn new(model: &Model, options: &Options) -> Self {
        Self(Arc::new(LockedTurn::new(model, options)))
    }
}

#[pymethods]
impl Stream {
    /// Reads more of the model's output. Returns the events, often none or one.
    ///
    /// Args:
    ///     piece: A text, or bytes, cut anywhere, also inside a marker or a character.
    fn push(&self, py: Python<'_>, piece: &Bound<'_, PyAny>) -> PyResult<Vec<Event>> {
        self.0.events(py, [Step::Push(chunk(piece, "piece")?)])
    }

    /// Reads the model's next token. Returns the events, often none or one.
    ///
    /// Args:
    ///     token: Its text, or its bytes, because many tokens end inside a character.
    ///     special: Whether it is a special token of the tokenizer. With `special_tokens`, only such a token is a marker.
    #[pyo3(signature = (token, special=false))]
    fn push_token(&self, py: Python<'_>, token: &Bound<'_, PyAny>, special: bool) -> PyResult<Vec<Event>> {
        self.0.events(py, [Step::token(chunk(token, "piece")?, special)])
    }

    /// The output is over. Text that was held back comes out, and everything that is open ends.
    fn finish(&self, py: Python<'_>) -> PyResult<Vec<Event>> {
        self.0.events(py, [Step::Finish])
    }

    /// As `push`, with the text of the output that each event comes from: for a server that passes on parts of the output as they
    /// were written. One stream is used with this method or with `push`, not with both.
    ///
    /// Args:
    ///     piece: A text, cut anywhere.
    ///
    /// >>> from unjinja import Model
    /// >>> stream = Model.known("qwen_qwen3_0_6b").stream()
    /// >>> stream.push_spans("<think>\nHm.\n</think>\n\nYes")
    /// [Span('<think>\n'), Span('Hm.', events=[Event.Reasoning('Hm.')], channel='reasoning'), Span('\n</think>\n\n', channel='content'), Span('Yes', events=[Event.Content('Yes')], channel='content')]
    fn push_spans(&self, py: Python<'_>, piece: &str) -> PyResult<Vec<Span>> {
        spans(py, &self.0, piece, false)
    }

    /// As `finish`, with the text that was held back.
    fn finish_spans(&self, py: Python<'_>) -> PyResult<Vec<Span>> {
        spans(py, &self.0, "", true)
    }

    /// Makes the parser new, for another turn with the same options. Returns the bytes that were pushed and not settled.
    fn reset<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.lock().reset())
    }

    /// What the events until now add up to.
    #[getter]
    fn message(&self) -> Message {
        self.0.message()
    }

    /// What is being read: `reasoning` or `content`. None inside a call and after the end of the turn.
    #[getter]
    fn channel(&self) -> Option<&'static str> {
        self.0.lock().channel()
    }

    /// How many tokens were pushed with `push_token`: a dict with `reasoning` and `content`.
    #[getter]
    fn token_counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.0.token_counts(py)
    }

    /// Writes what this stream reads as OpenAI's `chat.completion.chunk` dicts.
    ///
    /// Args:
    ///     model: The name of the model in the chunks. The default is the name of the spec.
    ///     id: The id of the first answer. The default is a random one. Another answer, after `reset` or after the end, has its own.
    ///     created: When the first answer was begun, in seconds since 1970. The default is now.
    ///     reasoning: The field for reasoning: `"reasoning_content"` or `"reasoning"`. Raises RequestError if it is another.
    ///     include_usage: Whether the last chunk says how many tokens were used; see `OpenAIChunks.finish`.
    ///     diagnostics: Whether chunks have a field `diagnostics`, which OpenAI does not know.
    ///     call_ids: The ids of the earlier calls in the conversation, in order. New ids differ from them, and ids that count
    ///         continue from them. The default is none.
    #[pyo3(
        signature = (**options),
        text_signature = "($self, *, model=None, id=None, created=None, reasoning='reasoning_content', include_usage=False, \
            diagnostics=False, call_ids=None)"
    )]
    fn openai_chunks(&self, options: Option<&Bound<'_, PyDict>>) -> PyResult<OpenAIChunks> {
        let keywords = Keywords::new("Stream.openai_chunks", options);
        let reasoning: String = keywords.take("reasoning", "reasoning_content".to_owned())?;
        let form = Form::OpenAi {
            reasoning: reasoning_name(&reasoning).map_err(raised)?,
            include_usage: keywords.take("include_usage", false)?,
            created: keywords.optional("created")?,
        };
        let (model, id) = (keywords.optional("model")?, keywords.optional("id")?);
        let diagnostics = keywords.take("diagnostics", false)?;
        let call_ids: Option<Vec<String>> = keywords.optional("call_ids")?;
        keywords.done()?;
        let chunks = Chunks::new(self.0.lock().model(), form, model).id(id).diagnostics(diagnostics);
        let chunks = chunks.after(call_ids.unwrap_or_default());
        Ok(OpenAIChunks::new(Arc::clone(&self.0), chunks))
    }

    /// Reads an output that arrives asynchronously, to its end: `async for event in stream.read(pieces)`.
    ///
    /// Args:
    ///     pieces: An asynchronous iterator of texts or bytes.
    fn read<'py>(this: &Bound<'py, Self>, pieces: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("unjinja._read")?.getattr("read")?.call1((this, pieces))
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(not_copied("Stream"))
    }

    fn __repr__(&self) -> String {
        self.0.shown("Stream")
    }
}
