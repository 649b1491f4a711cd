//! Renders the prompt of a request as text and as token ids.

use unjinja_dynamic::{Conversation, LabelledPrompt, Missing, Model, ModelError, local_time};

use super::config::SpelledMarkers;
use super::encoding::Encoding;
use super::guarantees::refused as not_rendered;
use crate::error::ApiError;
use crate::prepare::Prepared;

/// A prompt as ids.
#[derive(Debug)]
pub(crate) struct EncodedPrompt {
    pub ids: Vec<u32>,
    /// How many special tokens texts of the request spell.
    pub spelled: usize,
    /// What the request hands over and the prompt lacks.
    pub missing: Vec<Missing>,
}

/// Renders the prompt of a request as text and as ids. They have the BOS that the template writes.
pub(crate) fn encoded(
    model: &Model,
    encoding: &Encoding,
    prepared: Prepared,
    markers: SpelledMarkers,
) -> Result<(Prepared, String, EncodedPrompt), ApiError> {
    let mut renders: Vec<LabelledPrompt> = Vec::new();
    let written = prepared.written.clone();
    let now = local_time();
    let rendered = prepared.render(model.spec(), |context| {
        let mut prompt = model.render_labelled(&Conversation::from_context(context).clock(now))?;
        prompt.written.clone_from(&written);
        let text = prompt.text.clone();
        renders.push(prompt);
        Ok::<_, ModelError>(text)
    });
    let (prepared, text) = rendered.map_err(not_rendered)?;
    // The prompt is one of them, the beginning of one, or one with the answer that the client began.
    let fits = |prompt: &LabelledPrompt| prompt.text.starts_with(&text) || text.starts_with(&prompt.text);
    let of = renders.into_iter().filter(fits).max_by_key(|prompt| prompt.text.len().min(text.len()));
    let mut prompt = of.ok_or_else(|| ApiError::new(500, "the prompt could not be made"))?;
    // The labels are those of the whole text.
    let missing = model.missing(&prompt);
    prompt.text.clone_from(&text);
    let (ids, spelled) = encoding.prompt(&prompt, markers)?;
    Ok((prepared, text, EncodedPrompt { ids, spelled, missing }))
}
