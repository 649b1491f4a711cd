//! Calls whose name is between markers and whose arguments are one JSON object (`tools.format = "tag_with_json"`).

use std::ops::Range;

use unjinja_spec::{CallId, CallIdPosition, Function, ToolFormat, Tools};

use super::around::{Around, Bodies, counted, longer_close, split_close, split_prefix};
use super::native::object_with;
use crate::error::{Gap, gap, quoted};
use crate::experiment::Experiment;
use crate::observed::{LabelledTurn, MessagePart};
use crate::text;

/// One call: the places of its parts.
struct CallRanges {
    name: Range<usize>,
    arguments: Range<usize>,
    python: bool,
}

impl CallRanges {
    /// The call with this number, whose name is at or after `from`.
    fn of(turn: &LabelledTurn, from: usize, number: usize) -> Option<Self> {
        let name = turn.from(from, MessagePart::Name(number))?;
        let found = object_with(turn, name.end, &['{'], &[MessagePart::Key(number, 0)])?;
        let holds_key =
            found.value.as_object()?.contains_key(&turn.text[turn.from(name.end, MessagePart::Key(number, 0))?]);
        holds_key.then_some(Self { name, arguments: found.range, python: found.python })
    }

    /// The text between name and arguments.
    fn inner<'t>(&self, turn: &'t LabelledTurn) -> &'t str {
        &turn.text[self.name.end..self.arguments.start]
    }
}

/// A piece of text that may hold the id of a call, and the place of the id.
struct WithId<'t> {
    text: &'t str,
    id: Option<Range<usize>>,
}

impl<'t> WithId<'t> {
    fn of(turn: &'t LabelledTurn, range: Range<usize>, number: usize) -> Self {
        let id = turn.from(range.start, MessagePart::Id(number)).filter(|id| id.end <= range.end);
        let id = id.map(|id| id.start - range.start..id.end - range.start);
        Self { text: &turn.text[range], id }
    }

    /// The text before the id and the text after it.
    fn around(&self) -> Option<(&'t str, &'t str)> {
        self.id.as_ref().map(|id| (&self.text[..id.start], &self.text[id.end..]))
    }
}

pub(super) fn find(bodies: &Bodies) -> Result<Option<Tools>, Gap> {
    let one = &bodies.one;
    let Some(first) = CallRanges::of(one, 0, 0) else { return Ok(None) };
    let mut tools = Tools { format: ToolFormat::TagWithJson, uses_python_dicts: first.python, ..Tools::default() };
    // What repeats the name belongs to the function, on both sides of the arguments.
    let after_name = first.name.end + text::end_of_repeated_name(first.inner(one));
    let name_again = &one.text[first.name.end..after_name];
    let after_close = first.arguments.end + text::end_of_repeated_name(&one.text[first.arguments.end..]);
    let again = &one.text[first.arguments.end..after_close];
    // Where the closer that repeats the name ends, after a call.
    let after_call = |turn: &LabelledTurn, call: &CallRanges| {
        let again = again.replace(&one.text[first.name.clone()], &turn.text[call.name.clone()]);
        call.arguments.end + if turn.text[call.arguments.end..].starts_with(&again) { again.len() } else { 0 }
    };
    let open = WithId::of(one, 0..first.name.start, 0);
    let inner = WithId::of(one, after_name..first.arguments.start, 0);
    let close = WithId::of(one, after_close..one.text.len(), 0);
    // The text between two calls, without the ids in it; and the text between name and arguments of the second call.
    let mut pair = None;
    if let Some(two) = &bodies.two {
        let left = CallRanges::of(two, 0, 0);
        let right = left.as_ref().and_then(|left| CallRanges::of(two, left.arguments.end, 1));
        let (Some(left), Some(right)) = (left, right) else {
            return gap(Experiment::T2, "each of two calls to look like a call alone", quoted(&two.text));
        };
        pair = Some((two, left, right));
    }
    let middle = |number: usize| {
        pair.as_ref().map(|(two, left, right)| {
            let from = after_call(two, left).min(right.name.start);
            WithId::of(two, from..right.name.start, number)
        })
    };
    let second_inner = pair.as_ref().map(|(two, _, right)| {
        let inner = right.inner(two);
        inner.strip_prefix(name_again).unwrap_or(inner)
    });
    let mut inside = inner.text;
    // The beginning of the name's tag, if the id comes before the name.
    let mut id_to_name = "";
    let (mut opener, mut between) = (open.text, middle(0).map(|middle| middle.text));
    let mut closer = pair
        .as_ref()
        .map_or(close.text, |(two, _, right)| longer_close(close.text, &two.text[after_call(two, right)..]));
    if let Some((before, after)) = inner.around() {
        let (prefix, suffix) = (before.to_owned(), after.to_owned());
        tools.call_id = CallId { position: CallIdPosition::BetweenFuncAndArgs, prefix, suffix };
        inside = "";
    } else if let Some((before, after)) = open.around() {
        let cut = last_tag_start(before);
        let unfinished = after.rfind('<').filter(|open| !after[*open..].contains('>')).unwrap_or(after.len());
        id_to_name = &after[unfinished..];
        let (prefix, suffix) = (before[cut..].to_owned(), after[..unfinished].to_owned());
        tools.call_id = CallId { position: CallIdPosition::PreFuncName, prefix, suffix };
        opener = &before[..cut];
        if let Some((before, _)) = middle(1).and_then(|middle| middle.around()) {
            between = Some(&before[..last_tag_start(before)]);
        }
    } else if let Some((before, after)) = close.around() {
        let suffix = first_tag_end(after);
        let position = CallIdPosition::PostArgs;
        tools.call_id = CallId { position, prefix: before.to_owned(), suffix: after[..suffix].to_owned() };
        closer = &after[suffix..];
        if let Some((_, after)) = middle(0).and_then(|middle| middle.around()) {
            between = Some(&after[suffix.min(after.len())..]);
        }
    } else if let Some(second) = second_inner.filter(|second| *second != inside) {
        let Some((suffix, rest)) = counted(inside, second) else {
            let expected = "the same text between name and arguments in both calls, or a number that counts the calls";
            return gap(Experiment::T3, expected, format!("{inside:?} in the first call, {second:?} in the second"));
        };
        // The beginning of a tag is no part of an id.
        let label = Some(&opener[last_break(opener)..]).filter(|label| !label.contains('<')).unwrap_or("");
        opener = &opener[..opener.len() - label.len()];
        between = between.map(|text| text.strip_suffix(label).unwrap_or(text));
        if label.is_empty() && suffix.contains(['"', '\'', '<', '>', '[', ']', ' ']) {
            // The number is an attribute of its own, or is between markers.
            let position = CallIdPosition::BetweenFuncAndArgs;
            tools.call_id = CallId { position, prefix: suffix.to_owned(), suffix: rest.to_owned() };
            inside = "";
        } else {
            let position = CallIdPosition::InName;
            tools.call_id = CallId { position, prefix: label.to_owned(), suffix: suffix.to_owned() };
            inside = rest;
        }
    }
    let around = Around::split(opener, between, closer, &bodies.turn_end);
    // The prefix of an id before the name already precedes the name.
    let (start, prefix) = match tools.call_id.position {
        CallIdPosition::PreFuncName => (around.per_call_start.as_str(), id_to_name),
        _ => split_prefix(&around.per_call_start, &bodies.prompted_header, ""),
    };
    let mut function = Function { name_prefix: prefix.to_owned(), ..Function::default() };
    let cut = match (tools.call_id.position, text::tags(inside).as_slice()) {
        _ if !name_again.is_empty() => 0,
        (CallIdPosition::None | CallIdPosition::InName, [first, _, ..]) => {
            inside.find(first).map_or(inside.len(), |at| at + first.len())
        }
        _ => inside.len(),
    };
    function.name_suffix = [name_again, &inside[..cut]].concat();
    tools.arguments.start = inside[cut..].to_owned();
    // If the id comes after the arguments, everything after it closes the call.
    let (end, call_end) = match tools.call_id.position {
        CallIdPosition::PostArgs => ("", around.per_call_end.as_str()),
        _ if !again.is_empty() => ("", around.per_call_end.as_str()),
        _ => split_close(prefix, &around.per_call_end, ""),
    };
    function.close = [&one.text[first.arguments.end..after_close], end].concat();
    tools.function = function;
    let around = Around { per_call_start: start.to_owned(), per_call_end: call_end.to_owned(), ..around.clone() };
    Ok(Some(around.apply(tools, &bodies.lead)))
}

/// The beginning of the marker that a text ends with: its last tag, which may be unfinished, or what follows that tag.
fn last_tag_start(text: &str) -> usize {
    let open = text.rfind(['<', '[']).unwrap_or(text.len());
    match text::tags(&text[open..]).first() {
        Some(tag) if !text[open + tag.len()..].trim().is_empty() => {
            let rest = &text[open + tag.len()..];
            text.len() - rest.trim_start().len()
        }
        _ => open,
    }
}

/// The end of the first tag of a text; 0 without a tag.
fn first_tag_end(text: &str) -> usize {
    text::tags(text).first().and_then(|tag| Some(text.find(tag)? + tag.len())).unwrap_or(0)
}

/// The end of the last tag or white space of a text.
fn last_break(text: &str) -> usize {
    text.rfind(|c: char| c.is_whitespace() || matches!(c, '>' | ']' | '"' | '\'' | '=' | '('))
        .map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8))
}
