//! The bridge from a turn that a model wrote to its next turn: only what is new becomes ids. The ids that the model read and wrote stay as
//! they are.

use serde_json::{Value, json};
use unjinja_dynamic::Conversation;
use unjinja_runtime::{Message, Options};

use crate::encoder::{Encoded, Encoder};
use crate::error::TokensError;
use crate::label::Label;
use crate::stable::difference;

/// What follows a turn that a model wrote, up to where it writes again.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Bridge {
    /// The ids to append to those of the prompt and of the turn.
    pub ids: Vec<u32>,
    /// What each of them is. [`Label::message`] is a position in the list that the template got for the whole conversation.
    pub labels: Vec<Label>,
    /// Whether the turn was cut off, so that the first id is the token that ends it. The model has not written it.
    pub closes_turn: bool,
    /// The turn that the model wrote, as a message for the conversation.
    pub message: Value,
}

impl Encoder {
    /// The ids that follow a turn: the new messages, such as the results of calls, and the beginning of the next turn.
    ///
    /// `conversation` is the one that was encoded as the prompt, `sampled` are the ids that the model wrote after it, and
    /// `new_messages` is a JSON list of the messages that follow.
    ///
    /// ```no_run
    /// # use serde_json::json;
    /// # use unjinja_dynamic::Conversation;
    /// # use unjinja_tokens::Encoder;
    /// # let encoder = Encoder::from_folder("models/qwen3")?;
    /// # fn generate(ids: &[u32]) -> Vec<u32> { Vec::new() }
    /// let conversation = Conversation::new(json!([{"role": "user", "content": "Is it raining?"}]));
    /// let mut ids = encoder.encode(&conversation)?.ids().to_vec();
    /// let sampled = generate(&ids);
    /// let bridge = encoder.bridge(&conversation, &sampled, &json!([{"role": "tool", "content": "no"}]))?;
    /// ids.extend(sampled.into_iter().chain(bridge.ids)); // the next prompt
    /// # Ok::<(), unjinja_tokens::TokensError>(())
    /// ```
    ///
    /// # Errors
    /// [`TokensError::Rewritten`] if the template writes the conversation until here in another way once it goes on, and those of
    /// [`encode`](Self::encode).
    pub fn bridge(
        &self,
        conversation: &Conversation,
        sampled: &[u32],
        new_messages: &Value,
    ) -> Result<Bridge, TokensError> {
        let conversation = conversation.clone().generation_prompt(true);
        let options = Options::new().generation_prompt(self.model().prompt(&conversation)?.turn());
        let prompt = self.encode(&conversation)?;
        let read = self.decode(sampled, &options).message;
        let turn = as_message(&read, new_messages);

        let mut messages = conversation.messages().to_vec();
        let position = messages.len();
        messages.push(turn.clone());
        let done = self.encode(&conversation.clone().with_messages(messages.clone()).generation_prompt(false))?;
        messages.extend(new_messages.as_array().into_iter().flatten().cloned());
        let next = self.encode(&conversation.with_messages(messages))?;

        let turns = done.turn_ends.len();
        let end = |encoded: &Encoded| turns.checked_sub(1).and_then(|last| encoded.turn_ends.get(last)).copied();
        let (Some(done_end), Some(end)) = (end(&done), end(&next)) else { return Err(TokensError::NoTurn) };
        let changed = difference(position, &prompt, prompt.text().len(), &done)
            .or_else(|| difference(position, &done, done_end, &next));
        if let Some(rewrite) = changed {
            return Err(TokensError::Rewritten(Box::new(rewrite)));
        }
        let written = next.text().get(prompt.text().len()..end).unwrap_or_default();
        if !says_the_same(&self.model().parse(written, &options), &read) {
            return Err(TokensError::Lossy { written: written.to_owned() });
        }

        let first = next.ranges().iter().position(|range| range.start >= end).unwrap_or(next.ids().len());
        let is_control = |id: &u32| self.vocabulary().control_token(*id).is_some();
        let closer = first.checked_sub(1).filter(|at| next.labels().get(*at).is_some_and(|label| label.by_model));
        let closer = closer.and_then(|at| next.ids().get(at)).filter(|id| is_control(id));
        let last = sampled.last();
        let closes_turn = closer.is_some_and(|closer| last != Some(closer));
        // Some models end a turn with the token that begins the next message.
        let is_there = closer.is_none() && last.is_some_and(is_control) && next.ids().get(first) == last;
        let from = if closes_turn { first - 1 } else { first + usize::from(is_there) };
        let mut labels = next.labels().get(from..).unwrap_or_default().to_vec();
        labels.iter_mut().for_each(|label| label.by_model = false);
        let ids = next.ids().get(from..).unwrap_or_default().to_vec();
        Ok(Bridge { ids, labels, closes_turn, message: turn })
    }
}

/// The turn as a message of the conversation. Calls without an id get that of the result that answers them.
fn as_message(read: &Message, new_messages: &Value) -> Value {
    let mut turn = json!(read);
    let results = new_messages.as_array().into_iter().flatten();
    let mut ids = results.filter(|message| message["role"] == "tool").map(|message| message["tool_call_id"].clone());
    for call in turn["tool_calls"].as_array_mut().into_iter().flatten() {
        let id = ids.next().unwrap_or_default();
        if call["id"].as_str().is_none_or(str::is_empty) && id.is_string() {
            call["id"] = id;
        }
    }
    turn
}

/// Whether a template writes all that the model wrote. White space and the form of arguments may differ.
fn says_the_same(written: &Message, read: &Message) -> bool {
    let calls = |message: &Message| -> Vec<(String, Value)> {
        let value = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| text.into());
        message.tool_calls.iter().map(|call| (call.name.clone(), value(&call.arguments))).collect()
    };
    written.content.trim() == read.content.trim()
        && written.reasoning_content.trim() == read.reasoning_content.trim()
        && calls(written) == calls(read)
}
