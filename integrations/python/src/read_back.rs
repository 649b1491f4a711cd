//! Whole conversations, read back from what a template wrote for them.

use pyo3::prelude::*;
use pyo3::types::PyString;
use serde_json::Value;
use unjinja_tokens::{
    Alternative as RustAlternative, ConversationReader as RustReader, ReadConversation as RustConversation,
    ReadMessage as RustMessage,
};

use crate::data::{Fields, Reduced};
use crate::encoded::Characters;
use crate::encoder::Encoder;
use crate::error::RequestError;
use crate::json;
use crate::model::Model;
use crate::tokenizer::{ids_of, known_ids_of};

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
    fn read<'py>(&self, py: Python<'py>, transcript: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(text) = transcript.cast::<PyString>() {
            let text = text.to_str()?;
            return conversation_object(py, py.detach(|| self.reader.read(text)));
        }
        let ids = match self.model.bind(py).cast::<Encoder>() {
            Ok(encoder) => known_ids_of(encoder.get().inner().vocabulary(), transcript, "transcript")?,
            Err(_) => ids_of(transcript, "transcript")?,
        };
        let read = py.detach(|| self.reader.read_ids(&ids)).ok_or_else(|| {
            RequestError::new_err(
                "transcript: ids need a tokenizer; make the ConversationReader of an Encoder, or pass the text",
            )
        })?;
        conversation_object(py, read)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("ConversationReader({})", self.model.bind(py).repr()?))
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let model = this.get().model.clone_ref(this.py());
        Ok((this.get_type().into_any(), (model,).into_pyobject(this.py())?))
    }
}

/// A `unjinja.ReadConversation`.
fn conversation_object(py: Python<'_>, read: RustConversation) -> PyResult<Bound<'_, PyAny>> {
    let characters = Characters::of(&read.transcript);
    let message = |read: &RustMessage| {
        let parts = read.parts.iter().map(|(range, part)| {
            let (start, end) = characters.offset(range);
            (start, end, part.name())
        });
        Fields::new(py, "ReadMessage")
            .needed("message", json::to_python(py, &read.message)?)?
            .needed("offset", characters.offset(&read.range))?
            .needed("text_offset", characters.offset(&read.text))?
            .needed("parts", parts.collect::<Vec<_>>())?
            .object()
    };
    let alternative = |other: RustAlternative| {
        Fields::new(py, "Alternative")
            .needed("replaces", (other.replaces.start, other.replaces.end))?
            .needed("messages", json::to_python(py, &Value::from(other.messages))?)?
            .object()
    };
    Fields::new(py, "ReadConversation")
        .needed("messages", read.messages.iter().map(message).collect::<PyResult<Vec<_>>>()?)?
        .needed("tools", json::to_python(py, &Value::from(read.tools))?)?
        .needed("tools_offset", read.tools_at.map(|range| characters.offset(&range)))?
        .needed("open_turn", read.open_turn)?
        .needed("alternatives", read.alternatives.into_iter().map(alternative).collect::<PyResult<Vec<_>>>()?)?
        .needed("difference", read.difference.map(|at| characters.offset(&(at..at)).0))?
        .needed("unread", characters.offset(&read.unread))?
        .needed("transcript", read.transcript)?
        .object()
}
