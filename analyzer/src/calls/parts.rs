//! What all families of formats need: the calls that the comparisons render, the body of a turn with calls, and the
//! markers around one call and around all calls of a turn (T1 and T2).

use unjinja_spec::Tools;

use crate::conversation::Call;
use crate::sentinels::Sentinels;
use crate::text;
use crate::turn::{self, TurnMarkers};

pub(super) fn shows(turn: &str, call: &Call) -> bool {
    turn.contains(&call.name)
        && call
            .arguments
            .iter()
            .all(|(key, value)| turn.contains(key) && value.as_str().is_none_or(|v| turn.contains(v)))
}

pub(super) fn one(s: &Sentinels) -> Call {
    Call::new(s.functions[0], s.ids[0], &[(s.arguments[0], s.values[0].into())])
}

pub(super) fn two(s: &Sentinels) -> [Call; 2] {
    [one(s), Call::new(s.functions[1], s.ids[1], &[(s.arguments[1], s.values[1].into())])]
}

/// The renders that are compared: turns without their start, without empty reasoning and without their end.
pub(super) struct Turns {
    pub(super) one: String,
    pub(super) two: Option<String>,
    /// White space before the first marker that only appears after an answer.
    pub(super) lead: String,
}

/// The body of a turn with calls: what is between the start and the end of the turn.
pub(super) fn strip(s: &Sentinels, turn: &str, markers: &TurnMarkers) -> String {
    let body = turn.strip_prefix(markers.assistant_start.as_str()).unwrap_or_else(|| {
        // A turn without an answer may lack the white space at the end of the start.
        turn.strip_prefix(markers.assistant_start.trim_end()).unwrap_or(turn)
    });
    let body = turn::without_empty_reasoning(body, &markers.reasoning);
    // The markers of the answer may be there without an answer, or around the calls too.
    let inside = match markers.content.start.trim() {
        "" => None,
        start => body.trim_start().strip_prefix(start).map(str::trim_start),
    };
    let body = match (inside, markers.content.end.trim()) {
        (Some(inside), end) if !end.is_empty() => inside.strip_prefix(end).unwrap_or(inside),
        (Some(inside), _) => inside,
        (None, _) => body,
    };
    let end = markers.end.as_str();
    let core = end.trim();
    if core.is_empty() {
        return body.strip_suffix(end).unwrap_or(body).to_owned();
    }
    // The end of the turn is the first one after every word of the message.
    let said = s.functions.iter().chain(&s.arguments).chain(&s.values).chain(&s.ids);
    let said = said.filter_map(|word| body.rfind(word).map(|at| at + word.len())).max().unwrap_or(0);
    match text::after(body, said, core) {
        Some(at) => {
            let before = &body[..at.start];
            let layout = &end[..end.find(core).unwrap_or(0)];
            before.strip_suffix(layout).unwrap_or(before).to_owned()
        }
        None => body.to_owned(),
    }
}

/// Markers around calls.
#[derive(Default)]
pub(super) struct Around {
    pub(super) section_start: String,
    pub(super) per_call_start: String,
    pub(super) per_call_end: String,
    pub(super) section_end: String,
    pub(super) separator: String,
}

/// The text after the last call. Some templates close the calls of a turn only if there are several.
pub(super) fn longer_close<'a>(one: &'a str, pair: &'a str) -> &'a str {
    if pair.starts_with(one) { pair } else { one }
}

/// T1 and T2: splits the text before the first call (`open`), between two (`middle`) and after the last (`close`) into
/// the markers of a call and those of all calls. What is written once belongs to all calls, what is written for each
/// call to the call.
pub(super) fn around(open: &str, middle: Option<&str>, close: &str) -> Around {
    let Some(middle) = middle else {
        return Around { per_call_start: open.to_owned(), per_call_end: close.to_owned(), ..Around::default() };
    };
    let suffix = text::common_suffix(open, middle);
    let start = &open[open.len() - suffix..];
    let rest = &middle[..middle.len() - suffix];
    let prefix = text::common_prefix(close, rest);
    let (mut end, mut separator) = (&rest[..prefix], &rest[prefix..]);
    if end.trim().is_empty() {
        // White space alone does not close a call.
        (end, separator) = ("", rest);
    }
    Around {
        section_start: open[..open.len() - suffix].to_owned(),
        per_call_start: start.to_owned(),
        per_call_end: end.to_owned(),
        section_end: close[end.len()..].to_owned(),
        separator: separator.to_owned(),
    }
}

pub(super) fn with_lead(mut around: Around, lead: &str) -> Around {
    if !around.section_start.is_empty() {
        around.section_start.insert_str(0, lead);
    } else if !around.per_call_start.is_empty() {
        around.per_call_start.insert_str(0, lead);
        without_lead(&mut around.separator, lead);
    }
    around
}

/// Removes from the text between two calls the `lead` that the opener of the second call begins with.
pub(super) fn without_lead(separator: &mut String, lead: &str) {
    if let Some(rest) = separator.strip_suffix(lead) {
        separator.truncate(rest.len());
    }
}

pub(super) fn apply(mut tools: Tools, around: Around) -> Tools {
    tools.section_start = around.section_start;
    tools.per_call_start = around.per_call_start;
    tools.per_call_end = around.per_call_end;
    tools.section_end = around.section_end;
    tools.separator = around.separator;
    tools
}

pub(super) fn apply_prefix(mut tools: Tools, lead: &str) -> Tools {
    if !tools.section_start.is_empty() {
        tools.section_start.insert_str(0, lead);
        return tools;
    }
    let opener =
        if tools.per_call_start.is_empty() { &mut tools.function.name_prefix } else { &mut tools.per_call_start };
    if !opener.is_empty() {
        opener.insert_str(0, lead);
        without_lead(&mut tools.separator, lead);
    }
    tools
}

/// Splits the text before a name into the opener of the call and the prefix of the name. The prefix is an unfinished
/// tag, or what follows the first of several tags.
pub(super) fn split_prefix(text: &str) -> (&str, &str) {
    if let Some(open) = text.rfind('<')
        && !text[open..].contains('>')
    {
        return text.split_at(open);
    }
    let tags = text::tags(text);
    if let [first, _, ..] = tags.as_slice()
        && let Some(at) = text.find(first)
    {
        return text.split_at(at + first.len());
    }
    text.split_at(text.len())
}

/// Splits the text after a call into what closes the name's tag and what closes the call.
pub(super) fn split_close<'a>(prefix: &str, text: &'a str) -> (&'a str, &'a str) {
    if !prefix.contains('<') {
        return ("", text);
    }
    match text::tags(text).first() {
        Some(tag) => match text.find(tag) {
            Some(at) => text.split_at(at + tag.len()),
            None => ("", text),
        },
        None => ("", text),
    }
}

/// The white space that a text begins with.
pub(super) fn space(text: &str) -> &str {
    &text[..text.len() - text.trim_start().len()]
}
