//! What a request holds besides text. The upstream completes text, so a sentence replaces an image or a document:
//! clients keep such a part in the history, and a conversation in which every request is refused is lost.

use serde_json::Value;

use crate::error::ApiError;
use crate::request_value::RequestValue;

/// The places in a request where a sentence replaces something else.
pub(crate) type Replaced = Vec<String>;

/// The sentence in the place of something that is no text.
pub(crate) fn stand_in(place: &RequestValue<'_>, what: &str, replaced: &mut Replaced) -> String {
    replaced.push(place.path.clone());
    format!("[{what} was sent here, and cannot be shown: only text can be read]")
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
