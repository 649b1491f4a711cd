//! One request: its prompt, parser, grammar and ids, from one list of tools.

use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use unjinja_bindings::{parse_request, request_grammar, target};
use unjinja_dynamic::{CallIds, Model, Request as RustRequest};

use crate::error::raised;
use crate::grammar::grammar_object;
use crate::keywords::Keywords;
use crate::message::Message;
use crate::options::freedom;
use crate::prompt::prompt_object;
use crate::stream::Stream;
use crate::turn::chunk;

/// A request to a model: the prompt, the parser of the output, the grammar for a sampler and the ids of calls, which belong
/// together. `Model.request` makes it.
///
/// >>> from unjinja import Model
/// >>> text = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
/// >>> request = Model.from_template(text).request([{"role": "user", "content": "Hello"}])
/// >>> request.prompt
/// '<user>Hello</><assistant>'
/// >>> request.parse("Hi!</>").content
/// 'Hi!'
#[pyclass(frozen, module = "unjinja")]
pub(crate) struct Request {
    model: Model,
    request: RustRequest,
    call_ids: Mutex<CallIds>,
}

impl Request {
    pub(crate) fn new(model: &Model, request: RustRequest) -> Self {
        let call_ids = Mutex::new(request.call_ids());
        Self { model: model.clone(), request, call_ids }
    }
}

#[pymethods]
impl Request {
    /// The prompt: a text whose attribute `turn` says what it has of the assistant's turn.
    #[getter]
    fn prompt<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        prompt_object(py, self.request.prompt(), self.request.prompt().turn())
    }

    /// Parses a whole output. No output makes this fail, and no text is lost.
    ///
    /// Args:
    ///     output: A text, or bytes. Bytes that are not UTF-8 come back as U+FFFD, with a diagnostic.
    fn parse(&self, py: Python<'_>, output: &Bound<'_, PyAny>) -> PyResult<Message> {
        let text = chunk(output, "output")?;
        Ok(Message::new(&self.model, py.detach(|| parse_request(&self.model, &self.request, text))))
    }

    /// A parser for the turn as it arrives in pieces.
    fn stream(&self) -> Stream {
        Stream::new(&self.model, self.request.options())
    }

    /// The grammar for a sampler. Raises GrammarError if the request cannot be met: a call is required without tools, a tool is
    /// unknown, or no value fits a schema.
    ///
    /// Args:
    ///     kind: `"gbnf"` for llama.cpp, `"xgrammar"` for a structural tag (vLLM, SGLang), or `"llguidance"` for Lark. Raises
    ///         RequestError if it is another.
    ///     open_objects: As for `Model.grammar`.
    ///     free_white_space: As for `Model.grammar`.
    ///     text_before: As for `Model.grammar`.
    ///     max_reasoning: As for `Model.grammar`.
    #[pyo3(
        signature = (kind="gbnf", **options),
        text_signature = "($self, kind='gbnf', *, open_objects=False, free_white_space=False, text_before=0, max_reasoning=None)"
    )]
    fn grammar<'py>(
        &self,
        py: Python<'py>,
        kind: &str,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let target = target(kind).map_err(raised)?;
        let keywords = Keywords::new("Request.grammar", options);
        let freedom = freedom(&keywords)?;
        keywords.done()?;
        let grammar = py.detach(|| request_grammar(&self.model, &self.request, target, freedom)).map_err(raised)?;
        grammar_object(py, grammar)
    }

    /// The id of the next call, in a form that the template accepts, and other than those of the conversation.
    ///
    /// Args:
    ///     name: The function's name.
    ///     written: The id that the model wrote, if it wrote one. It is kept unless it was used before.
    #[pyo3(signature = (name, written=None))]
    fn call_id(&self, name: &str, written: Option<&str>) -> String {
        self.call_ids.lock().unwrap_or_else(PoisonError::into_inner).next(name, written)
    }

    fn __reduce__(&self) -> PyResult<Py<PyAny>> {
        let text =
            "a Request can be neither pickled nor copied: it counts the ids of calls; make another with Model.request";
        Err(PyTypeError::new_err(text))
    }

    fn __repr__(&self) -> String {
        format!("<unjinja.Request to {}, with {} tools>", self.model.name(), self.request.tools().len())
    }
}
