//! Calls whose name and arguments are members of one JSON object or Python dict (`tools.format = "json_native"`).

use std::ops::Range;

use serde_json::{Map, Value};
use unjinja_spec::{ToolFormat, Tools};

use super::parts::{Around, Turns, apply, around, longer_close, two, with_lead};
use crate::conversation::Call;
use crate::error::{CallsError, gap, quoted};
use crate::sentinels::Sentinels;
use crate::trace::Experiment;
/// A JSON value in a text.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) range: Range<usize>,
    pub(super) value: Value,
    pub(super) python: bool,
}

/// The first JSON value (or Python literal) that begins with one of `opens` at or after `from` and holds `needle`.
pub(super) fn object_with(text: &str, from: usize, opens: &[char], needles: &[&str]) -> Option<Found> {
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

/// T1, T3, T4: the members of a call's object that hold name, arguments and id.
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

pub(super) fn find(s: &Sentinels, turns: &Turns) -> Result<Option<Tools>, CallsError> {
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
            return gap(Experiment::T2, "the first of two calls to look like a call alone", quoted(pair));
        };
        if array {
            let Some(items) = one.value.as_array().filter(|items| items.len() == 2) else {
                return gap(Experiment::T2, "both calls in the array that holds a call alone", quoted(pair));
            };
            if let [Value::Object(a), Value::Object(b)] = items.as_slice() {
                tools.gen_id_field = counted_id(a, b, &tools);
            }
        } else {
            let needles = [calls[1].name.as_str(), s.arguments[1]];
            let Some(two) = object_with(pair, one.range.end, &['{', '['], &needles) else {
                return gap(Experiment::T2, "the second of two calls to look like the first", quoted(pair));
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

/// T7: the key of a member that counts the calls.
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
