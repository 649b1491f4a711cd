//! The model: what is known about one chat template.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use unjinja_dynamic::{
    Chunk, Conversation, GrammarOptions, Loader, Model as RustModel, ModelError, Overlay, Status, Target,
};

use crate::error::{GrammarError, LoadError, RequestError, model_error};
use crate::export::{Export, dialect};
use crate::grammar::Grammar;
use crate::json;
use crate::message::Message;
use crate::options::{Known, choice_of};
use crate::prompt::{prompt_object, turn_of};
use crate::stream::Stream;
use crate::tools::tools_of;

/// What a model's output looks like. Made by one of the static methods; cheap to share between threads.
///
/// >>> from unjinja import Model
/// >>> model = Model.known("qwen_qwen3_0_6b")
/// >>> model.status
/// 'supported'
/// >>> model.parse("Hello!").content
/// 'Hello!'
#[pyclass(frozen, module = "unjinja")]
pub(crate) struct Model(RustModel);

/// How a model is loaded. Loading takes milliseconds, so it is done without the interpreter's lock.
fn load(
    py: Python<'_>,
    cache: Option<PathBuf>,
    overlay: Option<&str>,
    work: impl FnOnce(Loader) -> Result<RustModel, ModelError> + Send,
) -> PyResult<Model> {
    let mut loader = Loader::new();
    if let Some(folder) = cache {
        loader = loader.cache(folder);
    }
    if let Some(text) = overlay {
        let overlay = Overlay::from_toml(text, "overlay").map_err(|error| LoadError::new_err(error.to_string()))?;
        loader = loader.overlay(overlay);
    }
    py.detach(|| work(loader)).map(Model).map_err(model_error)
}

#[pymethods]
impl Model {
    /// A model from the folder of a pretrained model (with `chat_template.jinja` or `tokenizer_config.json`), or from a file: one
    /// of these, a `.jinja` file or a GGUF file. `FILE#NAME` is one of several named templates. Nothing is downloaded.
    ///
    /// `cache` is a folder that keeps the results of analyses. `overlay` is the text of an overlay in TOML.
    #[staticmethod]
    #[pyo3(signature = (path, *, cache=None, overlay=None))]
    fn from_pretrained(py: Python<'_>, path: PathBuf, cache: Option<PathBuf>, overlay: Option<&str>) -> PyResult<Self> {
        load(py, cache, overlay, |loader| loader.from_pretrained(path))
    }

    /// A model from the text of a chat template. `name` is for messages.
    #[staticmethod]
    #[pyo3(signature = (text, *, name=None, bos_token=None, eos_token=None, cache=None, overlay=None))]
    fn from_template(
        py: Python<'_>,
        text: &str,
        name: Option<&str>,
        bos_token: Option<String>,
        eos_token: Option<String>,
        cache: Option<PathBuf>,
        overlay: Option<&str>,
    ) -> PyResult<Self> {
        load(py, cache, overlay, |loader| {
            let loader =
                loader.tokens(unjinja_dynamic::SpecialTokens { bos: bos_token, eos: eos_token, ..Default::default() });
            name.map_or(loader.clone(), |name| loader.name(name)).from_template(text)
        })
    }

    /// A model from the metadata of a GGUF file. The weights are not read.
    #[staticmethod]
    #[pyo3(signature = (path, *, cache=None, overlay=None))]
    fn from_gguf(py: Python<'_>, path: PathBuf, cache: Option<PathBuf>, overlay: Option<&str>) -> PyResult<Self> {
        load(py, cache, overlay, |loader| loader.from_gguf(path))
    }

    /// A model from the text of a format spec (TOML). It renders nothing.
    #[staticmethod]
    #[pyo3(signature = (text, *, overlay=None))]
    fn from_spec(py: Python<'_>, text: &str, overlay: Option<&str>) -> PyResult<Self> {
        load(py, None, overlay, |loader| loader.from_spec(text))
    }

    /// A supported model: the name of its spec, or its id on the Hugging Face Hub. It renders nothing.
    #[staticmethod]
    fn known(py: Python<'_>, name: &str) -> PyResult<Self> {
        load(py, None, None, |loader| loader.known(name))
    }

    /// The name of the model's spec.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// The format spec: TOML text.
    #[getter]
    fn spec(&self) -> String {
        self.0.spec().to_toml()
    }

    /// `supported`, `partial` or `unsupported`: how much of what the template renders is read.
    #[getter]
    fn status(&self) -> &'static str {
        match self.0.status() {
            Status::Supported => "supported",
            Status::Partial => "partial",
            Status::Unsupported => "unsupported",
        }
    }

    /// What is missing, one sentence each; empty if the model is supported.
    #[getter]
    fn gaps(&self) -> Vec<String> {
        self.0.gaps().to_vec()
    }

    /// The text of the template, or None if the model was made from a spec.
    #[getter]
    fn template(&self) -> Option<&str> {
        self.0.template()
    }

    /// Special tokens and markers that a server must keep in the text of an output.
    #[getter]
    fn preserved_tokens(&self) -> Vec<String> {
        self.0.spec().tokens.preserved.clone()
    }

    /// The markers around reasoning: a pair of texts, of which the first is empty if only the end is marked. None if the model
    /// writes no reasoning.
    #[getter]
    fn reasoning_markers(&self) -> Option<(&str, &str)> {
        let reasoning = &self.0.spec().reasoning;
        let marked = !(reasoning.start.is_empty() && reasoning.end.is_empty());
        marked.then_some((reasoning.start.as_str(), reasoning.end.as_str()))
    }

    /// Renders a conversation as `apply_chat_template` of Hugging Face does. The result is a text; its attribute `turn` says
    /// what it has of the assistant's turn. Pass it to `parse`, `stream` and `grammar` as `prompt`.
    ///
    /// Other keyword arguments are variables of the template.
    #[pyo3(signature = (messages, *, tools=None, thinking=None, add_generation_prompt=true, **variables))]
    fn render<'py>(
        &self,
        py: Python<'py>,
        messages: &Bound<'py, PyAny>,
        tools: Option<&Bound<'py, PyAny>>,
        thinking: Option<bool>,
        add_generation_prompt: bool,
        variables: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let messages = json::from_python(messages, "messages", RequestError::new_err)?;
        if !messages.is_array() {
            return Err(RequestError::new_err("messages: expected a list of messages"));
        }
        let mut conversation = Conversation::new(messages).generation_prompt(add_generation_prompt);
        if let Some(tools) = tools_of(tools)? {
            conversation = conversation.tools(tools.get().json.clone());
        }
        if let Some(on) = thinking {
            conversation = conversation.thinking(on);
        }
        for (name, value) in variables.into_iter().flatten() {
            let name: String = name.extract()?;
            let value = json::from_python(&value, &name, RequestError::new_err)?;
            conversation = conversation.variable(name, value);
        }
        if !add_generation_prompt {
            let text = py.detach(|| self.0.render(&conversation)).map_err(model_error)?;
            return prompt_object(py, &text, "");
        }
        let prompt = py.detach(|| self.0.prompt(&conversation)).map_err(model_error)?;
        prompt_object(py, prompt.text(), prompt.turn())
    }

    /// What a prompt has of the assistant's turn, where only its text is known. `Prompt.turn` knows it better.
    fn turn_of<'p>(&self, prompt: &'p str) -> &'p str {
        self.0.turn_of(prompt)
    }

    /// Parses a whole output: a text, or bytes. Bytes that are not UTF-8 come back as U+FFFD, with a diagnostic. No output makes
    /// this fail, and no text is lost.
    ///
    /// `tool_choice` is that of the request: with `"none"` nothing is a call, and with the name of a tool only calls of this tool
    /// are. Other calls are broken markup, and so is a second call without `parallel_tool_calls`.
    #[pyo3(signature = (
        output, *, tools=None, thinking=None, prompt=None, continue_from=None, tool_choice=None, parallel_tool_calls=true,
        extract_reasoning=true, calls_end_reasoning=true, json_response=false, unparsed="content",
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn parse(
        &self,
        py: Python<'_>,
        output: &Bound<'_, PyAny>,
        tools: Option<&Bound<'_, PyAny>>,
        thinking: Option<bool>,
        prompt: Option<&Bound<'_, PyAny>>,
        continue_from: Option<&str>,
        tool_choice: Option<&Bound<'_, PyAny>>,
        parallel_tool_calls: bool,
        extract_reasoning: bool,
        calls_end_reasoning: bool,
        json_response: bool,
        unparsed: &str,
    ) -> PyResult<Message> {
        let known = Known {
            tools,
            thinking,
            prompt,
            continue_from,
            tool_choice,
            parallel_tool_calls,
            extract_reasoning,
            calls_end_reasoning,
            json_response,
            unparsed,
            special_tokens: None,
        };
        let options = known.options(&self.0)?;
        let text = if let Ok(text) = output.cast::<PyString>() {
            Chunk::from(text.to_str()?)
        } else if let Ok(bytes) = output.cast::<PyBytes>() {
            Chunk::from(bytes.as_bytes())
        } else {
            let kind = output.get_type().name()?.to_string();
            return Err(pyo3::exceptions::PyTypeError::new_err(format!("output: expected str or bytes, found {kind}")));
        };
        let mut message = py.detach(|| self.0.parse(text, &options));
        message.note_stripped_tokens(unjinja_dynamic::ChatParser::program(self.0.parser()), &options);
        Ok(Message::new(&self.0, message))
    }

    /// A parser for one turn that arrives in pieces. The options are those of `parse`; with `special_tokens`, a marker that holds
    /// one of these tokens counts only where it arrives with `push_token(text, special=True)`.
    #[pyo3(signature = (
        *, tools=None, thinking=None, prompt=None, continue_from=None, tool_choice=None, parallel_tool_calls=true,
        extract_reasoning=true, calls_end_reasoning=true, json_response=false, unparsed="content", special_tokens=None,
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn stream(
        &self,
        tools: Option<&Bound<'_, PyAny>>,
        thinking: Option<bool>,
        prompt: Option<&Bound<'_, PyAny>>,
        continue_from: Option<&str>,
        tool_choice: Option<&Bound<'_, PyAny>>,
        parallel_tool_calls: bool,
        extract_reasoning: bool,
        calls_end_reasoning: bool,
        json_response: bool,
        unparsed: &str,
        special_tokens: Option<Vec<String>>,
    ) -> PyResult<Stream> {
        let known = Known {
            tools,
            thinking,
            prompt,
            continue_from,
            tool_choice,
            parallel_tool_calls,
            extract_reasoning,
            calls_end_reasoning,
            json_response,
            unparsed,
            special_tokens,
        };
        Ok(Stream::new(&self.0, &known.options(&self.0)?))
    }

    /// A grammar for constrained sampling, with the schema of each tool in it. `kind` is `"gbnf"` for llama.cpp, `"xgrammar"` for a
    /// structural tag (vLLM, SGLang), or `"llguidance"` for Lark. `tool_choice`
    /// is `"auto"`, `"required"`, `"none"` or the name of a tool as `{"type": "function", "function": {"name": …}}`. Without
    /// tools, calls of any tool are allowed.
    #[pyo3(signature = (
        tools=None, kind="gbnf", *, tool_choice=None, parallel_tool_calls=true, thinking=None, prompt=None,
        response_schema=None,
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn grammar(
        &self,
        py: Python<'_>,
        tools: Option<&Bound<'_, PyAny>>,
        kind: &str,
        tool_choice: Option<&Bound<'_, PyAny>>,
        parallel_tool_calls: bool,
        thinking: Option<bool>,
        prompt: Option<&Bound<'_, PyAny>>,
        response_schema: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Grammar> {
        let target = Target::ALL.into_iter().find(|target| target.name() == kind).ok_or_else(|| {
            let known = Target::ALL.map(|target| format!("{:?}", target.name())).join(", ");
            RequestError::new_err(format!("kind: {kind:?} is unknown; use one of {known}"))
        })?;
        let mut options = GrammarOptions::new()
            .target(target)
            .tool_choice(choice_of(tool_choice)?)
            .parallel_tool_calls(parallel_tool_calls);
        if let Some(on) = thinking {
            options = options.thinking(on);
        }
        if let Some(prompt) = prompt.filter(|prompt| !prompt.is_none()) {
            options = options.generation_prompt(turn_of(&self.0, prompt)?);
        }
        if let Some(schema) = response_schema.filter(|schema| !schema.is_none()) {
            let schema = json::from_python(schema, "response_schema", RequestError::new_err)?;
            if !schema.is_object() && !schema.is_boolean() {
                let text =
                    format!("response_schema: expected a JSON schema, which is a dict or a bool, found {schema}");
                return Err(RequestError::new_err(text));
            }
            options = options.response_schema(schema);
        }
        let tools = tools_of(tools)?;
        let tools = tools.as_ref().map(|tools| &tools.get().tools);
        let grammar = py.detach(|| match tools {
            Some(tools) => self.0.grammar(tools, &options),
            None => self.0.grammar_for_any(&options),
        });
        grammar.map(Grammar).map_err(|error| GrammarError::new_err(error.to_string()))
    }

    /// Makes a response template of the chat template, and tries it with `count` random conversations. `reader` is
    /// `"transformers"`, `"vllm"` or `"sglang"`: they take different ones. As the command `unjinja export`.
    ///
    /// Takes about a second. Raises if the format is not supported.
    #[pyo3(signature = (reader, *, count=200, seed=1))]
    fn export(&self, py: Python<'_>, reader: &str, count: u32, seed: u64) -> PyResult<Export> {
        let dialect = dialect(reader)?;
        py.detach(|| Export::new(&self.0, dialect, count, seed))
    }

    fn __repr__(&self) -> String {
        format!("Model({}, {})", self.name(), self.status())
    }
}
