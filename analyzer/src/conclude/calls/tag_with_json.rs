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
    let tools = Tools { format: ToolFormat::TagWithJson, uses_python_dicts: first.python, ..Tools::default() };
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
    let mut texts = Texts {
        opener: open.text,
        between: middle(0).map(|middle| middle.text),
        closer: pair
            .as_ref()
            .map_or(close.text, |(two, _, right)| longer_close(close.text, &two.text[after_call(two, right)..])),
        inside: inner.text,
        id_to_name: "",
        id: CallId::default(),
    };
    if !texts.take_id([&open, &inner, &close], middle)
        && let Some(second) = second_inner.filter(|second| *second != texts.inside)
    {
        texts.take_count(second)?;
    }
    let around = Around::split(texts.opener, texts.between, texts.closer, &bodies.turn_end);
    let again = Again { name: name_again, closer: again };
    Ok(Some(texts.finish(tools, again, around, bodies)))
}

/// What repeats the name of a call: right after it, and after the arguments.
struct Again<'t> {
    name: &'t str,
    closer: &'t str,
}

/// The texts around the name and the arguments of calls, and the id that was taken out of them.
struct Texts<'t> {
    opener: &'t str,
    /// Between two calls.
    between: Option<&'t str>,
    closer: &'t str,
    /// Between name and arguments.
    inside: &'t str,
    /// The beginning of the name's tag, if the id comes before the name.
    id_to_name: &'t str,
    id: CallId,
}

impl<'t> Texts<'t> {
    /// Takes the id out of the text that holds it: before the name, between name and arguments, or after these. `middle` is the text
    /// between two calls, with the id of the first call or of the second. Returns `false` if there is no id.
    fn take_id(
        &mut self,
        [open, inner, close]: [&WithId<'t>; 3],
        middle: impl Fn(usize) -> Option<WithId<'t>>,
    ) -> bool {
        if let Some((before, after)) = inner.around() {
            self.set_id(CallIdPosition::BetweenFuncAndArgs, before, after);
            self.inside = "";
        } else if let Some((before, after)) = open.around() {
            let cut = last_tag_start(before);
            let unfinished = after.rfind('<').filter(|open| !after[*open..].contains('>')).unwrap_or(after.len());
            self.id_to_name = &after[unfinished..];
            self.set_id(CallIdPosition::PreFuncName, &before[cut..], &after[..unfinished]);
            self.opener = &before[..cut];
            if let Some((before, _)) = middle(1).and_then(|middle| middle.around()) {
                self.between = Some(&before[..last_tag_start(before)]);
            }
        } else if let Some((before, after)) = close.around() {
            let suffix = first_tag_end(after);
            self.set_id(CallIdPosition::PostArgs, before, &after[..suffix]);
            self.closer = &after[suffix..];
            if let Some((_, after)) = middle(0).and_then(|middle| middle.around()) {
                self.between = Some(&after[suffix.min(after.len())..]);
            }
        } else {
            return false;
        }
        true
    }

    /// Takes out a number that counts the calls. `second` is the text between name and arguments of the second call.
    fn take_count(&mut self, second: &str) -> Result<(), Gap> {
        let Some((suffix, rest)) = counted(self.inside, second) else {
            let expected = "the same text between name and arguments in both calls, or a number that counts the calls";
            let found = format!("{:?} in the first call, {second:?} in the second", self.inside);
            return gap(Experiment::T3, expected, found);
        };
        // The beginning of a tag is no part of an id.
        let label = Some(&self.opener[last_break(self.opener)..]).filter(|label| !label.contains('<')).unwrap_or("");
        self.opener = &self.opener[..self.opener.len() - label.len()];
        self.between = self.between.map(|text| text.strip_suffix(label).unwrap_or(text));
        if label.is_empty() && suffix.contains(['"', '\'', '<', '>', '[', ']', ' ']) {
            // The number is an attribute of its own, or is between markers.
            self.set_id(CallIdPosition::BetweenFuncAndArgs, suffix, rest);
            self.inside = "";
        } else {
            self.set_id(CallIdPosition::InName, label, suffix);
            self.inside = rest;
        }
        Ok(())
    }

    fn set_id(&mut self, position: CallIdPosition, prefix: &str, suffix: &str) {
        self.id = CallId { position, prefix: prefix.to_owned(), suffix: suffix.to_owned() };
    }

    /// Puts the markers of the name and of the arguments into the tools.
    fn finish(self, mut tools: Tools, again: Again<'_>, around: Around, bodies: &Bodies) -> Tools {
        // The prefix of an id before the name already precedes the name.
        let (start, prefix) = match self.id.position {
            CallIdPosition::PreFuncName => (around.per_call_start.as_str(), self.id_to_name),
            _ => split_prefix(&around.per_call_start, &bodies.prompted_header, ""),
        };
        let cut = match (self.id.position, text::tags(self.inside).as_slice()) {
            _ if !again.name.is_empty() => 0,
            (CallIdPosition::None | CallIdPosition::InName, [first, _, ..]) => {
                self.inside.find(first).map_or(self.inside.len(), |at| at + first.len())
            }
            _ => self.inside.len(),
        };
        // If the id comes after the arguments, everything after it closes the call.
        let (end, call_end) = match self.id.position {
            CallIdPosition::PostArgs => ("", around.per_call_end.as_str()),
            _ if !again.closer.is_empty() => ("", around.per_call_end.as_str()),
            _ => split_close(prefix, &around.per_call_end, ""),
        };
        tools.function = Function {
            name_prefix: prefix.to_owned(),
            name_suffix: [again.name, &self.inside[..cut]].concat(),
            close: [again.closer, end].concat(),
        };
        tools.arguments.start = self.inside[cut..].to_owned();
        tools.call_id = self.id;
        let around = Around { per_call_start: start.to_owned(), per_call_end: call_end.to_owned(), ..around.clone() };
        around.apply(tools, &bodies.lead)
    }
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
