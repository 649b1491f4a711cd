//! R1 and R3: reasoning that past turns show. A message field carries a sentinel, and its place in the render shows the
//! markers around it.

use unjinja_spec::{Reasoning, ReasoningMode};

use crate::conversation::{AssistantMessage, Call, PARTS, Style};
use crate::probe::Probe;
use crate::sentinels::Sentinels;
use crate::text;
use crate::trace::Experiment;

/// Usual names of the message field that carries reasoning.
const REASONING_FIELDS: [&str; 6] = ["reasoning_content", "reasoning", "thinking", "thought", "thoughts", "tool_plan"];

/// Message fields that do not carry reasoning.
const OTHER_FIELDS: [&str; 14] = [
    "role",
    "content",
    "tool_calls",
    "tool_call_id",
    "name",
    "function_call",
    "id",
    "type",
    "refusal",
    "audio",
    "images",
    "recipient",
    "prefix",
    "documents",
];

/// Reasoning as a render shows it.
pub(super) struct Shown {
    pub(super) field: String,
    pub(super) with_content: bool,
    /// All of the turn before the reasoning.
    pub(super) before: String,
    /// From the reasoning to the answer; `None` if no answer follows it.
    pub(super) to_content: Option<String>,
    /// From the reasoning to the end of the turn of a call.
    pub(super) to_call: Option<String>,
    /// The turn of the same call without reasoning.
    pub(super) call_alone: Option<String>,
    /// From the answer to the end of the turn.
    pub(super) after_content: Option<String>,
}

/// R1 and R3: whether and how reasoning that a message carries is rendered.
pub(super) fn shown_reasoning(probe: &Probe<'_>, s: &Sentinels, call: &Call, calls: Option<Style>) -> Option<Shown> {
    for field in reasoning_fields(probe, s, calls) {
        let with_content = AssistantMessage::content(s.content).with_reasoning(&field, s.reasoning);
        let with_content = probe.turn(s, &with_content, Style::PLAIN).ok();
        let found = with_content.as_deref().and_then(|turn| {
            let reasoning = text::once(turn, s.reasoning)?;
            let content = text::once(turn, s.content)?;
            (reasoning.end <= content.start).then(|| {
                let to_content = turn[reasoning.end..content.start].to_owned();
                (turn[..reasoning.start].to_owned(), to_content, turn[content.end..].to_owned())
            })
        });
        let with_call = calls.and_then(|style| {
            let turn = AssistantMessage::calls(std::slice::from_ref(call)).with_reasoning(&field, s.reasoning);
            probe.turn(s, &turn, style).ok()
        });
        let found_call = with_call.as_deref().and_then(|turn| {
            let reasoning = text::once(turn, s.reasoning)?;
            Some((turn[..reasoning.start].to_owned(), turn[reasoning.end..].to_owned()))
        });
        let (content_before, to_content, after_content) =
            found.map_or((None, None, None), |(before, to, after)| (Some(before), Some(to), Some(after)));
        let (call_before, to_call) = found_call.map_or((None, None), |(b, t)| (Some(b), Some(t)));
        let with_content = content_before.is_some();
        if let Some(before) = content_before.or(call_before) {
            // A text that no marker follows is not reasoning but, for example, a name or a date.
            let marked = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.trim().is_empty());
            if !marked(&to_content) && !marked(&to_call) {
                no_reasoning(probe, s, &field, call, calls, "no marker follows its text, so it is not reasoning");
                continue;
            }
            let call_alone =
                calls.and_then(|style| probe.turn(s, &AssistantMessage::calls(std::slice::from_ref(call)), style).ok());
            return Some(Shown { field, with_content, before, to_content, to_call, call_alone, after_content });
        }
        no_reasoning(probe, s, &field, call, calls, "its text is not rendered exactly once before the answer");
    }
    None
}

/// The message fields that may carry reasoning: the usual names that the template mentions, then whatever else it
/// looks for in an assistant's message.
pub(super) fn reasoning_fields(probe: &Probe<'_>, s: &Sentinels, calls: Option<Style>) -> Vec<String> {
    let source = probe.template.source();
    let named = REASONING_FIELDS.iter().filter(|field| source.contains(*field)).map(|field| (*field).to_owned());
    let parts = source.contains("'thinking'") || source.contains("\"thinking\"");
    let mut fields: Vec<String> = named.chain(parts.then(|| PARTS.to_owned())).collect();
    for field in probe.fields_read(s, calls) {
        if !OTHER_FIELDS.contains(&field.as_str()) && !fields.contains(&field) {
            fields.push(field);
        }
    }
    fields
}

pub(super) fn markers_shown(shown: &Shown, start: &str) -> Reasoning {
    let opening = shown.before.get(start.len()..).unwrap_or("");
    let end = match (&shown.to_content, &shown.to_call) {
        (Some(to_content), Some(to_call)) => {
            let common = text::common_prefix(to_content, to_call);
            let common = &to_content[..common];
            // White space that only one of them has belongs to the marker too.
            let more = &to_content[common.len()..];
            if more.trim().is_empty() { to_content.clone() } else { common.to_owned() }
        }
        (Some(to_content), None) => to_content.clone(),
        (None, Some(to_call)) => {
            // The marker is followed by what the same call looks like without reasoning.
            let body = shown.call_alone.as_deref().and_then(|alone| alone.strip_prefix(start)).unwrap_or("");
            let is_end = |end: &&str| !body.trim().is_empty() && !end.trim().is_empty();
            match to_call.strip_suffix(body).filter(is_end) {
                Some(end) => end.to_owned(),
                None => first_tag_with_layout(to_call).to_owned(),
            }
        }
        (None, None) => String::new(),
    };
    Reasoning {
        mode: if shown.with_content { ReasoningMode::TagBased } else { ReasoningMode::ToolsOnly },
        start: opening.to_owned(),
        end,
        field: shown.field.clone(),
        ..Reasoning::default()
    }
}

/// The first tag of a text with the white space around it.
pub(super) fn first_tag_with_layout(text: &str) -> &str {
    let Some(tag) = text::tags(text).into_iter().next() else { return "" };
    let Some(at) = text.find(tag) else { return "" };
    let end = at + tag.len();
    let rest = &text[end..];
    let space = rest.len() - rest.trim_start().len();
    if text[..at].trim().is_empty() { &text[..end + space] } else { "" }
}

/// Removes an empty block of reasoning from the start of `lead`, and adds the block to `noted`.
pub(super) fn strip_empty_reasoning<'a>(lead: &'a str, reasoning: &Reasoning, noted: &mut Vec<String>) -> &'a str {
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

pub(crate) fn without_empty_reasoning<'a>(lead: &'a str, reasoning: &Reasoning) -> &'a str {
    strip_empty_reasoning(lead, reasoning, &mut Vec::new())
}

/// Records R1 for a field that does not carry reasoning.
fn no_reasoning(probe: &Probe<'_>, s: &Sentinels, field: &str, call: &Call, calls: Option<Style>, why: &'static str) {
    probe.note(s, Experiment::R1, format_args!("an answer without `{field}` | with `{field}`"), |note| {
        let answer = AssistantMessage::content(s.content);
        note.result("without", &probe.turn(s, &answer, Style::PLAIN));
        note.result("with", &probe.turn(s, &answer.with_reasoning(field, s.reasoning), Style::PLAIN));
        if let Some(style) = calls {
            let turn = AssistantMessage::calls(std::slice::from_ref(call)).with_reasoning(field, s.reasoning);
            note.result("with, and a call", &probe.turn(s, &turn, style));
        }
        note.because(why);
    });
}
