//! What a request holds besides text. The upstream completes text, so a sentence replaces an image or a document:
//! clients keep such a part in the history, and a conversation in which every request is refused is lost.

use serde_json::Value;

use crate::error::ApiError;
use crate::request::Role;
use crate::request_value::RequestValue;

/// What of a request the model does not get as it stands.
#[derive(Debug, Default)]
pub(crate) struct Unread {
    /// The places where a sentence replaces something else.
    pub(crate) replaced: Vec<String>,
    /// The types of tools, items, blocks and parts that are left out.
    pub(crate) left_out: Vec<String>,
}

impl Unread {
    /// How many types are remembered, each once: one more than a header names, so that it says that there are more.
    const MOST: usize = 17;

    /// Notes a type that is left out.
    pub(crate) fn leave_out(&mut self, kind: &str) {
        if self.left_out.len() < Self::MOST && !self.left_out.iter().any(|known| known == kind) {
            self.left_out.push(kind.to_owned());
        }
    }
}

/// What an encrypted summary is called in its place.
pub(crate) const SUMMARY: &str = "A summary of the conversation before this point, which another server encrypted,";

/// A summary, as the model reads it.
pub(crate) fn summed_up(text: &str) -> String {
    format!("The conversation before this point, in short:\n{text}")
}

/// The sentence in the place of something that is no text.
pub(crate) fn stand_in(place: &RequestValue<'_>, what: &str, unread: &mut Unread) -> String {
    unread.replaced.push(place.path.clone());
    format!("[{what} was sent here, and cannot be shown: only text can be read]")
}

/// What a search for tools found, as the model reads it.
pub(crate) fn found<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    format!("Found: {}", if names.is_empty() { "nothing".to_owned() } else { names.join(", ") })
}

/// The kinds of parts that a content of one of OpenAI's APIs can have.
pub(crate) struct PartKinds {
    /// Those that hold a text.
    pub(crate) texts: &'static [&'static str],
    /// The others, with the words for what they hold.
    pub(crate) others: &'static [(&'static str, &'static str)],
}

impl PartKinds {
    /// A text, or the texts of parts. Those of an assistant are one text that was cut; those of others are passages, and get lines of
    /// their own.
    pub(crate) fn text_of(
        &self,
        content: &RequestValue<'_>,
        role: Role,
        unread: &mut Unread,
    ) -> Result<String, ApiError> {
        let parts = match content.value {
            Value::String(text) => return Ok(text.clone()),
            Value::Array(_) => content.list()?,
            _ => return Err(content.expected("a string or a list of parts")),
        };
        let texts = parts.iter().map(|part| self.part(part, unread)).filter_map(Result::transpose);
        let texts: Vec<String> = texts.collect::<Result<_, _>>()?;
        Ok(texts.join(if role == Role::Assistant { "" } else { "\n" }))
    }

    /// The text of a part; a sentence for a part that is no text; `None` for one of an unknown type.
    fn part(&self, part: &RequestValue<'_>, unread: &mut Unread) -> Result<Option<String>, ApiError> {
        part.object()?;
        let kind = part.need("type", "the type of the part")?;
        let name = kind.text()?;
        if self.texts.contains(&name) {
            return Ok(Some(part.need("text", "the text of the part")?.text()?.to_owned()));
        }
        if name == "refusal" {
            return Ok(Some(part.need("refusal", "the text of the refusal")?.text()?.to_owned()));
        }
        let other = self.others.iter().find(|(other, _)| *other == name);
        if other.is_none() {
            unread.leave_out(name);
        }
        Ok(other.map(|(_, what)| stand_in(part, what, unread)))
    }
}

/// The text of a document of Anthropic's API: its own if it is text, else the sentence.
pub(crate) fn document(place: &RequestValue<'_>, unread: &mut Unread) -> Result<String, ApiError> {
    let source = place.get("source").filter(|source| source.value.is_object());
    let kind = source.as_ref().and_then(|source| source.value.get("type")).and_then(Value::as_str);
    match (source, kind) {
        (Some(source), Some("text")) => Ok(source.need("data", "the text of the document")?.text()?.to_owned()),
        _ => Ok(stand_in(place, "A document", unread)),
    }
}
