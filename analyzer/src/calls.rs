//! How tool calls are written: T1 none/one call, T2 one/two calls, T3 two function names, T4/A1/A2 argument names and
//! values, T5 one/two arguments, T6 none/one argument, T7 two call ids. Every part of a call carries a sentinel, so
//! each is located; what stands between two sentinels is a marker.

use std::ops::Range;

use serde_json::{Map, Value, json};
use unjinja_spec::{Arguments, CallId, CallIdPosition, Function, ToolFormat, Tools};

use crate::frame::{self, Frame};
use crate::lab::{Call, Empty, Lab, Sentinels, Style, Turn};
use crate::text;

/// Why calls cannot be described.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Trouble {
    /// The template renders no calls.
    NoCalls,
    /// It renders them in a way that the spec language has no words for.
    Unsupported(String),
}

fn unsupported<T>(comparison: &str, what: impl std::fmt::Display) -> Result<T, Trouble> {
    Err(Trouble::Unsupported(format!("{comparison}: {what}")))
}

/// The first way of handing over a call in which its name and its argument are rendered.
pub(crate) fn style(lab: &Lab<'_>, s: &Sentinels) -> Option<Style> {
    let call = one(s);
    let styles = [(true, Empty::Text), (true, Empty::Null), (false, Empty::Text), (false, Empty::Null)];
    styles.into_iter().map(|(object_arguments, empty)| Style { object_arguments, empty }).find(|style| {
        lab.turn(s, &Turn::calls(std::slice::from_ref(&call)), *style).is_ok_and(|turn| shows(&turn, &call))
    })
}

/// Whether a style renders a call.
pub(crate) fn renders(lab: &Lab<'_>, s: &Sentinels, style: Style) -> bool {
    let call = one(s);
    lab.turn(s, &Turn::calls(std::slice::from_ref(&call)), style).is_ok_and(|turn| shows(&turn, &call))
}

fn shows(turn: &str, call: &Call) -> bool {
    turn.contains(&call.name)
        && call
            .arguments
            .iter()
            .all(|(key, value)| turn.contains(key) && value.as_str().is_none_or(|v| turn.contains(v)))
}

fn one(s: &Sentinels) -> Call {
    Call::new(s.functions[0], s.ids[0], &[(s.arguments[0], s.values[0].into())])
}

fn two(s: &Sentinels) -> [Call; 2] {
    [one(s), Call::new(s.functions[1], s.ids[1], &[(s.arguments[1], s.values[1].into())])]
}

/// The renders that the comparisons work on: turns without their start, their empty reasoning and their end.
struct Turns {
    one: String,
    two: Option<String>,
    /// White space that stands before the first marker when an answer stands before the call.
    lead: String,
}

/// Finds how calls are written.
pub(crate) fn find(lab: &Lab<'_>, s: &Sentinels, style: Style, frame: &Frame) -> Result<(Tools, bool), Trouble> {
    let body = |calls: &[Call]| lab.turn(s, &Turn::calls(calls), style).ok().map(|turn| strip(s, &turn, frame));
    let Some(single) = body(&[one(s)]) else { return Err(Trouble::NoCalls) };
    let pair = body(&two(s)).filter(|turn| two(s).iter().all(|call| shows(turn, call)));
    let parallel = pair.is_some();
    let lead = lead_after_content(lab, s, style, frame, &single);
    let turns = Turns { one: single, two: pair, lead };
    let mut tools = match native(s, &turns)? {
        Some(tools) => tools,
        None => match tag_with_json(s, &turns)? {
            Some(tools) => tools,
            None => tagged(lab, s, style, frame, &turns)?,
        },
    };
    if tools.format == ToolFormat::TagWithTagged {
        tools.uses_python_dicts = prints_python(lab, s, style);
    }
    Ok((tools, parallel))
}

/// The body of a turn of calls.
fn strip(s: &Sentinels, turn: &str, frame: &Frame) -> String {
    let body = turn.strip_prefix(frame.assistant_start.as_str()).unwrap_or_else(|| {
        // A turn without an answer may lack the white space at the end of the start.
        turn.strip_prefix(frame.assistant_start.trim_end()).unwrap_or(turn)
    });
    let body = frame::without_empty_reasoning(body, &frame.reasoning);
    // A wrapper around an answer that is not there, or around the calls too.
    let inside = match frame.content.start.trim() {
        "" => None,
        start => body.trim_start().strip_prefix(start).map(str::trim_start),
    };
    let body = match (inside, frame.content.end.trim()) {
        (Some(inside), end) if !end.is_empty() => inside.strip_prefix(end).unwrap_or(inside),
        (Some(inside), _) => inside,
        (None, _) => body,
    };
    let end = frame.end.as_str();
    let core = end.trim();
    if core.is_empty() {
        return body.strip_suffix(end).unwrap_or(body).to_owned();
    }
    // The end of the turn is the first one after all that the message says.
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

/// White space between an answer and the first marker, beyond what stands there without an answer.
fn lead_after_content(lab: &Lab<'_>, s: &Sentinels, style: Style, frame: &Frame, single: &str) -> String {
    let turn = Turn::calls(&[one(s)]).with_content(s.content);
    let Ok(turn) = lab.turn(s, &turn, style) else { return String::new() };
    let Some(at) = text::once(&turn, s.content) else { return String::new() };
    let rest = turn[at.end..].strip_prefix(frame.content.end.as_str()).unwrap_or(&turn[at.end..]);
    let (with, without) = (space(rest), space(single));
    let same = rest.trim_start().get(..8.min(rest.trim_start().len()))
        == single.trim_start().get(..8.min(rest.trim_start().len()));
    if same && with.len() > without.len() {
        with.strip_suffix(without).unwrap_or(with).to_owned()
    } else {
        String::new()
    }
}

/// What follows an answer that is written after its calls, which is all that ends such a turn.
pub(crate) fn end_after_content(lab: &Lab<'_>, s: &Sentinels, style: Style) -> Option<String> {
    let call = one(s);
    let turn = lab.turn(s, &Turn::calls(std::slice::from_ref(&call)).with_content(s.content), style).ok()?;
    let content = text::once(&turn, s.content)?;
    let name = text::once(&turn, &call.name)?;
    (name.end < content.start).then(|| turn[content.end..].to_owned())
}

/// C1 beside T1: what stands around an answer that calls follow, where that is not what stands around one alone.
pub(crate) fn frame_beside_calls(
    lab: &Lab<'_>,
    s: &Sentinels,
    style: Style,
    frame: &Frame,
    tools: &Tools,
) -> Option<(String, String)> {
    let turn = lab.turn(s, &Turn::calls(&[one(s)]).with_content(s.content), style).ok()?;
    let content = text::once(&turn, s.content)?;
    let before = turn[..content.start].strip_prefix(frame.assistant_start.as_str())?;
    let before = frame::without_empty_reasoning(before, &frame.reasoning);
    let openers = [&tools.section_start, &tools.per_call_start, &tools.function.name_prefix];
    let opener = openers.into_iter().find(|marker| !marker.trim().is_empty())?.trim();
    let after = &turn[content.end..];
    let after = &after[..after.find(opener)?];
    let known = before.trim() == frame.content.start.trim() && after.trim() == frame.content.end.trim();
    // Some templates write it just as reasoning.
    let is_reasoning = before.trim() == frame.reasoning.start.trim();
    (!known && !is_reasoning && !before.trim().is_empty()).then(|| (before.to_owned(), after.to_owned()))
}

fn space(text: &str) -> &str {
    &text[..text.len() - text.trim_start().len()]
}

// ----- what stands around calls -----

/// Markers around calls.
#[derive(Default)]
struct Around {
    section_start: String,
    per_call_start: String,
    per_call_end: String,
    section_end: String,
    separator: String,
}

/// What stands after the last call: some templates close the calls of a turn only where there are several.
fn longer_close<'a>(one: &'a str, pair: &'a str) -> &'a str {
    if pair.starts_with(one) { pair } else { one }
}

/// T1 and T2: `open` stands before the first call, `middle` between two, `close` after the last.
fn around(open: &str, middle: Option<&str>, close: &str) -> Around {
    let Some(middle) = middle else {
        return Around { per_call_start: open.to_owned(), per_call_end: close.to_owned(), ..Around::default() };
    };
    let suffix = text::common_suffix(open, middle);
    let start = &open[open.len() - suffix..];
    let rest = &middle[..middle.len() - suffix];
    let prefix = text::common_prefix(close, rest);
    let (mut end, mut separator) = (&rest[..prefix], &rest[prefix..]);
    if end.trim().is_empty() {
        // White space alone closes nothing.
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

fn with_lead(mut around: Around, lead: &str) -> Around {
    let first = if around.section_start.is_empty() { &mut around.per_call_start } else { &mut around.section_start };
    if !first.is_empty() {
        first.insert_str(0, lead);
    }
    around
}

// ----- name and arguments in one object -----

/// A JSON value in a text.
#[derive(Debug)]
struct Found {
    range: Range<usize>,
    value: Value,
    python: bool,
}

/// The first JSON value (or Python literal) that begins with one of `opens` at or after `from` and holds `needle`.
fn object_with(text: &str, from: usize, opens: &[char], needles: &[&str]) -> Option<Found> {
    let mut at = from;
    while let Some(offset) = text.get(at..)?.find(opens) {
        at += offset;
        if let Some(found) = object_at(text, at)
            && needles.iter().all(|needle| text[found.range.clone()].contains(needle))
        {
            return Some(found);
        }
        at += 1;
    }
    None
}

fn object_at(text: &str, at: usize) -> Option<Found> {
    let mut stream = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
    if let Some(Ok(value)) = stream.next() {
        return Some(Found { range: at..at + stream.byte_offset(), value, python: false });
    }
    let (json, length) = unjinja_runtime::python_to_json(&text[at..])?;
    let value = serde_json::from_str(&json).ok()?;
    Some(Found { range: at..at + length, value, python: true })
}

/// T1, T3, T4: where the name, the arguments and the id stand in a call's object.
fn shape_of(s: &Sentinels, object: &Map<String, Value>, calls: &Call) -> Option<Tools> {
    let mut tools = Tools { format: ToolFormat::JsonNative, ..Tools::default() };
    let (holder, function_field) = match object.iter().find(|(_, value)| holds_name(value, &calls.name)) {
        Some((field, Value::Object(inner))) => (inner, field.clone()),
        _ => (object, String::new()),
    };
    tools.function_field = function_field;
    if let Some(arguments) = holder.get(&calls.name) {
        tools.fun_name_is_key = true;
        is_arguments(arguments, s).then_some(())?;
    } else {
        tools.name_field = holder.iter().find(|(_, v)| v.as_str() == Some(&calls.name))?.0.clone();
        tools.args_field = holder.iter().find(|(_, v)| is_arguments(v, s))?.0.clone();
    }
    let id = |map: &Map<String, Value>| map.iter().find(|(_, v)| v.as_str() == Some(&calls.id)).map(|(k, _)| k.clone());
    tools.id_field = id(object).or_else(|| id(holder)).unwrap_or_default();
    if !tools.fun_name_is_key {
        tools.parameter_order = object.keys().cloned().collect();
    }
    Some(tools)
}

fn holds_name(value: &Value, name: &str) -> bool {
    value.as_object().is_some_and(|inner| inner.values().any(|v| v.as_str() == Some(name)))
}

fn is_arguments(value: &Value, s: &Sentinels) -> bool {
    match value {
        Value::Object(map) => s.arguments.iter().any(|key| map.contains_key(*key)),
        Value::String(text) => {
            serde_json::from_str::<Value>(text).is_ok_and(|inner| inner.is_object() && is_arguments(&inner, s))
        }
        _ => false,
    }
}

fn native(s: &Sentinels, turns: &Turns) -> Result<Option<Tools>, Trouble> {
    let calls = two(s);
    let needles = [calls[0].name.as_str(), s.arguments[0]];
    let Some(first) = object_with(&turns.one, 0, &['{', '['], &needles) else { return Ok(None) };
    let array = first.value.is_array();
    let (object, span) = match &first.value {
        Value::Array(items) => match items.as_slice() {
            [Value::Object(object)] => (object, first.range.clone()),
            _ => return Ok(None),
        },
        Value::Object(object) => (object, first.range.clone()),
        _ => return Ok(None),
    };
    let Some(mut tools) = shape_of(s, object, &calls[0]) else { return Ok(None) };
    tools.uses_python_dicts = first.python;
    tools.tools_array_wrapped = array;
    let (open, mut close) = (&turns.one[..span.start], &turns.one[span.end..]);
    let mut middle = None;
    if let Some(pair) = &turns.two {
        let Some(one) = object_with(pair, 0, &['{', '['], &needles) else {
            return unsupported("T2", "the first of two calls is written otherwise than one call alone");
        };
        if array {
            let Some(items) = one.value.as_array().filter(|items| items.len() == 2) else {
                return unsupported("T2", "two calls do not share the array that one call stands in");
            };
            if let [Value::Object(a), Value::Object(b)] = items.as_slice() {
                tools.gen_id_field = counted_id(a, b, &tools);
            }
        } else {
            let needles = [calls[1].name.as_str(), s.arguments[1]];
            let Some(two) = object_with(pair, one.range.end, &['{', '['], &needles) else {
                return unsupported("T2", "the second of two calls is written otherwise than the first");
            };
            if let (Value::Object(a), Value::Object(b)) = (&one.value, &two.value) {
                tools.gen_id_field = counted_id(a, b, &tools);
            }
            middle = Some(pair[one.range.end..two.range.start].to_owned());
            close = longer_close(close, &pair[two.range.end..]);
        }
    }
    let around = if array {
        Around { section_start: open.to_owned(), section_end: close.to_owned(), ..Around::default() }
    } else {
        around(open, middle.as_deref(), close)
    };
    Ok(Some(apply(tools, with_lead(around, &turns.lead))))
}

/// T7: a key that is neither name, arguments nor the message's id, and whose values count the calls.
fn counted_id(a: &Map<String, Value>, b: &Map<String, Value>, tools: &Tools) -> String {
    let number = |value: &Value| match value {
        Value::String(text) => text.parse::<i64>().ok(),
        other => other.as_i64(),
    };
    a.iter()
        .filter(|(key, _)| **key != tools.name_field && **key != tools.args_field && **key != tools.id_field)
        .find(|(key, value)| {
            let next = b.get(*key).and_then(number);
            number(value).is_some_and(|n| next == Some(n + 1))
        })
        .map_or(String::new(), |(key, _)| key.clone())
}

fn apply(mut tools: Tools, around: Around) -> Tools {
    tools.section_start = around.section_start;
    tools.per_call_start = around.per_call_start;
    tools.per_call_end = around.per_call_end;
    tools.section_end = around.section_end;
    tools.separator = around.separator;
    tools
}

// ----- the name outside JSON -----

/// A call whose arguments are one object: where its parts stand.
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

fn tag_with_json(s: &Sentinels, turns: &Turns) -> Result<Option<Tools>, Trouble> {
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
            return unsupported("T2", "two calls are written otherwise than one");
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
            return unsupported(
                "T3",
                format!("between name and arguments stands {inner:?} in the first call, {second:?} in the second"),
            );
        };
        let label = open[last_break(&open)..].to_owned();
        open.truncate(open.len() - label.len());
        middle = middle.map(|m| m.strip_suffix(label.as_str()).unwrap_or(&m).to_owned());
        tools.call_id = CallId { position: CallIdPosition::InName, prefix: label, suffix };
        inner = rest;
    }
    let around = around(&open, middle.as_deref(), &close);
    // What stands before an id stands before the name too.
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
    // What closes the name's tag stands before an id behind the arguments.
    let (end, call_end) = match tools.call_id.position {
        CallIdPosition::PostArgs => ("", around.per_call_end.as_str()),
        _ => split_close(prefix, &around.per_call_end),
    };
    tools.function.close = end.to_owned();
    let around = Around { per_call_start: start.to_owned(), per_call_end: call_end.to_owned(), ..around };
    Ok(Some(apply_prefix(apply(tools, around), &turns.lead)))
}

fn apply_prefix(mut tools: Tools, lead: &str) -> Tools {
    let first = [&mut tools.section_start, &mut tools.per_call_start, &mut tools.function.name_prefix]
        .into_iter()
        .find(|marker| !marker.is_empty());
    if let Some(first) = first {
        first.insert_str(0, lead);
    }
    tools
}

/// Two texts that are alike but for a number that counts up: what stands before the number, and after it.
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

/// Where the last tag of a text begins, or its last unfinished one.
fn last_tag_start(text: &str) -> usize {
    let open = text.rfind(['<', '[']);
    open.unwrap_or(text.len())
}

/// Where what follows the last tag or white space of a text begins.
fn last_break(text: &str) -> usize {
    text.rfind(|c: char| c.is_whitespace() || matches!(c, '>' | ']' | '"' | '\'' | '=' | '('))
        .map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8))
}

/// Cuts what stands before a name into what opens the call and what belongs to the name: an unfinished tag, or what
/// follows the first of several tags.
fn split_prefix(text: &str) -> (&str, &str) {
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

/// Cuts what closes a call into what closes the name's tag and what closes the call.
fn split_close<'a>(prefix: &str, text: &'a str) -> (&'a str, &'a str) {
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

// ----- every argument by itself -----

/// How values are written: what stands around a string, beyond what stands around every value.
#[derive(Debug, Default)]
struct Encoding {
    /// Between the name and a string.
    before_string: String,
    /// Between the name and another value, where that differs by more than a quote.
    before_other: Option<String>,
    /// The quote before a string, where values are literals.
    quote: Option<String>,
}

/// A2: a string and a number under the same name.
fn encoding(s: &Sentinels, render: impl Fn(&[(&str, Value)]) -> Option<String>) -> Option<Encoding> {
    const NUMBER: &str = "4711";
    let between = |text: &str, value: &str| -> Option<(String, String)> {
        let name = text::after(text, 0, s.functions[0])?;
        let key = text::after(text, name.end, s.arguments[0])?;
        let value = text::after(text, key.end, value)?;
        Some((text[key.end..value.start].to_owned(), text[value.end..].to_owned()))
    };
    let (before_string, after_string) = between(&render(&[(s.arguments[0], s.values[0].into())])?, s.values[0])?;
    let number = render(&[(s.arguments[0], json!(4711))]).and_then(|text| between(&text, NUMBER));
    let Some((before_number, after_number)) = number else {
        return Some(Encoding { before_string, ..Encoding::default() });
    };
    let mut encoding = Encoding { before_string, ..Encoding::default() };
    if encoding.before_string == before_number {
        return Some(encoding);
    }
    let quote = encoding.before_string.strip_prefix(before_number.as_str());
    match quote.filter(|quote| after_string.strip_prefix(*quote) == Some(after_number.as_str())) {
        Some(quote) => {
            encoding.quote = Some(quote.to_owned());
            encoding.before_string = before_number;
        }
        None => encoding.before_other = Some(before_number),
    }
    Some(encoding)
}

fn tagged(lab: &Lab<'_>, s: &Sentinels, style: Style, frame: &Frame, turns: &Turns) -> Result<Tools, Trouble> {
    let render = |arguments: &[(&str, Value)]| {
        let call = Call::new(s.functions[0], s.ids[0], arguments);
        lab.turn(s, &Turn::calls(&[call]), style).ok().map(|turn| strip(s, &turn, frame))
    };
    let [k1, k2] = s.arguments;
    let [v1, v2] = s.values;
    let find = |text: &str, from: usize, needle: &str| text::after(text, from, needle);
    let one = &turns.one;
    let Some(name) = find(one, 0, s.functions[0]) else {
        return unsupported("T3", "the function's name is not rendered");
    };
    let Some(encoding) = encoding(s, render) else {
        return unsupported("T4", format!("name, argument and value do not follow each other: {one:?}"));
    };
    let quote = encoding.quote.clone().unwrap_or_default();
    // An argument's name and its value, quotes included.
    let place = |text: &str, key: &str, value: &str, from: usize| -> Option<(Range<usize>, Range<usize>)> {
        let key = find(text, from, key)?;
        let value = find(text, key.end, value)?;
        Some((key, value.start.checked_sub(quote.len())?..(value.end + quote.len()).min(text.len())))
    };
    let Some((key, value)) = place(one, k1, v1, name.end) else {
        return unsupported("T4", format!("name, argument and value do not follow each other: {one:?}"));
    };
    // T5: one and two arguments.
    let Some(both) = render(&[(k1, v1.into()), (k2, v2.into())]) else {
        return unsupported("T5", "a call with two arguments cannot be rendered");
    };
    let places = find(&both, 0, s.functions[0])
        .and_then(|name| place(&both, k1, v1, name.end))
        .and_then(|(_, first)| place(&both, k2, v2, first.end).map(|second| (first, second)));
    let Some((first_value, (second_key, second_value))) = places else {
        return unsupported("T5", format!("two arguments do not follow each other: {both:?}"));
    };
    let open = &one[..name.start];
    let head = &one[name.end..key.start]; // name suffix, start of arguments, prefix of an argument's name
    let between = &one[key.end..value.start];
    let step = &both[first_value.end..second_key.start]; // value suffix, separator, prefix of the next name
    let tail = &both[second_value.end..]; // value suffix, end of arguments, closers
    if both[second_key.end..second_value.start] != *between {
        return unsupported("T4", "two arguments are written in different ways");
    }
    let prefix_length = text::common_suffix(head, step).max(unfinished(head, step));
    let name_prefix = &step[step.len() - prefix_length..];
    let rest = &step[..step.len() - prefix_length];
    let literal = encoding.quote.is_some();
    let suffix_length = if literal { 0 } else { text::common_prefix(rest, tail) };
    let (value_suffix, separator) = rest.split_at(suffix_length);
    if value_suffix.trim().is_empty() && !literal {
        return unsupported("A2", format!("nothing marks where a value ends: {step:?}"));
    }
    // T6: no argument at all.
    let head_rest = &head[..head.len() - prefix_length];
    let none = render(&[]).and_then(|text| find(&text, 0, s.functions[0]).map(|at| text[at.end..].to_owned()));
    let name_suffix_length = match &none {
        Some(none) => {
            let common = text::common_prefix(head_rest, none);
            if common == 0 || head_rest[common..].trim().is_empty() { head_rest.len() } else { common }
        }
        None => head_rest.len(),
    };
    let (name_suffix, arguments_start) = head_rest.split_at(name_suffix_length);
    let after_values = &tail[suffix_length..];
    // Two calls.
    let mut around_calls =
        Around { per_call_start: open.to_owned(), per_call_end: after_values.to_owned(), ..Around::default() };
    if let Some(pair) = &turns.two {
        let ends = find(pair, 0, s.functions[0])
            .and_then(|name| place(pair, k1, v1, name.end))
            .and_then(|(_, value)| find(pair, value.end, s.functions[1]).map(|next| (value.end, next.start)));
        let Some((from, to)) = ends else {
            return unsupported("T2", "two calls are written otherwise than one");
        };
        let middle = &pair[from..to];
        let middle = middle.strip_prefix(value_suffix).unwrap_or(middle);
        around_calls = around(open, Some(middle), after_values);
    }
    let (start, prefix) = split_prefix(&around_calls.per_call_start);
    let (close, call_end) = if literal {
        // The bracket that the name opens is closed first.
        let end = &around_calls.per_call_end;
        let bracket = end.trim_start().chars().next().map_or(0, char::len_utf8);
        end.split_at(end.len() - end.trim_start().len() + bracket)
    } else {
        split_close(prefix, &around_calls.per_call_end)
    };
    // What closes a name and opens a value.
    let (argument_suffix, value_prefix) = if literal { (between, "") } else { split_between(between) };
    let other = encoding.before_other.as_deref().map(split_between);
    if let Some((_, other_prefix)) = other.filter(|(_, other_prefix)| *other_prefix != value_prefix) {
        return unsupported(
            "A2",
            format!("a value that is no string begins with {other_prefix:?}, a string with {value_prefix:?}"),
        );
    }
    let is_quote_token = !matches!(quote.as_str(), "" | "\"" | "'");
    let tools = Tools {
        format: if literal { ToolFormat::CallExpression } else { ToolFormat::TagWithTagged },
        function: Function {
            name_prefix: prefix.to_owned(),
            name_suffix: name_suffix.to_owned(),
            close: close.to_owned(),
        },
        arguments: Arguments {
            start: arguments_start.to_owned(),
            name_prefix: name_prefix.to_owned(),
            name_suffix: argument_suffix.to_owned(),
            other_name_suffix: other.map_or(String::new(), |(suffix, _)| suffix.to_owned()),
            quote: if is_quote_token { quote.clone() } else { String::new() },
            value_prefix: value_prefix.to_owned(),
            value_suffix: value_suffix.to_owned(),
            separator: separator.to_owned(),
            ..Arguments::default()
        },
        ..Tools::default()
    };
    let around_calls = Around { per_call_start: start.to_owned(), per_call_end: call_end.to_owned(), ..around_calls };
    Ok(apply_prefix(apply(tools, around_calls), &turns.lead))
}

/// How much two texts have in common at their ends, where that end is an unfinished tag.
fn unfinished(a: &str, b: &str) -> usize {
    let tail = |text: &str| text.rfind('<').filter(|at| !text[*at..].contains('>')).map_or(0, |at| text.len() - at);
    let (x, y) = (tail(a), tail(b));
    if x == y && a[a.len() - x..] == b[b.len() - y..] { x } else { 0 }
}

/// Cuts what stands between an argument's name and its value.
fn split_between(text: &str) -> (&str, &str) {
    let end = text.find(['>', ']']).map_or(text.len(), |at| at + 1);
    if text[..end].trim().is_empty() { ("", text) } else { text.split_at(end) }
}

/// Whether values come out as Python writes them.
fn prints_python(lab: &Lab<'_>, s: &Sentinels, style: Style) -> bool {
    let values = [json!(true), json!({s.arguments[1]: s.values[1]}), Value::Null];
    let call = Call::new(
        s.functions[0],
        s.ids[0],
        &[(s.arguments[0], values[0].clone()), (s.arguments[1], values[1].clone())],
    );
    lab.turn(s, &Turn::calls(&[call]), style).is_ok_and(|turn| {
        let quoted = format!("'{}'", s.values[1]);
        turn.contains(&quoted) || (turn.contains("True") && !turn.contains("true"))
    })
}
