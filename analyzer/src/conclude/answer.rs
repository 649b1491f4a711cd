//! What is around the answer: its own markers, an empty block of reasoning before it, and the end of the turn
//! (C1 with R1).

use unjinja_spec::{Content, ContentMode, Reasoning};

use super::opening::{Opening, Shown};
use crate::ask::Observed;
use crate::observed::{LabelledTurn, MessagePart};
use crate::text;

/// The markers around an answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub content: Content,
    /// The end of the turn.
    pub end: String,
    /// The closing marker of reasoning, without what belongs to the answer.
    pub reasoning_end: String,
    /// The texts in place of reasoning, in a turn that has none.
    pub empty_reasoning: Vec<String>,
}

pub(crate) fn answer(o: &Observed, opening: &Opening) -> Answer {
    let Opening { start, reasoning, shown, .. } = opening;
    let mut found = Answer { reasoning_end: reasoning.end.clone(), ..Answer::default() };
    let after = o.answer.only(MessagePart::Content).map_or("", |at| &o.answer.text[at.end..]);
    if let Some(marker) = prompted(o, start, &reasoning.end) {
        found.reasoning_end.truncate(reasoning.end.len() - marker.len());
    }
    let reasoning = &Reasoning { end: found.reasoning_end.clone(), ..reasoning.clone() };
    let lead = marker_before(o, start, reasoning);
    let lead = strip_empty_reasoning(lead, reasoning, &mut found.empty_reasoning);
    // Every past answer may be after the opener of reasoning.
    let lead = if lead.trim() == reasoning.start.trim() { "" } else { lead };
    if let Some(shown) = shown {
        between(&mut found, shown, lead);
        instead_of_calls(&mut found, shown, after);
    } else if !lead.trim().is_empty() {
        found.content.mode = ContentMode::AlwaysWrapped;
        found.content.start = lead.to_owned();
    }
    let (wrapper, end) = split_end(o, after, start, &found.content);
    found.end = end;
    if found.content.mode == ContentMode::AlwaysWrapped {
        found.content.end = wrapper;
    }
    found.content.label = label(o, &found.content, start, reasoning);
    found
}

/// What an answer without markers begins with only while tools are offered.
fn label(o: &Observed, content: &Content, start: &str, reasoning: &Reasoning) -> String {
    let lead = o.with_tools.as_ref().filter(|turn| turn.only(MessagePart::Content).is_some()).and_then(|turn| {
        let lead = turn.lead().strip_prefix(start)?;
        Some(strip_empty_reasoning(lead, reasoning, &mut Vec::new()))
    });
    let is_new = |lead: &&str| content.mode == ContentMode::Plain && !lead.trim().is_empty();
    let plain = o.answer.lead().get(start.len()..).unwrap_or("").trim();
    lead.filter(is_new)
        .filter(|lead| plain.is_empty() && lead.trim() != reasoning.start.trim())
        .unwrap_or("")
        .to_owned()
}

/// The marker of the answer at the end of the text after reasoning. A generation prompt that skips reasoning shows it.
fn prompted<'r>(o: &Observed, start: &str, reasoning_end: &'r str) -> Option<&'r str> {
    let prompts = o.first_prompts();
    let markers = prompts.iter().filter_map(|prompt| prompt.text.strip_prefix(start));
    let marker = markers
        .filter(|marker| !marker.trim().is_empty())
        .find(|marker| reasoning_end.strip_suffix(marker).is_some_and(|end| !end.trim().is_empty()))?;
    Some(&reasoning_end[reasoning_end.len() - marker.len()..])
}

/// The text between the start of the turn and an answer without reasoning: nothing, an empty block of reasoning, or a
/// marker of the answer. Such a marker is there in past turns too.
fn marker_before<'o>(o: &'o Observed, start: &str, reasoning: &Reasoning) -> &'o str {
    let lead = o.answer.lead().get(start.len()..).unwrap_or("");
    let Some(past) = o.past.as_ref().filter(|past| past.only(MessagePart::Content).is_some()) else { return lead };
    if strip_empty_reasoning(lead, reasoning, &mut Vec::new()).len() < lead.len() {
        return lead;
    }
    let past = past.lead().strip_prefix(start).unwrap_or("");
    &lead[lead.len() - text::common_suffix(lead, past)..]
}

/// Finds the part of the text between reasoning and answer that is a marker of the answer.
fn between(found: &mut Answer, shown: &Shown, lead: &str) {
    if !lead.trim().is_empty() {
        found.content.mode = ContentMode::AlwaysWrapped;
        found.content.start = lead.to_owned();
        let end = shown.to_content.as_deref().unwrap_or(&found.reasoning_end).strip_suffix(lead);
        if let Some(end) = end.map(str::to_owned) {
            found.reasoning_end = end;
        }
        return;
    }
    let Some(to_content) = &shown.to_content else { return };
    // The calls show where the closing marker ends; the rest comes before an answer only.
    if let Some(rest) = to_content.strip_prefix(found.reasoning_end.as_str())
        && !rest.trim().is_empty()
    {
        found.content.mode = ContentMode::WrappedWithReasoning;
        found.content.start = rest.to_owned();
    }
}

/// An answer after reasoning may be followed by more text than an answer alone. Then it has markers. If no calls show
/// where its opening marker begins, it begins after the first tag that follows the reasoning.
fn instead_of_calls(found: &mut Answer, shown: &Shown, after: &str) {
    if found.content.mode == ContentMode::AlwaysWrapped {
        return;
    }
    let Some(end) = shown.after_content.as_deref().and_then(|with| with.strip_suffix(after)) else { return };
    if end.trim().is_empty() {
        return;
    }
    if found.content.mode == ContentMode::Plain {
        let first = text::first_tag_with_layout(&found.reasoning_end).to_owned();
        let start = found.reasoning_end[first.len()..].to_owned();
        if start.trim().is_empty() {
            return;
        }
        found.reasoning_end = first;
        found.content.mode = ContentMode::WrappedWithReasoning;
        found.content.start = start;
    }
    found.content.end = end.to_owned();
}

/// Splits the text after an answer into the closing marker of the answer, if it has one, and the end of the turn.
fn split_end(o: &Observed, after: &str, start: &str, content: &Content) -> (String, String) {
    // What the template writes after any last message is not part of the turn.
    let past = o.past.as_ref().and_then(|past| past.only(MessagePart::Content).map(|at| &past.text[at.end..]));
    let mut end = match past.map(|past| text::common_prefix(after, past)) {
        // The last turn may end in another way than past turns.
        None | Some(0) => after,
        Some(common) => &after[..common],
    };
    // A template that always writes a generation prompt begins the next turn here.
    let next = start.trim();
    if let Some(at) = after.find(next).filter(|at| !next.is_empty() && *at < end.len()) {
        end = &end[..at];
    }
    if content.mode != ContentMode::AlwaysWrapped {
        return (String::new(), end.to_owned());
    }
    if let Some(closer) = closer_with_calls(o, end) {
        let (closer, end) = end.split_at(closer);
        return (closer.to_owned(), end.to_owned());
    }
    let tail = o.calls.as_ref().map(|calls| calls.one.text.as_str());
    let cut = match tail.map_or(0, |tail| common_end(end, tail)) {
        0 => text::tags(end).first().map_or(0, |tag| end.find(tag).map_or(0, |at| at + tag.len())),
        common => end.len() - common,
    };
    // Without calls to compare with, the end of the turn must not become empty.
    if cut < end.len() || tail.is_some() {
        (end[..cut].to_owned(), end[cut..].to_owned())
    } else {
        (String::new(), end.to_owned())
    }
}

/// The length of what follows an answer whether or not calls come after it, if that is a part of `end`, with whole tags.
fn closer_with_calls(o: &Observed, end: &str) -> Option<usize> {
    let turn = o.calls.as_ref()?.after_answer.as_ref()?;
    let content = turn.only(MessagePart::Content)?;
    let common = &end[..text::common_prefix(end, &turn.text[content.end..])];
    let tag = text::tags(common).pop()?;
    let closer = common.rfind(tag)? + tag.len();
    (!end[closer..].trim().is_empty()).then_some(closer)
}

/// The longest end of `end` that `tail` ends with, or else holds.
fn common_end(end: &str, tail: &str) -> usize {
    let common = text::common_suffix(end, tail);
    let (before, shared) = end.split_at(end.len() - common);
    // A bracket after a word closes the marker of that word, even if all markers end with it.
    let closes = before.ends_with(char::is_alphanumeric)
        && shared.starts_with(['[', ']', '>', '}', ')'])
        && !text::tags(shared).first().is_some_and(|tag| shared.starts_with(tag));
    let common = common - usize::from(closes);
    if !end[end.len() - common..].trim().is_empty() {
        return common;
    }
    text::tags(end)
        .into_iter()
        .filter_map(|tag| end.find(tag))
        .find(|&at| tail.contains(&end[at..]))
        .map_or(0, |at| end.len() - at)
}

/// Removes an empty block of reasoning from the start of `lead`, and adds the block to `noted`.
fn strip_empty_reasoning<'a>(lead: &'a str, reasoning: &Reasoning, noted: &mut Vec<String>) -> &'a str {
    let (start, end) = (reasoning.start.trim(), reasoning.end.trim());
    if end.is_empty() {
        return lead;
    }
    let inner = lead.trim_start();
    let inner = if start.is_empty() { inner } else { inner.strip_prefix(start).unwrap_or(inner) };
    match inner.trim_start().strip_prefix(end) {
        Some(rest) => {
            noted.push(lead[..lead.len() - rest.trim_start().len()].to_owned());
            rest.trim_start()
        }
        None => lead,
    }
}

/// The text without an empty block of reasoning at its start.
pub(crate) fn without_empty_reasoning<'a>(lead: &'a str, reasoning: &Reasoning) -> &'a str {
    strip_empty_reasoning(lead, reasoning, &mut Vec::new())
}

/// The text before every user message of a conversation.
pub(crate) fn user_start(o: &Observed, answer: &Answer) -> String {
    let ends = [format!("{}{}", answer.content.end, answer.end), answer.end.clone()];
    let rest =
        o.past.as_ref().and_then(|past: &LabelledTurn| Some(&past.text[past.all(MessagePart::Content).last()?.end..]));
    if let Some(start) = rest.and_then(|rest| ends.iter().find_map(|end| rest.strip_prefix(end.as_str()))) {
        return start.to_owned();
    }
    let before = o.user_alone.find(crate::sentinels::SENTINELS.user).map_or("", |at| &o.user_alone[..at]);
    text::tags(before).last().map_or(String::new(), |tag| (*tag).to_owned())
}
