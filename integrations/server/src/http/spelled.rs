//! Special tokens that texts of a request spell. The upstream reads them as tokens, wherever they come from: a web page that a tool read can
//! end its message and begin one of the system, and so can the description of a tool.

use unjinja_dynamic::authors::{PromptWriters, TokenVerdict};

use super::config::SpelledMarkers;
use super::guarantees::refused as not_rendered;
use super::models::ServedModel;
use super::state::State;
use super::tools::ToolUse;
use crate::error::ApiError;
use crate::prepare::Prepared;
use crate::request_value::shortened;

/// Refuses a request that spells a special token in the prompt, if the operator wants that. Returns whether it does. The prompt is rendered
/// with labels: whatever the template did not write counts, in whichever field it is.
///
/// With a tokenizer there is nothing to look for here: encoding the prompt finds all of them.
pub(crate) fn check(state: &State, served: &ServedModel, prepared: &Prepared) -> Result<bool, ApiError> {
    let markers = state.config.markers;
    let tokens: Vec<&str> = served.watched_tokens().into_iter().collect();
    if tokens.is_empty() || markers == SpelledMarkers::Trust {
        return Ok(false);
    }
    // Labels cost as much as the prompt does. Nothing of a special token is escaped in JSON.
    if markers == SpelledMarkers::Report {
        let said = prepared.context.to_string();
        if !tokens.iter().any(|token| said.contains(*token)) {
            return Ok(false);
        }
    }
    // Tools that the template does not print are described in a message.
    let tools = match served.tools {
        ToolUse::Lost { .. } => prepared.context["tools"].to_string(),
        ToolUse::Printed => String::new(),
    };
    let rendered = served.tokens.labelled(&served.model, prepared).map_err(not_rendered).and_then(|prompt| {
        let cause = "the prompt is too long to tell who wrote what of it";
        let too_long = || ApiError::invalid("messages", cause, "shorten the conversation");
        prompt.labels.is_complete().then_some(prompt).ok_or_else(too_long)
    });
    let prompt = match rendered {
        Ok(prompt) => prompt,
        Err(error) if markers == SpelledMarkers::Refuse => return Err(error),
        Err(_) => return Ok(true),
    };
    let writers = PromptWriters::new(&prompt, &|text| tokens.contains(&text));
    let places = tokens.iter().flat_map(|&token| prompt.text.match_indices(token));
    let ranges = places.map(|(at, token)| (token, at..at + token.len()));
    let mut spelled = ranges.filter(|(_, range)| writers.verdict(range) != TokenVerdict::Control);
    let in_prompt = spelled.next().map(|(token, range)| (token, writers.spelled(token, &range).path));
    // A begun answer that the template changes is in the prompt as the client wrote it.
    let begun = prepared.begun.as_ref().map_or("", |begun| begun.text());
    let elsewhere = [(tools.as_str(), "tools"), (begun, "messages")]
        .into_iter()
        .find_map(|(text, path)| tokens.iter().find(|token| text.contains(**token)).map(|token| (*token, path.into())));
    match in_prompt.or(elsewhere) {
        Some((token, path)) if markers == SpelledMarkers::Refuse => {
            let place = if path.is_empty() { "messages" } else { shortened(&path) };
            let cause = format!("this spells {token:?}, which the model reads as a token");
            Err(ApiError::invalid(place, cause, "write it in another way"))
        }
        found => Ok(found.is_some()),
    }
}
