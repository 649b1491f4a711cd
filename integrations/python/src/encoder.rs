//! The encoder: a model and its tokenizer.

use std::borrow::Cow;
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyMapping, PyString};
use serde_json::Value;
use unjinja_dynamic::{Conversation, Options, SpecialTokens, hub_folder};
use unjinja_tokens::{Bridge, Encoder as RustEncoder, TokensError};

use crate::batch::{elements, in_threads, threads_of};
use crate::bridge::{Decoded, bridge_object, rewrite_object};
use crate::conversation::{Arguments, messages_of};
use crate::data::Reduced;
use crate::encoded::Encoded;
use crate::error::{LoadError, RequestError, batch_error, is_refused, tokens_error};
use crate::json;
use crate::keywords::Keywords;
use crate::loading::load;
use crate::message::Message;
use crate::model::Model;
use crate::options::{parser_options, shared_options, spelled_of};
use crate::prompt::turn_of;
use crate::token_stream::TokenStream;
use crate::tokenizer::{known_ids_of, vocabulary_in, vocabulary_of};

/// A model and its tokenizer: conversations become token ids, and ids become messages. It knows what each token is and whether the model
/// writes it. A control token, such as `<|im_end|>`, arises only from the template's own text. Ids are lists of ints.
///
/// It is cheap to share between threads, and is pickled with its model and its tokenizer.
///
/// Args:
///     model: The model. Raises RenderError, when a conversation is encoded, if it has no template.
///     tokenizer: The path of a `tokenizer.json` or of the folder that holds it (a `tokenizer_config.json` beside it is read too), the
///         text of a `tokenizer.json`, a `tokenizers.Tokenizer`, or a fast tokenizer or a processor of transformers. Raises LoadError
///         if it cannot be read.
#[pyclass(frozen, module = "unjinja")]
pub(crate) struct Encoder {
    encoder: RustEncoder,
    model: Py<Model>,
}

/// A turn that was sampled: the conversation before it, its ids, and the messages that follow.
struct SampledTurn {
    conversation: Conversation,
    sampled: Vec<u32>,
    new_messages: Value,
}

impl Encoder {
    pub(crate) fn inner(&self) -> &RustEncoder {
        &self.encoder
    }

    /// The conversation of a method's arguments.
    fn conversation(&self, method: &str, given: &Arguments<'_, '_>) -> PyResult<Conversation> {
        given.conversation(self.model.get().reads(), method)
    }

    /// The conversation of an element of a batch: its messages, or a dict with `messages`, and with `tools` and `chat_template_kwargs` of
    /// its own.
    fn element(&self, method: &str, element: &Bound<'_, PyAny>, given: &Arguments<'_, '_>) -> PyResult<Conversation> {
        let Ok(row) = element.cast::<PyMapping>() else {
            return self.conversation(method, &Arguments { messages: element, ..given.clone() });
        };
        let value = |name: &str| -> PyResult<Option<Bound<'_, PyAny>>> {
            Ok(if row.contains(name)? { Some(row.get_item(name)?).filter(|value| !value.is_none()) } else { None })
        };
        let Some(messages) = value("messages")? else {
            return Err(RequestError::new_err(
                "messages: expected a list of messages, or a dict that has it as `messages`",
            ));
        };
        let (tools, more) = (value("tools")?, value("chat_template_kwargs")?);
        let variables = PyDict::new(element.py());
        given.variables.into_iter().try_for_each(|shared| variables.update(shared.as_mapping()))?;
        if let Some(more) = &more {
            variables.update(more.cast::<PyMapping>().map_err(PyErr::from)?)?;
        }
        let tools = tools.or_else(|| given.tools.clone());
        self.conversation(
            method,
            &Arguments { messages: &messages, tools, variables: Some(&variables), ..given.clone() },
        )
    }

    /// What a prompt that was given as a text, ids, or an `Encoded` has of the assistant's turn.
    fn turn_of(&self, prompt: &Bound<'_, PyAny>) -> PyResult<String> {
        if prompt.is_instance_of::<PyString>() {
            return turn_of(self.encoder.model(), prompt);
        }
        let text = match prompt.cast::<Encoded>() {
            Ok(encoded) => encoded.get().text().to_owned(),
            Err(_) => self.text(&self.ids_of(prompt, "prompt")?),
        };
        Ok(self.encoder.model().turn_of(&text).to_owned())
    }

    /// Token ids that the tokenizer has.
    fn ids_of(&self, ids: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<u32>> {
        known_ids_of(self.encoder.vocabulary(), ids, name)
    }

    fn text(&self, ids: &[u32]) -> String {
        let vocabulary = self.encoder.vocabulary();
        let pieces = ids.iter().map(|&id| vocabulary.token(id));
        let bytes: Vec<u8> = pieces.flat_map(|token| token.piece().as_bytes().to_vec()).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn options(&self, keywords: Keywords<'_, '_>) -> PyResult<Options> {
        let options = parser_options(&keywords, |prompt| self.turn_of(prompt))?;
        keywords.done()?;
        Ok(options)
    }

    fn read(&self, ids: &[u32], options: &Options) -> unjinja_tokens::Decoded {
        let mut decoded = self.encoder.decode(ids, options);
        let program = self.encoder.model().parser().program();
        decoded.message.note_missing(program, &self.encoder.options(options));
        decoded
    }

    fn decoded(&self, py: Python<'_>, decoded: unjinja_tokens::Decoded) -> PyResult<Decoded> {
        Decoded::new(py, Message::new(self.encoder.model(), decoded.message), decoded.labels)
    }

    fn continued(&self, turn: &SampledTurn) -> Result<Bridge, TokensError> {
        self.encoder.bridge(&turn.conversation, &turn.sampled, &turn.new_messages)
    }
}

#[pymethods]
impl Encoder {
    #[new]
    fn made(model: Py<Model>, tokenizer: &Bound<'_, PyAny>) -> PyResult<Self> {
        let vocabulary = vocabulary_of(tokenizer)?;
        Ok(Self { encoder: RustEncoder::new(model.get().inner().clone(), vocabulary), model })
    }

    /// An encoder from the folder of a pretrained model: its chat template, `tokenizer.json`, and `tokenizer_config.json` if it is
    /// there. Nothing is downloaded.
    ///
    /// Args:
    ///     folder: The folder, or the id (`Qwen/Qwen3-8B`) of a model in the Hub's cache. Raises LoadError if it holds no template and no tokenizer, or ones that cannot be read.
    ///     cache: A folder that keeps the results of analyses, so that a template is analysed once. It is made if it is missing.
    ///         The default keeps nothing.
    ///     overlay: The text of an overlay in TOML, which corrects the spec. The default is the file `NAME.overlay.toml` next to the
    ///         template, else the one of a supported model that fits. Raises LoadError if it does not fit.
    #[staticmethod]
    #[pyo3(signature = (folder, *, cache=None, overlay=None))]
    fn from_pretrained(
        py: Python<'_>,
        folder: PathBuf,
        cache: Option<PathBuf>,
        overlay: Option<&str>,
    ) -> PyResult<Self> {
        // As for models: a path, or else an id.
        let in_cache = || hub_folder(&folder.to_string_lossy());
        let folder = if folder.exists() { folder } else { in_cache().unwrap_or(folder) };
        let model = load(py, cache, overlay, |loader| loader.from_file(&folder))?;
        let vocabulary = py.detach(|| vocabulary_in(&folder))?;
        let encoder = RustEncoder::new(model.clone(), vocabulary);
        Ok(Self { encoder, model: Py::new(py, Model::from(model))? })
    }

    /// An encoder from a fast tokenizer or a processor of transformers, with its chat template and its special tokens.
    ///
    /// Args:
    ///     tokenizer: The tokenizer. Raises RequestError if it has no chat template, and LoadError if the template gives no model.
    ///     chat_template: The text or the name of a template, if it is not the tokenizer's default.
    ///     cache: A folder that keeps the results of analyses, so that a template is analysed once. It is made if it is missing.
    ///         The default keeps nothing.
    ///     overlay: The text of an overlay in TOML, which corrects the spec. The default is the one of a supported model that fits.
    ///         Raises LoadError if it does not fit.
    #[staticmethod]
    #[pyo3(signature = (tokenizer, *, chat_template=None, cache=None, overlay=None))]
    fn from_tokenizer(
        py: Python<'_>,
        tokenizer: &Bound<'_, PyAny>,
        chat_template: Option<&str>,
        cache: Option<PathBuf>,
        overlay: Option<&str>,
    ) -> PyResult<Self> {
        static TEMPLATE_OF: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let found = TEMPLATE_OF.import(py, "unjinja._tokenizer", "template_of")?.call1((tokenizer, chat_template))?;
        let (template, others): (String, Bound<'_, PyAny>) = found.extract()?;
        let Value::Object(mut others) = json::from_python(&others, "special tokens", LoadError::new_err)? else {
            return Err(LoadError::new_err("special tokens: expected a dict"));
        };
        let mut token = |name: &str| others.shift_remove(name).and_then(|token| token.as_str().map(str::to_owned));
        let (bos, eos) = (token("bos_token"), token("eos_token"));
        let tokens = SpecialTokens { bos, eos, others };
        let model = load(py, cache, overlay, |loader| loader.tokens(tokens).from_template(&template))?;
        Self::made(Py::new(py, Model::from(model))?, tokenizer)
    }

    /// The model.
    #[getter]
    fn model(&self, py: Python<'_>) -> Py<Model> {
        self.model.clone_ref(py)
    }

    /// The control tokens: a dict of texts and ids. No text of a conversation becomes one of them. They are the special tokens of the
    /// tokenizer, and the tags that the template uses as markers and the tokenizer has as added tokens.
    #[getter]
    fn control_tokens<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut tokens: Vec<_> = self.encoder.vocabulary().control_tokens().collect();
        tokens.sort_unstable();
        let dict = PyDict::new(py);
        tokens.into_iter().try_for_each(|(id, text)| dict.set_item(text, id))?;
        Ok(dict)
    }

    /// The text of token ids, special tokens included. Bytes that are no UTF-8 come back as U+FFFD.
    ///
    /// Args:
    ///     ids: The ids. Raises RequestError if the tokenizer does not have one of them.
    fn text_of(&self, ids: &Bound<'_, PyAny>) -> PyResult<String> {
        Ok(self.text(&self.ids_of(ids, "ids")?))
    }

    /// The token ids of a conversation, and what each of them is. If no text of the conversation spells a control token, they are those
    /// of `apply_chat_template(tokenize=True)` of transformers. Raises RenderError if the template refuses the conversation, and
    /// EncodeError if it cannot be told who wrote a control token.
    ///
    /// Args:
    ///     messages: A list of dicts as OpenAI has them, and of `Message` objects. Raises RequestError if one has no JSON form.
    ///     tools: The tools that the request offers: a `Tools`, or what it is made of (dicts, functions, pydantic classes, JSON text).
    ///         The default is none. Raises ToolsError if they cannot be read.
    ///     thinking: Sets the variable that switches reasoning, whatever its name is. It has no effect if the template has none. The
    ///         default leaves it to the template.
    ///     add_generation_prompt: Whether the ids end with the beginning of the assistant's turn. Pass False for training.
    ///     as_given: True hands the messages over as they are given, as `apply_chat_template` does: what the template does not read in
    ///         this form is lost, or makes it fail.
    ///     spelled: What becomes of a control token that a text spells. `"text"`: it becomes ordinary tokens, and `Encoded.spelled` reports
    ///         it. `"refuse"`: raises EncodeError. `"trust"`: it becomes the control token, as in transformers. Raises RequestError if it
    ///         is another.
    ///     variables: Any other keyword argument is a variable of the template. Raises TypeError, with the nearest name, if the
    ///         template does not read it. `now`, a `datetime.datetime`, is the time that the template is told; the default is the
    ///         local time, as in transformers.
    #[pyo3(
        signature = (messages, **variables),
        text_signature = "($self, messages, *, tools=None, thinking=None, add_generation_prompt=True, as_given=False, spelled='text', **variables)"
    )]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        messages: &Bound<'py, PyAny>,
        variables: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Encoded> {
        let keywords = Keywords::new("Encoder.encode", variables);
        let options = spelled_of(&keywords)?;
        let conversation = self.conversation("encode", &Arguments::of_text(messages, keywords)?)?;
        let encoded = py.detach(|| self.encoder.encode_with(&conversation, &options).map(|done| Encoded::new(&done)));
        encoded.map_err(tokens_error)
    }

    /// Encodes many conversations on several threads. Other threads of Python continue meanwhile. Returns a list of `Encoded`. An
    /// error says which conversation it is about.
    ///
    /// Args:
    ///     conversations: A list. Each element is a list of messages, or a dict with `messages`, and with `tools` and
    ///         `chat_template_kwargs` of its own, as rows of data sets are. Raises RequestError if one is neither.
    ///     tools: The tools of elements without tools of their own.
    ///     thinking: Sets the variable that switches reasoning, as in `encode`.
    ///     add_generation_prompt: Whether the ids end with the beginning of the assistant's turn. Pass False for training.
    ///     as_given: True hands the messages over as they are given, as in `encode`.
    ///     spelled: What becomes of a control token that a text spells: `"text"`, `"refuse"` or `"trust"`, as in `encode`.
    ///     threads: How many threads work. The default is one for each processor. Raises RequestError if it is less than 1.
    ///     variables: Any other keyword argument is a variable of the template, and `now` the time that it is told.
    #[pyo3(
        signature = (conversations, **variables),
        text_signature = "($self, conversations, *, tools=None, thinking=None, add_generation_prompt=True, as_given=False, spelled='text', \
            threads=None, **variables)"
    )]
    fn encode_batch<'py>(
        &self,
        py: Python<'py>,
        conversations: &Bound<'py, PyAny>,
        variables: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Vec<Encoded>> {
        let keywords = Keywords::new("Encoder.encode_batch", variables);
        let (options, threads) = (spelled_of(&keywords)?, threads_of(&keywords)?);
        let given = Arguments::of_text(conversations, keywords)?;
        let asked = elements(conversations, "conversations", |one| self.element("encode_batch", one, &given))?;
        let work = |asked: &Conversation| self.encoder.encode_with(asked, &options).map(|done| Encoded::new(&done));
        py.detach(|| in_threads(&asked, threads, work)).map_err(|error| batch_error(py, "conversations", error))
    }

    /// Reads the ids of a turn that the model wrote. A control token is a marker by its id; text that spells one is text. No ids of
    /// the tokenizer make this fail.
    ///
    /// Args:
    ///     ids: The ids. Raises RequestError if the tokenizer does not have one of them: it is then the tokenizer of another model.
    ///     tools: The tools that the request offers: a `Tools`, or what it is made of (dicts, functions, pydantic classes, JSON text).
    ///         They decide how arguments are typed, and calls of other tools get a diagnostic. The default takes calls of any tool.
    ///         Raises ToolsError if they cannot be read.
    ///     thinking: What the prompt was made with; it has no effect with `prompt`. The default is that of the template.
    ///     prompt: The prompt, an `Encoded`, its ids, a `Prompt` or a text: it may have begun the turn, for example with the marker of
    ///         reasoning.
    ///     continue_from: The beginning of the turn that the model continues, as the model writes it. It becomes part of the message.
    ///     tool_choice: That of the request, as in `Model.parse`.
    ///     parallel_tool_calls: Whether the model may make several calls. False makes each after the first one broken markup.
    ///     extract_reasoning: Whether reasoning is separated from the content. False leaves it there, with its markers.
    ///     calls_end_reasoning: Whether a call ends reasoning that is still open, in formats that allow it.
    ///     json_response: Whether the answer has to be JSON, for a response schema: a Markdown code fence around it is then syntax.
    ///     unparsed: Where broken markup goes: `"content"`, or `"separate"` into `Message.unparsed`. Raises RequestError if it is
    ///         another.
    ///     cut_calls: What becomes of a call that is cut off: `"keep"`, `"close"` to complete its arguments, or `"drop"` to take it for
    ///         broken markup. Raises RequestError if it is another.
    #[pyo3(
        signature = (ids, **options),
        text_signature = "($self, ids, *, tools=None, thinking=None, prompt=None, continue_from=None, tool_choice=None, parallel_tool_calls=True, \
            extract_reasoning=True, calls_end_reasoning=True, json_response=False, unparsed='content', cut_calls='keep')"
    )]
    fn decode<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Decoded> {
        let options = self.options(Keywords::new("Encoder.decode", options))?;
        let ids = self.ids_of(ids, "ids")?;
        let decoded = py.detach(|| self.read(&ids, &options));
        self.decoded(py, decoded)
    }

    /// Decodes many turns on several threads. Other threads of Python continue meanwhile. Returns a list of `Decoded`.
    ///
    /// Args:
    ///     outputs: A list of lists of ids. Raises RequestError if the tokenizer does not have one of them.
    ///     prompts: The prompt of each output, as `decode` takes it, or None. Raises RequestError if there are more or fewer than
    ///         outputs. The default is none.
    ///     tools: The tools that the requests offer, as in `decode`.
    ///     thinking: What the prompts were made with; it has no effect with `prompts`.
    ///     tool_choice: That of the requests, as in `Model.parse`.
    ///     parallel_tool_calls: Whether the model may make several calls.
    ///     extract_reasoning: Whether reasoning is separated from the content.
    ///     unparsed: Where broken markup goes: `"content"` or `"separate"`.
    ///     cut_calls: What becomes of a call that is cut off: `"keep"`, `"close"` or `"drop"`.
    ///     threads: How many threads work. The default is one for each processor. Raises RequestError if it is less than 1.
    #[pyo3(
        signature = (outputs, **options),
        text_signature = "($self, outputs, *, prompts=None, tools=None, thinking=None, tool_choice=None, parallel_tool_calls=True, \
            extract_reasoning=True, unparsed='content', cut_calls='keep', threads=None)"
    )]
    fn decode_batch<'py>(
        &self,
        py: Python<'py>,
        outputs: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Vec<Decoded>> {
        let keywords = Keywords::new("Encoder.decode_batch", options);
        let (threads, shared) = (threads_of(&keywords)?, shared_options(&keywords)?);
        let prompts = keywords.optional("prompts")?;
        keywords.done()?;
        let outputs = elements(outputs, "outputs", |ids| self.ids_of(ids, "ids"))?;
        let prompts: Vec<Option<String>> = match prompts {
            None => vec![None; outputs.len()],
            Some(prompts) => {
                elements(&prompts, "prompts", |prompt| (!prompt.is_none()).then(|| self.turn_of(prompt)).transpose())?
            }
        };
        if prompts.len() != outputs.len() {
            let text = format!("prompts: there are {} and {} outputs; give one for each", prompts.len(), outputs.len());
            return Err(RequestError::new_err(text));
        }
        let turns: Vec<_> = outputs.into_iter().zip(prompts).collect();
        let work = |(ids, turn): &(Vec<u32>, Option<String>)| {
            let options = match turn {
                Some(turn) => Cow::Owned(shared.clone().generation_prompt(turn)),
                None => Cow::Borrowed(&shared),
            };
            Ok::<_, TokensError>(self.read(ids, &options))
        };
        let decoded = py.detach(|| in_threads(&turns, threads, work));
        let decoded = decoded.map_err(|error| batch_error(py, "outputs", error))?;
        decoded.into_iter().map(|decoded| self.decoded(py, decoded)).collect()
    }

    /// A parser for one turn that arrives as ids. The options are those of `decode`.
    ///
    /// Args:
    ///     tools: The tools that the request offers, as in `decode`.
    ///     thinking: What the prompt was made with; it has no effect with `prompt`. The default is that of the template.
    ///     prompt: The prompt, an `Encoded`, its ids, a `Prompt` or a text.
    ///     continue_from: The beginning of the turn that the model continues, as the model writes it. It becomes part of the message.
    ///     tool_choice: That of the request, as in `Model.parse`.
    ///     parallel_tool_calls: Whether the model may make several calls.
    ///     extract_reasoning: Whether reasoning is separated from the content.
    ///     calls_end_reasoning: Whether a call ends reasoning that is still open, in formats that allow it.
    ///     json_response: Whether the answer has to be JSON, for a response schema.
    ///     unparsed: Where broken markup goes: `"content"` or `"separate"`.
    ///     cut_calls: What becomes of a call that is cut off: `"keep"`, `"close"` or `"drop"`; calls then come when they are closed.
    #[pyo3(
        signature = (**options),
        text_signature = "($self, *, tools=None, thinking=None, prompt=None, continue_from=None, tool_choice=None, parallel_tool_calls=True, \
            extract_reasoning=True, calls_end_reasoning=True, json_response=False, unparsed='content', cut_calls='keep')"
    )]
    fn stream(&self, options: Option<&Bound<'_, PyDict>>) -> PyResult<TokenStream> {
        let options = self.options(Keywords::new("Encoder.stream", options))?;
        Ok(TokenStream::new(&self.encoder, &options))
    }

    /// Whether a conversation only grows: whether each prompt begins with the prompt before it and with what the model wrote after
    /// that. Returns the first place where the template writes something anew, or None.
    ///
    /// Args:
    ///     messages: The conversation, as in `encode`.
    ///     tools: The tools that the request offers, as in `encode`.
    ///     thinking: Sets the variable that switches reasoning, as in `encode`.
    ///     variables: Any other keyword argument is a variable of the template, and `now` the time that it is told.
    #[pyo3(
        signature = (messages, **variables),
        text_signature = "($self, messages, *, tools=None, thinking=None, **variables)"
    )]
    fn rewrite<'py>(
        &self,
        py: Python<'py>,
        messages: &Bound<'py, PyAny>,
        variables: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let given = Arguments::of_turn(messages, Keywords::new("Encoder.rewrite", variables))?;
        let conversation = self.conversation("rewrite", &given)?;
        let rewrite = py.detach(|| self.encoder.rewrite(&conversation)).map_err(tokens_error)?;
        rewrite.map(|rewrite| rewrite_object(py, &rewrite)).transpose()
    }

    /// The ids that follow a turn which the model wrote: the new messages, such as the results of calls, and the beginning of the next
    /// turn. Append them to the ids of the prompt and of the turn: none of those is made again. Raises BridgeError if the template
    /// writes anew what the model has read, or does not write all that the model wrote.
    ///
    /// Args:
    ///     messages: The conversation that was encoded as the prompt.
    ///     sampled: The ids that the model wrote after it. Raises RequestError if the tokenizer does not have one of them.
    ///     new_messages: The messages that follow.
    ///     tools: The tools that the request offers, as in `encode`.
    ///     thinking: Sets the variable that switches reasoning, as in `encode`.
    ///     variables: Any other keyword argument is a variable of the template, and `now` the time that it is told.
    #[pyo3(
        signature = (messages, sampled, new_messages, **variables),
        text_signature = "($self, messages, sampled, new_messages, *, tools=None, thinking=None, **variables)"
    )]
    fn bridge<'py>(
        &self,
        py: Python<'py>,
        messages: &Bound<'py, PyAny>,
        sampled: &Bound<'py, PyAny>,
        new_messages: &Bound<'py, PyAny>,
        variables: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = Arguments::of_turn(messages, Keywords::new("Encoder.bridge", variables))?;
        let conversation = self.conversation("bridge", &given)?;
        let sampled = self.ids_of(sampled, "sampled")?;
        let turn = SampledTurn { conversation, sampled, new_messages: messages_of(new_messages)? };
        bridge_object(py, py.detach(|| self.continued(&turn)).map_err(tokens_error)?)
    }

    /// Bridges many turns on several threads. Other threads of Python continue meanwhile. Returns a list with a `Bridge` or, where
    /// `bridge` would raise one, a `BridgeError`.
    ///
    /// Args:
    ///     turns: A list of tuples: the conversation, as `encode_batch` takes it, the ids that the model wrote, and the new messages.
    ///     tools: The tools of elements without tools of their own.
    ///     thinking: Sets the variable that switches reasoning, as in `encode`.
    ///     threads: How many threads work. The default is one for each processor. Raises RequestError if it is less than 1.
    ///     variables: Any other keyword argument is a variable of the template, and `now` the time that it is told.
    #[pyo3(
        signature = (turns, **variables),
        text_signature = "($self, turns, *, tools=None, thinking=None, threads=None, **variables)"
    )]
    fn bridge_batch<'py>(
        &self,
        py: Python<'py>,
        turns: &Bound<'py, PyAny>,
        variables: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let keywords = Keywords::new("Encoder.bridge_batch", variables);
        let threads = threads_of(&keywords)?;
        let shared = Arguments::of_turn(turns, keywords)?;
        let turns = elements(turns, "turns", |turn| {
            let (messages, sampled, new_messages) =
                turn.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
            let conversation = self.element("bridge_batch", &messages, &shared)?;
            let sampled = self.ids_of(&sampled, "sampled")?;
            Ok(SampledTurn { conversation, sampled, new_messages: messages_of(&new_messages)? })
        })?;
        let work = |turn: &SampledTurn| match self.continued(turn) {
            Err(error) if !is_refused(&error) => Err(error),
            bridge => Ok(bridge),
        };
        let bridges = py.detach(|| in_threads(&turns, threads, work));
        let object = |bridge: Result<Bridge, TokensError>| match bridge {
            Ok(bridge) => bridge_object(py, bridge),
            Err(error) => Ok(tokens_error(error).into_value(py).into_bound(py).into_any()),
        };
        bridges.map_err(|error| batch_error(py, "turns", error))?.into_iter().map(object).collect()
    }

    /// An encoder never changes, so it is its own copy.
    fn __copy__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __deepcopy__(this: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        this
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let text = this.get().encoder.vocabulary().to_json().map_err(tokens_error)?;
        Ok((this.get_type().into_any(), (this.get().model(this.py()), text).into_pyobject(this.py())?))
    }

    fn __repr__(&self) -> String {
        let vocabulary = self.encoder.vocabulary();
        let (tokens, control) = (vocabulary.tokenizer().get_vocab_size(true), vocabulary.control_tokens().count());
        format!(
            "<unjinja.Encoder of {}: {tokens} tokens, {control} of them control tokens>",
            self.encoder.model().name()
        )
    }
}
