//! Whether a conversation only grows: each prompt begins with the prompt before it and with what the model wrote after that.

use serde_json::Value;
use unjinja_dynamic::Conversation;

use crate::encoder::{Encoded, Encoder};
use crate::error::TokensError;
use crate::rewrite::{PromptText, Rewrite};

/// How many characters of a changed text are shown.
const SHOWN: usize = 40;

impl Encoder {
    /// Whether a conversation only grows: for each message of the assistant, the prompt that it answers, and the turn that the
    /// template writes for it, stay as they are in the next prompt. Servers can then keep what they have computed, and ids that a
    /// model has written stay valid in training. Returns the first change.
    ///
    /// ```no_run
    /// # use unjinja_dynamic::Conversation;
    /// # use unjinja_tokens::Encoder;
    /// # let encoder = Encoder::from_folder("models/qwen3")?;
    /// let conversation = Conversation::new(serde_json::json!([
    ///     {"role": "user", "content": "2 + 2?"},
    ///     {"role": "assistant", "reasoning_content": "Easy.", "content": "4"},
    ///     {"role": "user", "content": "Thanks!"},
    /// ]));
    /// if let Some(rewrite) = encoder.rewrite(&conversation)? {
    ///     println!("{rewrite}"); // messages[1]: "<think>\nEasy." (line 34, column 13) becomes "4" (line 36, column 13)
    /// }
    /// # Ok::<(), unjinja_tokens::TokensError>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`encode`](Self::encode).
    pub fn rewrite(&self, conversation: &Conversation) -> Result<Option<Rewrite>, TokensError> {
        let messages = conversation.messages();
        let is_turn = |message: &Value| message["role"] == "assistant";
        for (index, _) in messages.iter().enumerate().filter(|(_, message)| is_turn(message)) {
            let prompt = self.encode_part(conversation, index, true)?;
            let done = self.encode_part(conversation, index + 1, false)?;
            if let Some(rewrite) = difference(index, &prompt, prompt.text().len(), &done) {
                return Ok(Some(rewrite));
            }
            let rest = messages.get(index + 1..).unwrap_or_default();
            if rest.is_empty() {
                break;
            }
            let next = rest.iter().position(is_turn).unwrap_or(rest.len());
            if next == 0 {
                continue;
            }
            let next = self.encode_part(conversation, index + 1 + next, true)?;
            let end = done.turn_ends.last().copied().unwrap_or_default();
            if let Some(rewrite) = difference(index, &done, end, &next) {
                return Ok(Some(rewrite));
            }
        }
        Ok(None)
    }

    /// The first messages of a conversation.
    fn encode_part(&self, conversation: &Conversation, count: usize, prompt: bool) -> Result<Encoded, TokensError> {
        let messages = conversation.messages().get(..count).unwrap_or_default();
        self.encode(&conversation.clone().with_messages(messages.to_vec()).generation_prompt(prompt))
    }
}

/// The first place where `after` is not what `before` has up to `end`.
pub(crate) fn difference(message: usize, before: &Encoded, end: usize, after: &Encoded) -> Option<Rewrite> {
    let (old, new) = (before.text().get(..end)?, after.text());
    if new.starts_with(old) {
        return None;
    }
    let same = old.char_indices().zip(new.chars()).find(|((_, old), new)| old != new).map(|((at, _), _)| at);
    let at = same.unwrap_or(old.len().min(new.len()));
    let written = |encoded: &Encoded, text: &str| PromptText {
        text: text.get(at..).unwrap_or_default().chars().take(SHOWN).collect(),
        statement: encoded.prompt.labels.statement_at(at),
    };
    Some(Rewrite { message, at, before: written(before, old), after: written(after, new) })
}
