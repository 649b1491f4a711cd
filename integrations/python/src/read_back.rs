//! Whole conversations, read back from what a template wrote for them.

use pyo3::prelude::*;
use pyo3::types::PyString;
use unjinja_tokens::{
    Alternative as RustAlternative, ConversationReader as RustReader, ReadConversation as RustConversation,
    ReadMessage as RustMessage,
};

use crate::data::{Fields, NO_TEXT, Reduced, no_list};
use crate::encoded::Characters;
use crate::encoder::Encoder;
use crate::error::RequestError;
use crate::json::{self, Json};
use crate::model::Model;
use crate::tokenizer::{ids_of, known_ids_of};

/// Where something begins and ends in a transcript, in characters.
type Offset = (usize, usize);

/// Reads conversations back: a transcript with the turns that a model wrote becomes messages again. It tries once what the template
/// writes between messages, so keep it for many transcripts.
///
/// >>> import unjinja
/// >>> template = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
/// >>> reader = unjinja.ConversationReader(unjinja.Model.from_template(template))
/// >>> read = reader.read("<|user|>Hello<|end|><|assistant|>Good morning!<|end|>")
/// >>> [one.message["content"] for one in read.messages], read.messages[0].text_offset, read.difference
/// (['Hello', 'Good morning!'], (8, 13), None)
///
/// Args:
///     model: A `Model`, whose reader reads texts, or an `Encoder`, whose reader reads ids too. A model without a template reads nothing.
///         Raises RequestError if it is neither.
#[pyclass(frozen, module = "unjinja")]
pub(crate) struct ConversationReader {
    reader: RustReader,
    /// What it was made of, for `pickle`.
    model: Py<PyAny>,
}

#[pymethods]
impl ConversationReader {
    #[new]
    fn made(py: Python<'_>, model: &Bound<'_, PyAny>) -> PyResult<Self> {
        let reader = if let Ok(encoder) = model.cast::<Encoder>() {
            let encoder = encoder.get().inner();
            py.detach(|| encoder.conversation_reader())
        } else if let Ok(model) = model.cast::<Model>() {
            let model = model.get().inner();
            py.detach(|| RustReader::new(model))
        } else {
            let kind = model.get_type().name()?;
            return Err(RequestError::new_err(format!(
                "model: expected a Model or an Encoder, not a value of type {kind}"
            )));
        };
        Ok(Self { reader, model: model.clone().unbind() })
    }

    /// Reads a transcript. In a text, whatever spells a marker is one; ids know better. Other threads of Python continue meanwhile.
    ///
    /// Args:
    ///     transcript: The text, or a list of ids. Raises RequestError if it is ids and the reader was made of a Model, or if the tokenizer
    ///         does not have one of them.
    fn read(&self, py: Python<'_>, transcript: &Bound<'_, PyAny>) -> PyResult<ReadConversation> {
        if let Ok(text) = transcript.cast::<PyString>() {
            let text = text.to_str()?;
            return Ok(ReadConversation::new(py.detach(|| self.reader.read(text))));
        }
        let ids = match self.model.bind(py).cast::<Encoder>() {
            Ok(encoder) => known_ids_of(encoder.get().inner().vocabulary(), transcript, "transcript")?,
            Err(_) => ids_of(transcript, "transcript")?,
        };
        let read = py.detach(|| self.reader.read_ids(&ids));
        read.map(ReadConversation::new).ok_or_else(|| {
            RequestError::new_err(
                "transcript: ids need a tokenizer; make the ConversationReader of an Encoder, or pass the text",
            )
        })
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("ConversationReader({})", self.model.bind(py).repr()?))
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let model = this.get().model.clone_ref(this.py());
        Ok((this.get_type().into_any(), (model,).into_pyobject(this.py())?))
    }
}

/// A conversation that was read back. `ConversationReader.read` makes it. All offsets are characters of `transcript`.
///
/// Args:
///     messages: The messages, a list of `ReadMessage`.
///     tools: The tools that it offers, where the template describes them in JSON.
///     tools_offset: Where tools are described, whether they could be read or not, or None.
///     open_turn: Whether it ends in a turn of the assistant that is not over, such as a generation prompt.
///     alternatives: What else the transcript can be, a list of `Alternative`.
///     difference: The first character that the template does not write for these messages, or None if it writes the same text.
///     unread: Where text stands before the first message that is not what the template begins with.
///     transcript: The transcript as text.
#[pyclass(frozen, eq, module = "unjinja")]
#[derive(PartialEq)]
pub(crate) struct ReadConversation {
    messages: Vec<ReadMessage>,
    tools: Json,
    /// Where tools are described, whether they could be read or not, or None.
    #[pyo3(get)]
    tools_offset: Option<Offset>,
    /// Whether it ends in a turn of the assistant that is not over, such as a generation prompt.
    #[pyo3(get)]
    open_turn: bool,
    alternatives: Vec<Alternative>,
    /// The first character that the template does not write for these messages: then something was lost, or the transcript was not
    /// written by this template. None if it writes the same text.
    #[pyo3(get)]
    difference: Option<usize>,
    /// Where text stands before the first message that is not what the template begins with.
    #[pyo3(get)]
    unread: Offset,
    /// The transcript as text. Where ids are no UTF-8, it has U+FFFD.
    #[pyo3(get)]
    transcript: String,
}

impl ReadConversation {
    fn new(read: RustConversation) -> Self {
        let characters = Characters::of(&read.transcript);
        Self {
            messages: read.messages.into_iter().map(|message| ReadMessage::new(message, &characters)).collect(),
            tools: Json(read.tools.into()),
            tools_offset: read.tools_at.map(|range| characters.offset(&range)),
            open_turn: read.open_turn,
            alternatives: read.alternatives.into_iter().map(Alternative::new).collect(),
            difference: read.difference.map(|at| characters.offset(&(at..at)).0),
            unread: characters.offset(&read.unread),
            transcript: read.transcript,
        }
    }

    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Fields<'py>> {
        Fields::new(py, "ReadConversation")
            .needed("messages", self.messages())?
            .optional("tools", &self.tools, no_list(py))?
            .or_none("tools_offset", self.tools_offset)?
            .optional("open_turn", self.open_turn, false)?
            .optional("alternatives", self.alternatives(), no_list(py))?
            .or_none("difference", self.difference)?
            .optional("unread", self.unread, (0, 0))?
            .optional("transcript", &self.transcript, NO_TEXT)
    }
}

#[pymethods]
impl ReadConversation {
    #[new]
    #[pyo3(
        signature = (messages, tools=None, tools_offset=None, open_turn=false, alternatives=Vec::new(), difference=None, unread=(0, 0),
            transcript=String::new()),
        text_signature = "(messages, tools=(), tools_offset=None, open_turn=False, alternatives=(), difference=None, unread=(0, 0), \
            transcript='')"
    )]
    #[expect(clippy::too_many_arguments, reason = "the fields")]
    fn made(
        messages: Vec<ReadMessage>,
        tools: Option<&Bound<'_, PyAny>>,
        tools_offset: Option<Offset>,
        open_turn: bool,
        alternatives: Vec<Alternative>,
        difference: Option<usize>,
        unread: Offset,
        transcript: String,
    ) -> PyResult<Self> {
        let tools = tools.map(|tools| json::from_python(tools, "tools", RequestError::new_err)).transpose()?;
        let tools = Json(tools.unwrap_or_else(|| serde_json::json!([])));
        Ok(Self { messages, tools, tools_offset, open_turn, alternatives, difference, unread, transcript })
    }

    /// The messages, in order.
    #[getter]
    fn messages(&self) -> Vec<ReadMessage> {
        self.messages.clone()
    }

    /// The tools that it offers, where the template describes them in JSON; else none.
    #[getter]
    fn tools<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_python(py, &self.tools.0)
    }

    /// What else the transcript can be.
    #[getter]
    fn alternatives(&self) -> Vec<Alternative> {
        self.alternatives.clone()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.fields(py)?.repr()
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        this.get().fields(this.py())?.reduced(this.get_type())
    }
}

/// A message of a `ReadConversation`.
///
/// Args:
///     message: The message, a dict as OpenAI has it.
///     offset: Where all that was written for it begins and ends, with its header, in characters of the transcript.
///     text_offset: Where its text is: for the assistant the whole turn with its markers.
///     parts: What that text is: a list of tuples of where a part begins, where it ends, and what it is, as in `Label.part`.
#[pyclass(frozen, eq, from_py_object, module = "unjinja")]
#[derive(Clone, PartialEq)]
pub(crate) struct ReadMessage {
    message: Json,
    /// Where all that was written for it begins and ends, with its header. It ends where that of the next message begins.
    #[pyo3(get)]
    offset: Offset,
    /// Where its text is: for the assistant the whole turn with its markers.
    #[pyo3(get)]
    text_offset: Offset,
    /// What that text is: where a part begins, where it ends, and what it is, as in `Label.part`.
    #[pyo3(get)]
    parts: Vec<(usize, usize, String)>,
}

impl ReadMessage {
    fn new(read: RustMessage, characters: &Characters) -> Self {
        let part = |(range, part): &(std::ops::Range<usize>, unjinja_tokens::TokenPart)| {
            let (start, end) = characters.offset(range);
            (start, end, part.name().to_owned())
        };
        Self {
            offset: characters.offset(&read.range),
            text_offset: characters.offset(&read.text),
            parts: read.parts.iter().map(part).collect(),
            message: Json(read.message),
        }
    }

    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Fields<'py>> {
        Fields::new(py, "ReadMessage")
            .needed("message", &self.message)?
            .needed("offset", self.offset)?
            .needed("text_offset", self.text_offset)?
            .optional("parts", &self.parts, no_list(py))
    }
}

#[pymethods]
impl ReadMessage {
    #[new]
    #[pyo3(signature = (message, offset, text_offset, parts=Vec::new()), text_signature = "(message, offset, text_offset, parts=())")]
    fn made(
        message: &Bound<'_, PyAny>,
        offset: Offset,
        text_offset: Offset,
        parts: Vec<(usize, usize, String)>,
    ) -> PyResult<Self> {
        let message = Json(json::from_python(message, "message", RequestError::new_err)?);
        Ok(Self { message, offset, text_offset, parts })
    }

    /// The message, a dict as OpenAI has it.
    #[getter]
    fn message<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_python(py, &self.message.0)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.fields(py)?.repr()
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        this.get().fields(this.py())?.reduced(this.get_type())
    }
}

/// Other messages for which the template writes the same text.
///
/// Args:
///     replaces: The first message of `ReadConversation.messages` that they take the place of, and the one after the last.
///     messages: The other messages, a list of dicts; none if the template writes this text of its own accord.
#[pyclass(frozen, eq, from_py_object, module = "unjinja")]
#[derive(Clone, PartialEq)]
pub(crate) struct Alternative {
    /// The first message of `ReadConversation.messages` that they take the place of, and the one after the last.
    #[pyo3(get)]
    replaces: (usize, usize),
    messages: Json,
}

impl Alternative {
    fn new(alternative: RustAlternative) -> Self {
        let replaces = (alternative.replaces.start, alternative.replaces.end);
        Self { replaces, messages: Json(alternative.messages.into()) }
    }

    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Fields<'py>> {
        Fields::new(py, "Alternative").needed("replaces", self.replaces)?.needed("messages", &self.messages)
    }
}

#[pymethods]
impl Alternative {
    #[new]
    fn made(replaces: (usize, usize), messages: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self { replaces, messages: Json(json::from_python(messages, "messages", RequestError::new_err)?) })
    }

    /// The other messages; none if the template writes this text of its own accord.
    #[getter]
    fn messages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_python(py, &self.messages.0)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.fields(py)?.repr()
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        this.get().fields(this.py())?.reduced(this.get_type())
    }
}
