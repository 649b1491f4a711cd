//! The body of a turn with calls, and the markers around one call and around all calls of a turn (T1 and T2).

use unjinja_spec::{CallIdPosition, ContentMode, Reasoning, Tools};

use super::super::answer::without_empty_reasoning;
use super::super::frame::Frame;
use crate::ask::CallTurns;
use crate::observed::{LabelledTurn, MessagePart};
use crate::text::{self, space};

/// The bodies that are compared: turns without their start, without empty reasoning and without their end.
pub(super) struct Bodies {
    pub one: LabelledTurn,
    pub two: Option<LabelledTurn>,
    /// White space before the first marker that only appears after an answer.
    pub lead: String,
    /// The end of the turn.
    pub turn_end: String,
    /// What opens each message of the turn.
    pub prompted_header: String,
}

impl Bodies {
    /// The bodies with a mark in place of each name that is written again.
    pub(super) fn with_repeated_names(self) -> Self {
        Self { one: self.one.with_repeated_names(), two: self.two.map(|two| two.with_repeated_names()), ..self }
    }

    pub(super) fn of(calls: &CallTurns, frame: &Frame) -> Self {
        let one = body(&calls.one, frame);
        let two = calls.two.as_ref().map(|turn| body(turn, frame));
        Self {
            lead: lead_after_answer(calls, frame, &one),
            one,
            two,
            turn_end: frame.end.clone(),
            prompted_header: frame.prompted_header.clone(),
        }
    }
}

/// The body of a turn with calls: what is between the start and the end of the turn.
pub(super) fn body(turn: &LabelledTurn, frame: &Frame) -> LabelledTurn {
    let text = turn.text.as_str();
    // A turn without an answer may lack white space of the start.
    let after_start = text::without_start(text, &frame.start);
    let mut rest = without_empty_reasoning(after_start, &frame.reasoning);
    // The markers of the answer may be there without an answer, or around the calls too.
    let (open, close) = (frame.content.start.trim(), frame.content.end.trim());
    // A marker that ends in a word may be the beginning of another one.
    let after_open = &frame.content.start[frame.content.start.trim_end().len()..];
    if !open.is_empty()
        && let Some(inside) = rest.trim_start().strip_prefix(open)
        && (!open.ends_with(char::is_alphanumeric)
            || after_open.chars().next().is_none_or(|space| inside.starts_with(space)))
    {
        let inside = inside.trim_start();
        rest = if close.is_empty() { inside } else { inside.strip_prefix(close).unwrap_or(inside) };
    }
    let mut from = text.len() - rest.len();
    // A word that only the question put there.
    if let Some(content) = turn.first(MessagePart::Content)
        && turn.holes.first().is_some_and(|hole| hole.part == MessagePart::Content)
    {
        let rest = &text[content.end..];
        from = text.len() - rest.strip_prefix(frame.content.end.as_str()).unwrap_or(rest).len();
    }
    let mut body = turn.tail(from);
    let end = frame.end.as_str();
    let core = end.trim();
    let until = if core.is_empty() {
        body.text.strip_suffix(end).map(str::len)
    } else {
        // The end of the turn is the first one after the last hole.
        text::after(&body.text, body.last_end(), core).map(|at| {
            let before = &body.text[..at.start];
            let layout = &end[..end.find(core).unwrap_or(0)];
            before.strip_suffix(layout).unwrap_or(before).len()
        })
    };
    if let Some(until) = until {
        body = body.piece(0..until);
    }
    body
}

/// The white space before the first marker of a call that only appears if an answer comes before the call.
fn lead_after_answer(calls: &CallTurns, frame: &Frame, one: &LabelledTurn) -> String {
    let Some(turn) = &calls.after_answer else { return String::new() };
    let Some(at) = turn.only(MessagePart::Content) else { return String::new() };
    let rest = &turn.text[at.end..];
    let rest = rest.strip_prefix(frame.content.end.as_str()).unwrap_or(rest);
    let (with, without) = (space(rest), space(&one.text));
    let begins = |text: &str| text.trim_start().chars().take(8).collect::<String>();
    let same = begins(rest) == begins(&one.text);
    if same && with.len() > without.len() {
        with.strip_suffix(without).unwrap_or(with).to_owned()
    } else {
        String::new()
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Around {
    pub section_start: String,
    pub per_call_start: String,
    pub per_call_end: String,
    pub section_end: String,
    pub separator: String,
}

/// The text after the last call. Some templates close the calls of a turn only if there are several.
pub(super) fn longer_close<'a>(one: &'a str, pair: &'a str) -> &'a str {
    if pair.starts_with(one) { pair } else { one }
}

impl Around {
    /// T1 and T2: splits the text before the first call (`open`), between two (`middle`) and after the last (`close`)
    /// into the markers of a call and those of all calls. What is written once belongs to all calls, what is written for
    /// each call to the call.
    ///
    /// `turn_end` is the end of the turn. In formats whose turns are several messages it ends each call, too.
    pub(super) fn split(open: &str, middle: Option<&str>, close: &str, turn_end: &str) -> Self {
        let Some(middle) = middle else {
            return Self { per_call_start: open.to_owned(), per_call_end: close.to_owned(), ..Self::default() };
        };
        let mut suffix = text::common_suffix(open, middle);
        // White space alone does not open a call that is in a section.
        if open[open.len() - suffix..].trim().is_empty() && !open.trim().is_empty() {
            suffix = 0;
        }
        let rest = &middle[..middle.len() - suffix];
        let prefix = text::common_prefix(close, rest);
        let (mut end, mut separator) = rest.split_at(prefix);
        if end.trim().is_empty() {
            // White space alone does not close a call.
            (end, separator) = ("", rest);
            if !turn_end.trim().is_empty() && rest.trim() == turn_end.trim() {
                (end, separator) = (rest, "");
            }
        }
        Self {
            section_start: open[..open.len() - suffix].to_owned(),
            per_call_start: open[open.len() - suffix..].to_owned(),
            per_call_end: end.to_owned(),
            section_end: close.strip_prefix(end).unwrap_or_default().to_owned(),
            separator: separator.to_owned(),
        }
    }

    /// Writes the markers into a spec. `lead` is the white space before the first one after an answer.
    pub(super) fn apply(self, mut tools: Tools, lead: &str) -> Tools {
        tools.section_start = self.section_start;
        tools.per_call_start = self.per_call_start;
        tools.per_call_end = self.per_call_end;
        tools.section_end = self.section_end;
        tools.separator = self.separator;
        if !tools.section_start.is_empty() {
            tools.section_start.insert_str(0, lead);
            return tools;
        }
        let id_is_first = tools.call_id.position == CallIdPosition::PreFuncName && !tools.call_id.prefix.is_empty();
        let opener = match tools.per_call_start.is_empty() {
            true if id_is_first => &mut tools.call_id.prefix,
            true => &mut tools.function.name_prefix,
            false => &mut tools.per_call_start,
        };
        if !opener.is_empty() {
            opener.insert_str(0, lead);
            // The opener of the second call begins with it too.
            if let Some(rest) = tools.separator.strip_suffix(lead) {
                tools.separator.truncate(rest.len());
            }
        }
        tools
    }
}

/// For two texts that differ only in a number that counts up: the text before the number and the text after it.
pub(super) fn counted<'t>(first: &'t str, second: &str) -> Option<(&'t str, &'t str)> {
    let at = first.find(|c: char| c.is_ascii_digit())?;
    fn digits(text: &str, at: usize) -> Option<(i64, &str)> {
        let rest = text.get(at..)?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        Some((rest[..end].parse().ok()?, &rest[end..]))
    }
    let ((a, rest), (b, other)) = (digits(first, at)?, digits(second, at)?);
    (b == a + 1 && rest == other && first[..at] == second[..at]).then_some((&first[..at], rest))
}

/// Splits the text before a name into the opener of the call and the prefix of the name. The prefix is an unfinished
/// tag, or what follows the first of several tags. What opens each message of the turn is not split, and neither is a token that
/// is before every tag of a call from the tag.
pub(super) fn split_prefix<'t>(text: &'t str, prompted_header: &str, before_tags: &str) -> (&'t str, &'t str) {
    if !prompted_header.trim().is_empty() && text.trim() == prompted_header.trim() {
        return (text, "");
    }
    if let Some(open) = text.rfind('<')
        && !text[open..].contains('>')
    {
        let open = open - if text[..open].ends_with(before_tags) { before_tags.len() } else { 0 };
        // White space before a tag belongs to it.
        return text.split_at(if text[..open].trim().is_empty() { 0 } else { open });
    }
    let tags = text::tags(text);
    if let [first, _, ..] = tags.as_slice()
        && let Some(at) = text.find(first)
    {
        return text.split_at(at + first.len());
    }
    text.split_at(text.len())
}

/// Splits the text after a call into what closes the name's tag and what closes the call. `before_tags` is a token that is before
/// every tag of a call.
pub(super) fn split_close<'a>(prefix: &str, text: &'a str, before_tags: &str) -> (&'a str, &'a str) {
    let from = match text.find(before_tags) {
        Some(at) if text[..at].trim().is_empty() => at + before_tags.len(),
        _ => 0,
    };
    let rest = &text[from..];
    let first = if prefix.contains('<') { text::tags(rest).into_iter().next() } else { None };
    match first.and_then(|tag| Some(from + rest.find(tag)? + tag.len())) {
        Some(end) => text.split_at(end),
        None => ("", text),
    }
}

/// C1 with T1: markers that are around an answer only if calls follow it. A call alone has the empty pair or nothing.
pub(crate) fn wrapper_with_calls(calls: &CallTurns, start: &str, reasoning: &Reasoning) -> Option<(String, String)> {
    let turn = calls.after_answer.as_ref()?;
    let content = turn.only(MessagePart::Content)?;
    let before = without_empty_reasoning(turn.text[..content.start].strip_prefix(start)?, reasoning);
    let call = turn.holes.iter().map(|hole| hole.range.start).find(|start| *start >= content.end)?;
    let after = &turn.text[content.end..call];
    let alone = without_empty_reasoning(calls.one.lead().strip_prefix(start)?, reasoning);
    let is_reasoning = before.trim() == reasoning.start.trim();
    let tag = text::first_tag_with_layout(after);
    let is_pair = alone.strip_prefix(before).is_some_and(|rest| rest.trim_start().starts_with(tag.trim()));
    // Or only an answer has the markers, and the call follows it as in a turn without an answer.
    let end = if is_pair { tag } else { after.strip_suffix(alone).unwrap_or("") };
    (!is_reasoning && !before.trim().is_empty() && !end.trim().is_empty()).then(|| (before.to_owned(), end.to_owned()))
}

/// C1 with T1: the markers around an answer that calls follow, if they differ from those around an answer alone.
pub(crate) fn frame_with_calls(calls: &CallTurns, frame: &Frame, tools: &Tools) -> Option<(String, String)> {
    let turn = calls.after_answer.as_ref()?;
    let content = turn.only(MessagePart::Content)?;
    let before = turn.text[..content.start].strip_prefix(frame.start.as_str())?;
    let before = without_empty_reasoning(before, &frame.reasoning);
    let openers = [&tools.section_start, &tools.per_call_start, &tools.function.name_prefix];
    let opener = openers.into_iter().find(|marker| !marker.trim().is_empty())?;
    let call = turn.holes.iter().map(|hole| hole.range.start).find(|start| *start >= content.end)?;
    let after = &turn.text[content.end..call];
    let after = &after[..after.rfind(opener.as_str()).or_else(|| after.rfind(opener.trim()))?];
    let known = before.trim() == frame.content.start.trim() && after.trim() == frame.content.end.trim();
    // Some templates write such an answer like reasoning.
    let is_reasoning = before.trim() == frame.reasoning.start.trim();
    let plain = frame.content.mode == ContentMode::Plain;
    (!plain && !known && !is_reasoning && !before.trim().is_empty()).then(|| (before.to_owned(), after.to_owned()))
}
