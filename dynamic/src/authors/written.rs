//! Which bytes of a prompt the model writes: for each message of the assistant all after what the prompt has of it, up to the token that
//! ends the turn.

use std::ops::Range;

use serde_json::Value;
use unjinja_spec::{END_OF_TEXT, FormatSpec, MarkerKey, tags};

use super::parts::{PromptParts, TokenPart};

/// A prompt, and what is known of it.
pub(super) struct Rendered<'p> {
    pub(super) text: &'p str,
    pub(super) parts: &'p PromptParts,
    pub(super) spec: &'p FormatSpec,
    /// What the prompt writes of a turn of the assistant.
    pub(super) generation_prompt: &'p str,
    /// The control tokens of the vocabulary in the text that the template wrote, in order.
    pub(super) tokens: &'p [Range<usize>],
    /// Where the prompt ends that a message of the assistant answers, if this text begins with it.
    pub(super) prompt_end: &'p dyn Fn(usize) -> Option<usize>,
    /// Where the conversation ends whose last message is this one, if this text begins with it.
    pub(super) done_end: &'p dyn Fn(usize) -> Option<usize>,
}

impl Rendered<'_> {
    /// The ranges that the model writes, for each message of the assistant.
    pub(super) fn by_model(&self, context: &Value) -> Vec<Vec<Range<usize>>> {
        let messages = context["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut turns = Vec::new();
        for (index, _) in messages.iter().enumerate().filter(|(_, message)| message["role"] == "assistant") {
            // After a user's message, the prompt is that of the first turn.
            let before = index.checked_sub(1).and_then(|before| messages.get(before));
            let is_asked = before.is_some_and(|message| message["role"] != "user");
            let mut ranges: Vec<Range<usize>> = Vec::new();
            let parts = self.parts.of_message(index);
            let last = parts.len().saturating_sub(1);
            for (at, range) in parts.into_iter().enumerate() {
                let start = if at == 0 { self.begin(&range, is_asked.then_some(index)) } else { range.start };
                let end = if at == last { self.end(start..range.end, index) } else { range.end };
                if start < end {
                    ranges.push(start..end);
                }
            }
            turns.push(ranges);
        }
        turns
    }

    /// Where the model begins in what was written for a message. The template is asked for the prompt of `asked`.
    fn begin(&self, range: &Range<usize>, asked: Option<usize>) -> usize {
        let body = self
            .parts
            .fields(range)
            .find(|(_, part)| *part != TokenPart::Role)
            .map_or(range.end, |(field, _)| field.start);
        let prompt = self.generation_prompt;
        if let Some(end) = self.prefix(prompt, range, range.end.min(body + prompt.len())) {
            return end;
        }
        // A past turn may be shorter than what a prompt has of a new one: its reasoning was taken out.
        self.prefix(&self.spec.turn.assistant_start, range, body).unwrap_or_else(|| {
            let end = asked.and_then(|message| (self.prompt_end)(message));
            end.filter(|end| (range.start..=body).contains(end)).unwrap_or(range.start)
        })
    }

    /// Where a text ends that the template wrote at the beginning of a message. Its own beginning may have been written before the
    /// message, with what closes the message before.
    fn prefix(&self, text: &str, range: &Range<usize>, limit: usize) -> Option<usize> {
        if text.trim().is_empty() {
            return None;
        }
        let from = range.start.saturating_sub(text.len());
        let from = (from..=range.start).find(|at| self.text.is_char_boundary(*at))?;
        // The limit is a count of bytes, which may end inside a character.
        let limit = (from..=limit).rev().find(|at| self.text.is_char_boundary(*at))?;
        let found = self.text.get(from..limit)?.match_indices(text).map(|(at, _)| from + at);
        let mut found = found.filter(|at| at + text.len() > range.start && self.is_header(*at..at + text.len(), range));
        found.next().map(|at| at + text.len())
    }

    /// Whether the template wrote this text, and no field but the role comes before it in the message. It may have changed the role:
    /// `role | capitalize`.
    fn is_header(&self, header: Range<usize>, message: &Range<usize>) -> bool {
        self.parts.fields(&(message.start.min(header.start)..header.end)).all(|(_, part)| part == TokenPart::Role)
    }

    /// Where the model ends: after the last control token that the template wrote in the rest of the message, or after the text that ends a
    /// turn if that comes later, whatever tokens spell it; else after the last field. The header of the next message is never the
    /// model's.
    fn end(&self, rest: Range<usize>, message: usize) -> usize {
        let fields = self.parts.fields(&rest).next_back().map_or(rest.start, |(field, _)| field.end);
        let rest = rest.start..self.next_header(fields..rest.end, message);
        let last = self.tokens.partition_point(|token| token.end <= rest.end);
        let token = self.tokens.get(..last).and_then(<[_]>::last).filter(|token| token.start >= rest.start);
        let token = token.map(|token| token.end).filter(|end| *end >= fields);
        let from = token.unwrap_or(fields);
        let closer = self.spec.turn.end.trim();
        let tail = self.text.get(from..rest.end).unwrap_or_default();
        match tail.find(closer).filter(|_| !closer.is_empty()) {
            Some(at) => from + at + closer.len(),
            None => token.unwrap_or(fields + tail.trim_end().len()),
        }
    }

    /// Where the header of the next message begins in the text after the last field of a message. Where no text ends a turn, a template
    /// may write that header with the message before it: the model stops at it.
    fn next_header(&self, tail: Range<usize>, message: usize) -> usize {
        let spec = self.spec;
        if ends_turns(spec) {
            return tail.end;
        }
        let is_header = |token: &str| !END_OF_TEXT.contains(&token) && spec.tokens.eos.as_deref() != Some(token);
        let first = |tokens: &[&str], from: usize| {
            let text = self.text.get(from..tail.end).unwrap_or_default();
            let found = tokens.iter().filter(|token| is_header(token)).filter_map(|token| text.find(token));
            found.min().map(|at| from + at)
        };
        let mut known = tags(&spec.turn.assistant_start);
        // The first of several tags of a user's turn may be what ends the turn before.
        known.extend(tags(&spec.turn.user_start).into_iter().filter(|tag| spec.turn.user_start.trim() == *tag));
        let known = first(&known, tail.start);
        // Another token is a header if the template writes it only because a message follows.
        let others: Vec<&str> = spec.tokens.other.iter().map(String::as_str).collect();
        let done = first(&others, tail.start).and_then(|_| (self.done_end)(message));
        let other = done.filter(|end| tail.contains(end)).and_then(|end| first(&others, end));
        known.into_iter().chain(other).min().unwrap_or(tail.end)
    }
}

/// Whether a text ends the turns of a format.
fn ends_turns(spec: &FormatSpec) -> bool {
    spec.markers().any(|(key, end)| key == MarkerKey::TurnEnd && !end.trim().is_empty())
}

/// The control tokens with which the next messages begin and at which the model stops, because no text ends a turn. The model writes
/// them, but not the header of its own next message.
pub(super) fn stops(
    spec: &FormatSpec,
    text: &str,
    turns: &[Vec<Range<usize>>],
    tokens: &[Range<usize>],
) -> Vec<Range<usize>> {
    if ends_turns(spec) {
        return Vec::new();
    }
    let own = spec.turn.assistant_start.trim();
    let stop = |turn: &Vec<Range<usize>>| {
        let end = turn.last()?.end;
        let next = tokens.iter().filter(|token| token.start >= end).min_by_key(|token| token.start)?;
        let is_bos = || spec.tokens.bos.as_deref() == text.get(next.clone());
        let is_own = || !own.is_empty() && text.get(next.start..).is_some_and(|rest| rest.starts_with(own));
        (text.get(end..next.start)?.trim().is_empty() && !is_bos() && !is_own()).then(|| next.clone())
    };
    turns.iter().filter_map(stop).collect()
}
