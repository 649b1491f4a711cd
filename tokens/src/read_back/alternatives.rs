//! What else a transcript can be: other messages for which the template writes the same text.

use std::ops::Range;

use serde_json::Value;

use super::pattern::{FoundPattern, Pattern, Text, TextKind};
use super::{Alternative, ConversationReader, PlacedMessage, ReadConversation};

/// How many messages an alternative may have, and how many are tried. Each one is rendered.
const LONGEST: usize = 8;
const TRIED: usize = 64;

/// Steps that may take the place of others.
type Others<'p> = (Range<usize>, Vec<PlacedMessage<'p>>);

impl ConversationReader {
    /// The alternatives of a conversation that was read in these steps; `written` is what the template writes for it.
    pub(super) fn alternatives(
        &self,
        text: Text<'_>,
        steps: &[PlacedMessage<'_>],
        read: &ReadConversation,
        written: &str,
    ) -> Vec<Alternative> {
        let mut found: Vec<Alternative> = Vec::new();
        let others = (0..read.messages.len()).flat_map(|index| self.others(text, steps, index));
        let others = others.map(|(replaces, steps)| {
            let messages = steps.iter().map(|step| self.message(text, step, &read.tools).0).collect();
            Alternative { replaces: replaces.start..replaces.end.min(read.messages.len()), messages }
        });
        let untyped = read.messages.iter().enumerate().filter_map(|(index, message)| {
            let messages = vec![with_texts(&message.message)?];
            Some(Alternative { replaces: index..index + 1, messages })
        });
        for alternative in others.chain(untyped).take(TRIED) {
            let read_now = || read.messages.iter().map(|message| &message.message);
            let mut messages: Vec<Value> = read_now().cloned().collect();
            messages.splice(alternative.replaces.clone(), alternative.messages.iter().cloned());
            let is_new = !found.contains(&alternative) && !messages.iter().eq(read_now());
            let is_same = |other: String| other == written || other == text.text;
            if is_new && self.write_messages(messages, read).is_some_and(is_same) {
                found.push(alternative);
            }
        }
        found
    }

    /// Steps for whose messages the template writes the transcript, where it does not for these.
    pub(super) fn better<'p>(
        &'p self,
        text: Text<'_>,
        steps: &[PlacedMessage<'p>],
        read: &ReadConversation,
    ) -> Option<Vec<PlacedMessage<'p>>> {
        let others = (0..read.messages.len()).flat_map(|index| self.others(text, steps, index));
        let changed = others.take(TRIED).map(|(replaces, other)| {
            let mut steps = steps.to_vec();
            steps.splice(replaces, other);
            steps
        });
        let mut changed = changed.filter(|steps| {
            let other = self.messages(text, steps, read.unread.clone());
            self.write(&other).is_some_and(|written| written == text.text)
        });
        changed.next()
    }

    /// Other ways to read what begins with a message, up to where both ways meet again.
    fn others<'p>(&'p self, text: Text<'_>, steps: &[PlacedMessage<'p>], index: usize) -> Vec<Others<'p>> {
        let Some(here) = steps.get(index) else { return Vec::new() };
        let is_other = |pattern: &&Pattern| pattern.from == here.place.pattern.from && pattern.to != TextKind::End;
        let places =
            self.patterns.iter().filter(is_other).filter_map(|pattern| pattern.at(text, here.place.range.start));
        places.filter_map(|place| self.until_they_meet(text, steps, index, place)).collect()
    }

    /// The steps from a place on, up to where they meet those that are known.
    fn until_they_meet<'p>(
        &'p self,
        text: Text<'_>,
        steps: &[PlacedMessage<'p>],
        index: usize,
        first: FoundPattern<'p>,
    ) -> Option<Others<'p>> {
        let mut others: Vec<PlacedMessage<'p>> = Vec::new();
        let mut next = Some(first);
        while let Some(place) = next.filter(|_| others.len() < LONGEST) {
            let meets =
                |step: &PlacedMessage<'_>| (step.kind(), step.place.range.end) == (place.pattern.to, place.range.end);
            let met = steps.get(index..)?.iter().position(meets);
            // Both begin at the same place; this message may still end where only white space tells it from the next one.
            if let Some(at) = met.filter(|at| *at > 0 || !others.is_empty()) {
                return Some((index..index + at, others));
            }
            next = self.next(text, place.pattern.to, place.range.end, |_| true);
            let end = next.as_ref().map_or(text.text.len(), |next| next.range.start + next.pattern.kept);
            others.push(PlacedMessage { place, end });
            next = next.filter(|next| next.pattern.to != TextKind::End);
            if next.is_none() {
                return Some((index..steps.len(), others));
            }
        }
        None
    }
}

/// The same message with the numbers and words of its arguments as texts: a format may not tell `5` from `"5"`.
fn with_texts(message: &Value) -> Option<Value> {
    let mut other = message.clone();
    let mut changed = false;
    for call in other["tool_calls"].as_array_mut().into_iter().flatten() {
        let arguments = &mut call["function"]["arguments"];
        let mut object: Value = serde_json::from_str(arguments.as_str()?).ok()?;
        for value in object.as_object_mut().into_iter().flat_map(|object| object.values_mut()) {
            if value.is_number() || value.is_boolean() || value.is_null() {
                *value = value.to_string().into();
                changed = true;
            }
        }
        *arguments = object.to_string().into();
    }
    changed.then_some(other)
}
