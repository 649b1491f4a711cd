//! Calls whose name is between markers and whose arguments are one JSON object (`tools.format = "tag_with_json"`).

use std::ops::Range;

use unjinja_spec::{CallId, CallIdPosition, Function, ToolFormat, Tools};

use super::native::object_with;
use super::parts::{Around, Turns, apply, apply_prefix, around, longer_close, split_close, split_prefix, two};
use crate::conversation::Call;
use crate::error::{CallsError, gap, quoted};
use crate::sentinels::Sentinels;
use crate::text;
use crate::trace::Experiment;
/// The places of the parts of such a call.
struct Parts {
    name: Range<usize>,
    arguments: Range<usize>,
    python: bool,
}

fn parts(text: &str, from: usize, call: &Call, key: &str) -> Option<Parts> {
    let name = text::after(text, from, &call.name)?;
    let found = object_with(text, name.end, &['{'], &[key])?;
    found.value.as_object()?.contains_key(key).then_some(())?;
    Some(Parts { name, arguments: found.range, python: found.python })
}

pub(super) fn find(s: &Sentinels, turns: &Turns) -> Result<Option<Tools>, CallsError> {
    let calls = two(s);
    let text = &turns.one;
    let Some(first) = parts(text, 0, &calls[0], s.arguments[0]) else { return Ok(None) };
    let mut tools = Tools { format: ToolFormat::TagWithJson, uses_python_dicts: first.python, ..Tools::default() };
    let open = &text[..first.name.start];
    let inner = &text[first.name.end..first.arguments.start];
    let mut close = &text[first.arguments.end..];
    let mut middle = None;
    let mut second_inner = None;
    if let Some(pair) = &turns.two {
        let one = parts(pair, 0, &calls[0], s.arguments[0]);
        let two = one.as_ref().and_then(|one| parts(pair, one.arguments.end, &calls[1], s.arguments[1]));
        let (Some(one), Some(two)) = (one, two) else {
            return gap(Experiment::T2, "each of two calls to look like a call alone", quoted(pair));
        };
        middle = Some(pair[one.arguments.end..two.name.start].to_owned());
        close = longer_close(close, &pair[two.arguments.end..]);
        second_inner = Some(pair[two.name.end..two.arguments.start].to_owned());
    }
    let id = calls[0].id.as_str();
    let mut inner = inner.to_owned();
    let (mut open, mut close) = (open.to_owned(), close.to_owned());
    if let Some(at) = text::once(&inner, id) {
        tools.call_id = CallId {
            position: CallIdPosition::BetweenFuncAndArgs,
            prefix: inner[..at.start].to_owned(),
            suffix: inner[at.end..].to_owned(),
        };
        inner = String::new();
    } else if let Some(at) = text::once(&open, id) {
        let before = &open[..at.start];
        let cut = last_tag_start(before);
        tools.call_id = CallId {
            position: CallIdPosition::PreFuncName,
            prefix: before[cut..].to_owned(),
            suffix: open[at.end..].to_owned(),
        };
        open = before[..cut].to_owned();
        middle = middle.map(|m| {
            m.find(calls[1].id.as_str()).map_or(m.clone(), |at| {
                let cut = last_tag_start(&m[..at]);
                m[..cut].to_owned()
            })
        });
    } else if let Some(at) = text::once(&close, id) {
        let end = close[at.end..].to_owned();
        let tag = text::tags(&end).first().map_or(0, |tag| end.find(tag).map_or(0, |at| at + tag.len()));
        tools.call_id = CallId {
            position: CallIdPosition::PostArgs,
            prefix: close[..at.start].to_owned(),
            suffix: end[..tag].to_owned(),
        };
        close = end[tag..].to_owned();
        middle = middle.map(|m| m.find(id).map_or(m.clone(), |at| m[(at + id.len() + tag).min(m.len())..].to_owned()));
    } else if let Some(second) = &second_inner
        && *second != inner
    {
        let Some((suffix, rest)) = counted(&inner, second) else {
            let expected = "the same text between name and arguments in both calls, or a number that counts the calls";
            return gap(Experiment::T3, expected, format!("{inner:?} in the first call, {second:?} in the second"));
        };
        let label = open[last_break(&open)..].to_owned();
        open.truncate(open.len() - label.len());
        middle = middle.map(|m| m.strip_suffix(label.as_str()).unwrap_or(&m).to_owned());
        tools.call_id = CallId { position: CallIdPosition::InName, prefix: label, suffix };
        inner = rest;
    }
    let around = around(&open, middle.as_deref(), &close);
    // The prefix of an id before the name already precedes the name.
    let (start, prefix) = match tools.call_id.position {
        CallIdPosition::PreFuncName => (around.per_call_start.as_str(), ""),
        _ => split_prefix(&around.per_call_start),
    };
    tools.function = Function { name_prefix: prefix.to_owned(), ..Function::default() };
    if tools.call_id.position == CallIdPosition::None || tools.call_id.position == CallIdPosition::InName {
        let cut = match text::tags(&inner).as_slice() {
            [first, _, ..] => inner.find(first).map_or(inner.len(), |at| at + first.len()),
            _ => inner.len(),
        };
        tools.function.name_suffix = inner[..cut].to_owned();
        tools.arguments.start = inner[cut..].to_owned();
    } else {
        tools.function.name_suffix = inner;
    }
    // If the id comes after the arguments, everything after it closes the call.
    let (end, call_end) = match tools.call_id.position {
        CallIdPosition::PostArgs => ("", around.per_call_end.as_str()),
        _ => split_close(prefix, &around.per_call_end),
    };
    tools.function.close = end.to_owned();
    let around = Around { per_call_start: start.to_owned(), per_call_end: call_end.to_owned(), ..around };
    Ok(Some(apply_prefix(apply(tools, around), &turns.lead)))
}

/// For two texts that differ only in a number that counts up: the text before the number and the text after it.
fn counted(first: &str, second: &str) -> Option<(String, String)> {
    let at = first.find(|c: char| c.is_ascii_digit())?;
    let digits = |text: &str| -> Option<(i64, String)> {
        let rest = text.get(at..)?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        Some((rest[..end].parse().ok()?, rest[end..].to_owned()))
    };
    let ((a, rest), (b, other)) = (digits(first)?, digits(second)?);
    (b == a + 1 && rest == other && first[..at] == second[..at]).then(|| (first[..at].to_owned(), rest))
}

/// The beginning of the last tag of a text, which may be unfinished.
fn last_tag_start(text: &str) -> usize {
    let open = text.rfind(['<', '[']);
    open.unwrap_or(text.len())
}

/// The end of the last tag or white space of a text.
fn last_break(text: &str) -> usize {
    text.rfind(|c: char| c.is_whitespace() || matches!(c, '>' | ']' | '"' | '\'' | '=' | '('))
        .map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8))
}
