//! Special tokens that the text of a message spells. The upstream reads them as tokens, wherever they come from: a web page that a tool
//! read can end its message and begin one of the system.

use unjinja_runtime::abi::is_special_token;

use super::config::SpelledMarkers;
use super::models::ServedModel;
use super::state::State;
use crate::error::ApiError;
use crate::request::{Request, Role};

/// Refuses a request whose messages spell a special token, if the operator wants that. Returns whether they do.
///
/// With a tokenizer there is nothing to look for here: encoding the prompt finds all of them.
pub(crate) fn check(state: &State, served: &ServedModel, request: &Request) -> Result<bool, ApiError> {
    if served.encoding.is_some() || state.config.markers == SpelledMarkers::Trust {
        return Ok(false);
    }
    let tokens = &served.model.spec().tokens;
    let known = served.stops.iter().chain(&tokens.preserved).chain(&tokens.other);
    let tokens: Vec<&String> = known.filter(|token| is_special_token(token.as_bytes())).collect();
    for (at, message) in request.messages.iter().enumerate() {
        // What the model wrote comes back as it was.
        let text = message.content.as_deref().filter(|_| message.role != Role::Assistant).unwrap_or_default();
        let Some(token) = tokens.iter().find(|token| text.contains(token.as_str())) else { continue };
        if state.config.markers == SpelledMarkers::Report {
            return Ok(true);
        }
        let cause = format!("message {} spells {token:?}, which the model reads as a token", at + 1);
        return Err(ApiError::invalid("messages", cause, "write it in another way"));
    }
    Ok(false)
}
