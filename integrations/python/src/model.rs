//! The model: what is known about one chat template.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::OnceLock;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use serde_json::Value;
use unjinja_bindings::{grammar, parse, reasoning_markers, restored_model, target};
use unjinja_dynamic::{Conversation, GrammarOptions, Loader, Model as RustModel, RequestOptions, SpecialTokens};

use crate::conversation::{Arguments, Reads, messages_of};
use crate::data::{Reduced, object};
use crate::error::{LoadError, model_error, raised};
use crate::export::export_object;
use crate::grammar::{grammar_object, schema_of};
use crate::json;
use crate::keywords::Keywords;
use crate::loading::load;
use crate::message::Message;
use crate::options::{choice_of, freedom, handling, parser_options};
use crate::prompt::{prompt_object, turn_of};
use crate::request::Request;
use crate::stream::Stream;
use crate::tools::tools_of;
use crate::training::TrainingTemplate;
use crate::turn::chunk;

/// What a model's output looks like. Made by one of the static methods; cheap to share between threads. It is pickled by its spec,
/// its template and its special tokens, so that another process needs no file and no analysis.
///
/// >>> from unjinja import Model
/// >>> model = Model.known("qwen_qwen3_0_6b")
/// >>> model.status
/// 'supported'
/// >>> model.parse("Hello!").content
/// 'Hello!'
#[pyclass(frozen, eq, module = "unjinja")]
pub(crate) struct Model {
    model: RustModel,
    /// The variables that the template reads, once somebody asked for them.
    variables: OnceLock<BTreeSet<String>>,
}

impl From<RustModel> for Model {
    fn from(model: RustModel) -> Self {
        Self { model, variables: OnceLock::new() }
    }
}

impl PartialEq for Model {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&self.model, &other.model);
        a.spec() == b.spec() && a.template() == b.template() && tokens_of(a) == tokens_of(b)
    }
}

/// The special tokens that a model's template writes. None without a template, and for one with a syntax error.
fn tokens_of(model: &RustModel) -> Option<&SpecialTokens> {
    model.parsed_template().ok().map(|template| template.tokens())
}

impl Model {
    pub(crate) fn inner(&self) -> &RustModel {
        &self.model
    }

    /// The variables that the template reads.
    pub(crate) fn reads(&self) -> Reads<'_> {
        Reads { model: &self.model, names: &self.variables }
    }
}

/// Makes a model that was pickled. The spec has the overlays in it, and nothing is analysed.
#[pyfunction]
#[pyo3(name = "_model")]
pub(crate) fn pickled_model(
    py: Python<'_>,
    spec: &str,
    template: Option<&str>,
    bos: Option<String>,
    eos: Option<String>,
    others: &Bound<'_, PyAny>,
) -> PyResult<Model> {
    let Value::Object(others) = json::from_python(others, "tokens", LoadError::new_err)? else {
        return Err(LoadError::new_err("tokens: expected a dict"));
    };
    let made = py.detach(|| {
        let Some(template) = template else { return Ok(Loader::new().from_spec(spec)?) };
        restored_model(spec, template, SpecialTokens { bos, eos, others })
    });
    made.map(Model::from).map_err(raised)
}

#[pymethods]
impl Model {
    /// A model by any name. Nothing is downloaded: `unjinja fetch ID` does that.
    ///
    /// Args:
    ///     path: The folder of a pretrained model (with `chat_template.jinja` or `tokenizer_config.json`), or a file: one of these, a
    ///         `.jinja` file or a GGUF file. Else an id (`Qwen/Qwen3-8B`) of a model in the Hub's cache; else one that `known` takes.
    ///         `FILE#NAME` is one of several named templates. Raises LoadError if it names no template, or one that gives no model.
    ///     cache: A folder that keeps the results of analyses, so that a template is analysed once. It is made if it is missing.
    ///         The default keeps nothing.
    ///     overlay: The text of an overlay in TOML, which corrects the spec. The default is the file `NAME.overlay.toml` next to the
    ///         template, else the one of a supported model that fits. Raises LoadError if it does not fit.
    #[staticmethod]
    #[pyo3(signature = (path, *, cache=None, overlay=None))]
    fn from_pretrained(py: Python<'_>, path: PathBuf, cache: Option<PathBuf>, overlay: Option<&str>) -> PyResult<Self> {
        Ok(load(py, cache, overlay, |loader| loader.from_file(path))?.into())
    }

    /// A model from the text of a chat template.
    ///
    /// Args:
    ///     text: The chat template. Raises LoadError if it has a syntax error, or gives no model.
    ///     name: The name of the model in messages, and of its spec. The default is `template`.
    ///     bos_token: The text of `bos_token` in the template. The default is undefined there.
    ///     eos_token: The text of `eos_token` in the template. The default is undefined there.
    ///     cache: A folder that keeps the results of analyses, so that a template is analysed once. It is made if it is missing.
    ///         The default keeps nothing.
    ///     overlay: The text of an overlay in TOML, which corrects the spec. The default is the one of a supported model that fits.
    ///         Raises LoadError if it does not fit.
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
        let model = load(py, cache, overlay, |loader| {
            let loader =
                loader.tokens(unjinja_dynamic::SpecialTokens { bos: bos_token, eos: eos_token, ..Default::default() });
            name.map_or(loader.clone(), |name| loader.name(name)).from_template(text)
        })?;
        Ok(model.into())
    }

    /// A model from the metadata of a GGUF file. The weights are not read.
    ///
    /// Args:
    ///     path: The file. `FILE#NAME` is one of several named templates. Raises LoadError if it is of another kind, or has no template.
    ///     cache: A folder that keeps the results of analyses, so that a template is analysed once. It is made if it is missing.
    ///         The default keeps nothing.
    ///     overlay: The text of an overlay in TOML, which corrects the spec. The default is the file `NAME.overlay.toml` next to the
    ///         template, else the one of a supported model that fits. Raises LoadError if it does not fit.
    #[staticmethod]
    #[pyo3(signature = (path, *, cache=None, overlay=None))]
    fn from_gguf(py: Python<'_>, path: PathBuf, cache: Option<PathBuf>, overlay: Option<&str>) -> PyResult<Self> {
        Ok(load(py, cache, overlay, |loader| loader.from_gguf(path))?.into())
    }

    /// A model from the text of a format spec. It has no template, so it renders nothing.
    ///
    /// Args:
    ///     text: The spec in TOML, as `Model.spec` has it. Raises LoadError if it is no spec, or an invalid one.
    ///     overlay: The text of an overlay in TOML, which corrects the spec. Raises LoadError if it does not fit.
    #[staticmethod]
    #[pyo3(signature = (text, *, overlay=None))]
    fn from_spec(py: Python<'_>, text: &str, overlay: Option<&str>) -> PyResult<Self> {
        Ok(load(py, None, overlay, |loader| loader.from_spec(text))?.into())
    }

    /// A supported model. It has no template, so it renders nothing.
    ///
    /// Args:
    ///     name: The name of its spec (`qwen_qwen3_0_6b`), or its id on the Hugging Face Hub, with or without the owner
    ///         (`Qwen/Qwen3-0.6B`). Raises LoadError if it is unknown, and names the nearest.
    #[staticmethod]
    fn known(py: Python<'_>, name: &str) -> PyResult<Self> {
        Ok(load(py, None, None, |loader| loader.known(name))?.into())
    }

    /// The name of the model's spec.
    #[getter]
    fn name(&self) -> &str {
        self.model.name()
    }

    /// The format spec: TOML text.
    #[getter]
    fn spec(&self) -> String {
        self.model.spec().to_toml()
    }

    /// `supported`, `partial` or `unsupported`: how much of what the template renders is read.
    #[getter]
    fn status(&self) -> &'static str {
        self.model.status().name()
    }

    /// What is missing, one sentence each; empty if the model is supported.
    #[getter]
    fn gaps(&self) -> Vec<String> {
        self.model.gaps().to_vec()
    }

    /// The text of the template, or None if the model was made from a spec.
    #[getter]
    fn template(&self) -> Option<&str> {
        self.model.template()
    }

    /// The variables that the template reads, in alphabetical order: what `render` takes. Empty without a template.
    #[getter(variables)]
    fn variable_names(&self) -> Vec<String> {
        self.reads().names().map(|names| names.iter().cloned().collect()).unwrap_or_default()
    }

    /// Special tokens and markers that a server must keep in the text of an output.
    #[getter]
    fn preserved_tokens(&self) -> Vec<String> {
        self.model.spec().tokens.preserved.clone()
    }

    /// The markers around reasoning: a pair of texts, of which the first is empty if only the end is marked. None if the model
    /// writes no reasoning.
    #[getter]
    fn reasoning_markers(&self) -> Option<(&str, &str)> {
        reasoning_markers(&self.model)
    }

    /// Renders a conversation. The messages are handed over in the forms that the template reads, as the table `[messages]` of the
    /// spec says. So a `Message` that was parsed renders as the turn that was parsed. The result is a text; its attribute `turn`
    /// says what it has of the assistant's turn. Pass it to `parse`, `stream` and `grammar` as `prompt`. Raises RenderError if the template
    /// refuses the conversation, or the model has no template.
    ///
    /// Args:
    ///     messages: A list of dicts as OpenAI has them, and of `Message` objects, which `parse` and streams return. Raises
    ///         RequestError if one has no JSON form.
    ///     tools: The tools that the request offers: a `Tools`, or what it is made of (dicts, functions, pydantic classes, JSON text).
    ///         The default is none. Raises ToolsError if they cannot be read.
    ///     thinking: Sets the variable that switches reasoning, whatever its name is. It has no effect if the template has none. The
    ///         default leaves it to the template.
    ///     add_generation_prompt: Whether the text ends with the beginning of the assistant's turn.
    ///     as_given: True hands the messages over as they are given, and the text is then exactly that of `apply_chat_template` of
    ///         transformers 5.24: what the template does not read in this form is lost, or makes it fail.
    ///     variables: Any other keyword argument is a variable of the template; `Model.variables` lists them. Raises TypeError, with
    ///         the nearest name, if the template does not read it. What `apply_chat_template` takes and does not show to the
    ///         template, such as `tokenize`, has no effect. `now`, a `datetime.datetime`, is the time that the template is told with
    ///         `strftime_now`; the default is the local time.
    #[pyo3(
        signature = (messages, **variables),
        text_signature = "($self, messages, *, tools=None, thinking=None, add_generation_prompt=True, as_given=False, **variables)"
    )]
    fn render<'py>(
        &self,
        py: Python<'py>,
        messages: &Bound<'py, PyAny>,
        variables: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = Arguments::of_text(messages, Keywords::new("Model.render", variables))?;
        let conversation = given.conversation(self.reads(), "render")?;
        let prompt = py.detach(|| self.model.prompt(&conversation)).map_err(model_error)?;
        prompt_object(py, &prompt, if given.add_generation_prompt { prompt.turn() } else { "" })
    }

    /// Prepares a request: its prompt, the parser of the output, the grammar and the ids of calls. The tools are given once. Raises
    /// RenderError if the template refuses the conversation, or the model has no template.
    ///
    /// >>> from unjinja import Model
    /// >>> text = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
    /// >>> Model.from_template(text).request([{"role": "user", "content": "Hello"}]).prompt.turn
    /// '<assistant>'
    ///
    /// Args:
    ///     messages: A list of dicts as OpenAI has them, and of `Message` objects. Raises RequestError if one has no JSON form.
    ///     tools: The tools that the request offers: a `Tools`, or what it is made of (dicts, functions, pydantic classes, JSON text).
    ///         The default is none. Raises ToolsError if they cannot be read.
    ///     thinking: Switches reasoning on or off, if the template has a switch for it. The default leaves it to the template.
    ///     tool_choice: `"auto"` (the default), `"required"`, `"none"` or `{"type": "function", "function": {"name": …}}`. With
    ///         `"none"`, the prompt offers no tools. Raises RequestError if it is none of these.
    ///     parallel_tool_calls: Whether several calls are allowed.
    ///     response_schema: A JSON schema for the answer: a dict, or True for any JSON. The default is any text. Raises RequestError if
    ///         it is no schema.
    ///     unparsed: Where broken markup goes: `"content"`, or `"separate"` into `Message.unparsed`. Raises RequestError if it is
    ///         another.
    ///     cut_calls: What becomes of a call that is cut off: `"keep"`, `"close"` to complete its arguments, or `"drop"` to take it for
    ///         broken markup; in a stream, calls then come when they are closed. Raises RequestError if it is another.
    ///     variables: Any other keyword argument is a variable of the template. Raises TypeError, with the nearest name, if the
    ///         template does not read it. `now` is the time that it is told, as in
    ///         `render`.
    #[pyo3(
        signature = (messages, **variables),
        text_signature = "($self, messages, *, tools=None, thinking=None, tool_choice=None, parallel_tool_calls=True, \
            response_schema=None, unparsed='content', cut_calls='keep', **variables)"
    )]
    fn request<'py>(
        &self,
        py: Python<'py>,
        messages: &Bound<'py, PyAny>,
        variables: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Request> {
        let keywords = Keywords::new("Model.request", variables);
        let mut options = RequestOptions::new()
            .tool_choice(choice_of(&keywords)?)
            .parallel_tool_calls(keywords.take("parallel_tool_calls", true)?)
            .parsing(handling(&keywords)?);
        if let Some(on) = keywords.optional("thinking")? {
            options = options.thinking(on);
        }
        if let Some(schema) = schema_of(&keywords)? {
            options = options.response_schema(schema);
        }
        let tools = tools_of(keywords.optional("tools")?.as_ref())?;
        let tools = tools.map(|tools| tools.get().tools.clone()).unwrap_or_default();
        let conversation = Conversation::new(messages_of(messages)?);
        let conversation = self.reads().with_variables("request", conversation, keywords.rest())?;
        let request = py.detach(|| self.model.request(&conversation, &tools, &options)).map_err(model_error)?;
        Ok(Request::new(&self.model, request))
    }

    /// What a prompt has of the assistant's turn, where only its text is known. `Prompt.turn` knows it better.
    ///
    /// Args:
    ///     prompt: The text of the prompt.
    fn turn_of<'p>(&self, prompt: &'p str) -> &'p str {
        self.model.turn_of(prompt)
    }

    /// Parses a whole output. No output makes this fail, and no text is lost.
    ///
    /// Args:
    ///     output: A text, or bytes. Bytes that are not UTF-8 come back as U+FFFD, with a diagnostic.
    ///     tools: The tools that the request offers: a `Tools`, or what it is made of (dicts, functions, pydantic classes, JSON text).
    ///         They decide how arguments are typed, and calls of other tools get a diagnostic. The default takes calls of any tool.
    ///         Raises ToolsError if they cannot be read.
    ///     thinking: What the prompt was rendered with; it has no effect with `prompt`. The default is that of the template.
    ///     prompt: The prompt, a `Prompt` or a text: it may have begun the turn, for example with the marker of reasoning.
    ///     continue_from: The beginning of the turn that the model continues, as the model writes it. It becomes part of the message.
    ///     tool_choice: That of the request: `"auto"` (the default), `"required"`, `"none"` or
    ///         `{"type": "function", "function": {"name": …}}`. With `"none"` nothing is a call; with a name, only calls of this tool
    ///         are. Other calls are broken markup. Raises RequestError if it is none of these.
    ///     parallel_tool_calls: Whether the model may make several calls. False makes each after the first one broken markup.
    ///     extract_reasoning: Whether reasoning is separated from the content. False leaves it there, with its markers.
    ///     calls_end_reasoning: Whether a call ends reasoning that is still open, in formats that allow it. False makes its markup
    ///         part of the reasoning: a model that plans a call there does not make it.
    ///     json_response: Whether the answer has to be JSON, for a response schema: a Markdown code fence around it is then syntax.
    ///     unparsed: Where broken markup goes: `"content"`, or `"separate"` into `Message.unparsed`. Raises RequestError if it is
    ///         another.
    ///     cut_calls: What becomes of a call that is cut off: `"keep"`, `"close"` to complete its arguments, or `"drop"` to take it for
    ///         broken markup; in a stream, calls then come when they are closed. Raises RequestError if it is another.
    #[pyo3(
        signature = (output, **options),
        text_signature = "($self, output, *, tools=None, thinking=None, prompt=None, continue_from=None, tool_choice=None, parallel_tool_calls=True, \
            extract_reasoning=True, calls_end_reasoning=True, json_response=False, unparsed='content', cut_calls='keep')"
    )]
    fn parse<'py>(
        &self,
        py: Python<'py>,
        output: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Message> {
        let keywords = Keywords::new("Model.parse", options);
        let options = parser_options(&keywords, |prompt| turn_of(&self.model, prompt))?;
        keywords.done()?;
        let text = chunk(output, "output")?;
        Ok(Message::new(&self.model, py.detach(|| parse(&self.model, text, &options))))
    }

    /// A parser for one turn that arrives in pieces. The options are those of `parse`.
    ///
    /// Args:
    ///     tools: The tools that the request offers: a `Tools`, or what it is made of (dicts, functions, pydantic classes, JSON text).
    ///         They decide how arguments are typed, and calls of other tools get a diagnostic. The default takes calls of any tool.
    ///         Raises ToolsError if they cannot be read.
    ///     thinking: What the prompt was rendered with; it has no effect with `prompt`. The default is that of the template.
    ///     prompt: The prompt, a `Prompt` or a text: it may have begun the turn, for example with the marker of reasoning.
    ///     continue_from: The beginning of the turn that the model continues, as the model writes it. It becomes part of the message.
    ///     tool_choice: That of the request: `"auto"` (the default), `"required"`, `"none"` or
    ///         `{"type": "function", "function": {"name": …}}`. With `"none"` nothing is a call; with a name, only calls of this tool
    ///         are. Other calls are broken markup. Raises RequestError if it is none of these.
    ///     parallel_tool_calls: Whether the model may make several calls. False makes each after the first one broken markup.
    ///     extract_reasoning: Whether reasoning is separated from the content. False leaves it there, with its markers.
    ///     calls_end_reasoning: Whether a call ends reasoning that is still open, in formats that allow it. False makes its markup
    ///         part of the reasoning: a model that plans a call there does not make it.
    ///     json_response: Whether the answer has to be JSON, for a response schema: a Markdown code fence around it is then syntax.
    ///     unparsed: Where broken markup goes: `"content"`, or `"separate"` into `Message.unparsed`. Raises RequestError if it is
    ///         another.
    ///     cut_calls: What becomes of a call that is cut off: `"keep"`, `"close"` to complete its arguments, or `"drop"` to take it for
    ///         broken markup; in a stream, calls then come when they are closed. Raises RequestError if it is another.
    ///     special_tokens: The texts of the tokenizer's special tokens. A marker that holds one of them then counts only where it
    ///         arrives with `push_token(text, special=True)`. The default takes every text that spells a marker.
    #[pyo3(
        signature = (**options),
        text_signature = "($self, *, tools=None, thinking=None, prompt=None, continue_from=None, tool_choice=None, parallel_tool_calls=True, \
            extract_reasoning=True, calls_end_reasoning=True, json_response=False, unparsed='content', cut_calls='keep', \
            special_tokens=None)"
    )]
    fn stream(&self, options: Option<&Bound<'_, PyDict>>) -> PyResult<Stream> {
        let keywords = Keywords::new("Model.stream", options);
        let mut options = parser_options(&keywords, |prompt| turn_of(&self.model, prompt))?;
        if let Some(tokens) = keywords.optional::<Vec<String>>("special_tokens")? {
            options = options.special_tokens(tokens);
        }
        keywords.done()?;
        Ok(Stream::new(&self.model, &options))
    }

    /// A grammar for constrained sampling, with the schema of each tool in it. Raises GrammarError if the options cannot be met: a call
    /// is required without tools, a tool is unknown, or no value fits a schema.
    ///
    /// Args:
    ///     tools: The tools that the request offers: a `Tools`, or what it is made of (dicts, functions, pydantic classes, JSON text).
    ///         Without tools, calls of any tool are allowed. Raises ToolsError if they cannot be read.
    ///     kind: `"gbnf"` for llama.cpp, `"xgrammar"` for a structural tag (vLLM, SGLang), or `"llguidance"` for Lark. Raises
    ///         RequestError if it is another.
    ///     tool_choice: `"auto"` (the default), `"required"`, `"none"` or `{"type": "function", "function": {"name": …}}`. Raises
    ///         RequestError if it is none of these.
    ///     parallel_tool_calls: Whether several calls are allowed.
    ///     thinking: What the prompt was rendered with. If it is False, the grammar of a whole turn has no reasoning. The default is that
    ///         of the template.
    ///     prompt: The prompt, a `Prompt` or a text. The grammar begins where it ends, whatever `thinking` is.
    ///     response_schema: A JSON schema for the answer: a dict, or True for any JSON. The default is any text. Raises RequestError if
    ///         it is no schema.
    ///     open_objects: Whether objects may have members that their schema does not name, where it has `properties` and does not say.
    ///     free_white_space: Whether more white space is allowed than one blank and what the template writes.
    ///     text_before: The number of characters of an answer that may come before a call that is demanded.
    ///     max_reasoning: The number of characters of reasoning that may come before a call that is demanded. The default is 16,384.
    #[pyo3(
        signature = (tools=None, kind="gbnf", **options),
        text_signature = "($self, tools=None, kind='gbnf', *, tool_choice=None, parallel_tool_calls=True, thinking=None, prompt=None, \
            response_schema=None, open_objects=False, free_white_space=False, text_before=0, max_reasoning=None)"
    )]
    fn grammar<'py>(
        &self,
        py: Python<'py>,
        tools: Option<&Bound<'py, PyAny>>,
        kind: &str,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let keywords = Keywords::new("Model.grammar", options);
        let mut options = GrammarOptions::new()
            .target(target(kind).map_err(raised)?)
            .tool_choice(choice_of(&keywords)?)
            .parallel_tool_calls(keywords.take("parallel_tool_calls", true)?);
        if let Some(on) = keywords.optional("thinking")? {
            options = options.thinking(on);
        }
        if let Some(prompt) = keywords.optional("prompt")? {
            options = options.generation_prompt(turn_of(&self.model, &prompt)?);
        }
        if let Some(schema) = schema_of(&keywords)? {
            options = options.response_schema(schema);
        }
        options = freedom(&keywords)?.of(options);
        keywords.done()?;
        let tools = tools_of(tools)?;
        let tools = tools.as_ref().map(|tools| &tools.get().tools);
        let grammar = py.detach(|| grammar(&self.model, tools, &options)).map_err(raised)?;
        grammar_object(py, grammar)
    }

    /// Makes a response template of the chat template, and tries it with random conversations. As the command `unjinja export`. It
    /// takes about a second. Raises RequestError if the format is not supported, and LoadError if there is no response template.
    ///
    /// Args:
    ///     count: How many random conversations are tried.
    ///     seed: Where the random conversations begin: the same number gives the same ones.
    #[pyo3(signature = (*, count=200, seed=1))]
    fn export<'py>(&self, py: Python<'py>, count: u32, seed: u64) -> PyResult<Bound<'py, PyAny>> {
        export_object(py, &self.model, count, seed)
    }

    /// Puts `{% generation %}` into the chat template around what the model writes, and tries it. As `unjinja export --for training`. It
    /// takes seconds. Raises LoadError, with the statement, if marks cannot be put in so that they are right.
    ///
    /// Args:
    ///     keep_prefix: Whether the condition is changed that makes the template write earlier turns anew, where there is one.
    #[pyo3(signature = (*, keep_prefix=false))]
    fn training_template<'py>(&self, py: Python<'py>, keep_prefix: bool) -> PyResult<Bound<'py, PyAny>> {
        object(py, "TrainingTemplate", py.detach(|| TrainingTemplate::new(&self.model, keep_prefix))?)
    }

    /// A model never changes, so it is its own copy.
    fn __copy__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __deepcopy__(this: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        this
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.name(), &self.model.spec().template.sha256, self.template()).hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let make = MAKE.import(py, "unjinja._lib", "_model")?.clone();
        let tokens = tokens_of(&self.model).cloned().unwrap_or_default();
        let others = json::to_python(py, &Value::Object(tokens.others))?;
        Ok((make, (self.spec(), self.template(), tokens.bos, tokens.eos, others).into_pyobject(py)?))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let name = self.name().into_bound_py_any(py)?.repr()?;
        let template = if self.template().is_some() { "with its template" } else { "without a template" };
        let gaps = self.gaps();
        let gaps = if gaps.is_empty() { String::new() } else { format!("; gaps: {}", gaps.join(" ")) };
        Ok(format!("<unjinja.Model {name}: {}, {template}{gaps}>", self.status()))
    }
}
