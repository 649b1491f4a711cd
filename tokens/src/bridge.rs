//! The bridge from a turn that a model wrote to its next turn: only what is new becomes ids. The ids that the model read and wrote stay as
//! they are.

use std::ops::Range;

use serde_json::{Value, json};
use unjinja_dynamic::Conversation;
use unjinja_runtime::{Message, Options, Token, Tools};

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
    /// Whether the turn was cut off, so that the first ids are what ends it. The model has not written them.
    pub closes_turn: bool,
    /// Whether the template writes the turn as the model did. If not, the whole conversation renders to another text than these ids have,
    /// in white space or in the form of arguments: many templates trim an answer. What was sampled stays.
    pub same_text: bool,
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
    /// [`TokensError::Rewritten`] if the template writes the conversation until here in another way once it continues, and those of
    /// [`encode`](Self::encode).
    pub fn bridge(
        &self,
        conversation: &Conversation,
        sampled: &[u32],
        new_messages: &Value,
    ) -> Result<Bridge, TokensError> {
        let conversation = conversation.clone().generation_prompt(true);
        let mut options = Options::new().generation_prompt(self.model().prompt(&conversation)?.turn());
        // Where JSON alone announces a call, its name must be offered. A template may take tools of another form.
        if let Some(Ok(tools)) = conversation.offered_tools().map(Tools::from_openai) {
            options = options.tools(&tools);
        }
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
        let written = prompt.text().len()..end;
        if !says_the_same(&self.read_again(&next, &written, &options), &read) {
            let written = next.text().get(written).unwrap_or_default().to_owned();
            return Err(TokensError::Lossy { written });
        }

        let bytes = sampled.iter().map(|id| self.vocabulary().bytes(*id).unwrap_or("\u{FFFD}".as_bytes()));
        let sampled_text = bytes.collect::<Vec<_>>().concat();
        let first = next.ranges().iter().position(|range| range.start >= end).unwrap_or(next.ids().len());
        let closer = self.closer(&next, end, first).unwrap_or(first..first);
        let closer_start = next.ranges().get(closer.start).map_or(end, |range| range.start);
        let closer_text = next.text().get(closer_start..end).unwrap_or_default();
        // Some models end a turn with the token that begins the next message.
        let opener = next.ids().get(first).filter(|id| sampled.last() == Some(*id));
        let opener = opener.and_then(|id| self.vocabulary().control_token(*id));
        let closer_ids = next.ids().get(closer.clone()).unwrap_or_default();
        let is_spelled = closer_ids.iter().all(|id| self.vocabulary().control_token(*id).is_none());
        let is_closed = sampled.ends_with(closer_ids) || is_spelled && sampled_text.ends_with(closer_text.as_bytes());
        let closes_turn = !is_closed && opener.is_none();
        let from = if closes_turn {
            closer.start
        } else {
            first + usize::from(opener.is_some() && (!is_closed || closer.is_empty()))
        };
        let mut labels = next.labels().get(from..).unwrap_or_default().to_vec();
        let mut ids = next.ids().get(from..).unwrap_or_default().to_vec();
        let mut start = next.ranges().get(from).map_or(next.text().len(), |range| range.start);
        // One token may hold the end of the turn and text after it.
        let rest = next.text().get(end..start).filter(|rest| !rest.is_empty() && from == first);
        if let (Some(rest), Some(label)) = (rest, from.checked_sub(1).and_then(|at| next.labels().get(at))) {
            let rest = self.vocabulary().encode(rest, &|_| false)?;
            labels.splice(..0, rest.iter().map(|_| *label));
            ids.splice(..0, rest.into_iter().map(|piece| piece.id));
            start = end;
        }
        labels.iter_mut().for_each(|label| label.by_model = false);
        let turn_text = next.text().get(prompt.text().len()..start).unwrap_or_default();
        let same_text = turn_text.as_bytes() == sampled_text;
        Ok(Bridge { ids, labels, closes_turn, same_text, message: turn })
    }

    /// The tokens with which the turn ends that goes up to the byte `end` and the token `first`.
    fn closer(&self, encoded: &Encoded, end: usize, first: usize) -> Option<Range<usize>> {
        let last = first.checked_sub(1).filter(|at| encoded.labels().get(*at).is_some_and(|label| label.by_model))?;
        let text = self.model().spec().turn.end.trim();
        let spelled = encoded.text().get(..end).filter(|turn| !text.is_empty() && turn.ends_with(text));
        let start = spelled.map(|turn| turn.len() - text.len());
        let from = start.and_then(|start| encoded.ranges().iter().position(|range| range.start == start));
        let is_control = encoded.ids().get(last).is_some_and(|id| self.vocabulary().control_token(*id).is_some());
        from.or(is_control.then_some(last)).map(|from| from..first)
    }

    /// Reads a part of a text that was encoded: by its ids, so that what spells a marker is text.
    fn read_again(&self, encoded: &Encoded, part: &Range<usize>, options: &Options) -> Message {
        let options = self.options(options);
        let mut stream = self.model().stream(&options);
        let mut message = Message::default();
        let mut at = part.start;
        let text = |range: Range<usize>| encoded.text().get(range).unwrap_or_default();
        let tokens = encoded.ids().iter().zip(encoded.ranges());
        for (id, range) in tokens.filter(|(_, range)| range.start >= part.start && range.end <= part.end) {
            let Some(token) = self.vocabulary().control_token(*id) else { continue };
            stream.push_token(Token::text(text(at..range.start)), |event| message.apply(&event));
            stream.push_token(Token::special(token), |event| message.apply(&event));
            at = range.end;
        }
        stream.push_token(Token::text(text(at..part.end)), |event| message.apply(&event));
        stream.finish(|event| message.apply(&event));
        message
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
