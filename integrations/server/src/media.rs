//! What a request holds besides text. The upstream completes text, so a sentence replaces an image or a document:
//! clients keep such a part in the history, and a conversation in which every request is refused is lost.

use serde_json::Value;

use crate::error::ApiError;
use crate::request::Role;
use crate::request_value::RequestValue;

/// The places in a request where a sentence replaces something else.
pub(crate) type Replaced = Vec<String>;

/// The sentence in the place of something that is no text.
pub(crate) fn stand_in(place: &RequestValue<'_>, what: &str, replaced: &mut Replaced) -> String {
    replaced.push(place.path.clone());
    format!("[{what} was sent here, and cannot be shown: only text can be read]")
}

/// The kinds of parts that a content of one of OpenAI's APIs can have.
pub(crate) struct PartKinds {
    /// Those that hold a text.
    pub(crate) texts: &'static [&'static str],
    /// The others, with the words for what they hold.
    pub(crate) others: &'static [(&'static str, &'static str)],
    /// What a client is told to send.
    pub(crate) known: &'static str,
}

impl PartKinds {
    /// A text, or the texts of parts. Those of an assistant are one text that was cut; those of others are passages, and get lines of
    /// their own.
    pub(crate) fn text_of(
        &self,
        content: &RequestValue<'_>,
        role: Role,
        replaced: &mut Replaced,
    ) -> Result<String, ApiError> {
        let parts = match content.value {
            Value::String(text) => return Ok(text.clone()),
            Value::Array(_) => content.list()?,
            _ => return Err(content.expected("a string or a list of parts")),
        };
        let texts: Vec<String> = parts.iter().map(|part| self.part(part, replaced)).collect::<Result<_, _>>()?;
        Ok(texts.join(if role == Role::Assistant { "" } else { "\n" }))
    }

    /// The text of a part; a sentence for a part that is no text.
    fn part(&self, part: &RequestValue<'_>, replaced: &mut Replaced) -> Result<String, ApiError> {
        part.object()?;
        let kind = part.need("type", "the type of the part")?;
        let name = kind.text()?;
        if self.texts.contains(&name) {
            return Ok(part.need("text", "the text of the part")?.text()?.to_owned());
        }
        if name == "refusal" {
            return Ok(part.need("refusal", "the text of the refusal")?.text()?.to_owned());
        }
        match self.others.iter().find(|(other, _)| *other == name) {
            Some((_, what)) => Ok(stand_in(part, what, replaced)),
            None => Err(kind.unknown(self.known)),
        }
    }
}

/// The text of a document of Anthropic's API: its own if it is text, else the sentence.
pub(crate) fn document(place: &RequestValue<'_>, replaced: &mut Replaced) -> Result<String, ApiError> {
    let source = place.get("source").filter(|source| source.value.is_object());
    let kind = source.as_ref().and_then(|source| source.value.get("type")).and_then(Value::as_str);
    match (source, kind) {
        (Some(source), Some("text")) => Ok(source.need("data", "the text of the document")?.text()?.to_owned()),
        _ => Ok(stand_in(place, "A document", replaced)),
    }
}
