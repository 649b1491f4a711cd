//! Calls whose name and arguments are members of one JSON object or Python dict (`tools.format = "json_native"`).

use std::ops::Range;

use serde_json::{Map, Value};
use unjinja_spec::{Function, ToolFormat, Tools};

use super::around::{Around, Bodies, longer_close};
use crate::conversation::Call;
use crate::error::{Gap, gap, quoted};
use crate::experiment::Experiment;
use crate::observed::{LabelledTurn, MessagePart};

#[derive(Debug)]
pub(super) struct FoundObject {
    pub range: Range<usize>,
    pub value: Value,
    pub python: bool,
}

/// The first JSON value (or Python literal) that begins with one of `opens` at or after `from` and holds these parts.
pub(super) fn object_with(
    turn: &LabelledTurn,
    from: usize,
    opens: &[char],
    parts: &[MessagePart],
) -> Option<FoundObject> {
    let last = parts.iter().map(|part| turn.from(from, *part).map(|at| at.start)).collect::<Option<Vec<_>>>()?;
    let last = last.into_iter().max()?;
    let mut at = from;
    while let Some(offset) = turn.text.get(at..=last)?.find(opens) {
        at += offset;
        if let Some(found) = object_at(&turn.text, at)
            && parts
                .iter()
                .all(|part| turn.all(*part).any(|hole| found.range.start < hole.start && hole.end < found.range.end))
        {
            return Some(found);
        }
        at += 1;
    }
    None
}

fn object_at(text: &str, at: usize) -> Option<FoundObject> {
    let mut stream = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
    if let Some(Ok(value)) = stream.next() {
        return Some(FoundObject { range: at..at + stream.byte_offset(), value, python: false });
    }
    let (json, length) = unjinja_runtime::python_to_json(&text[at..])?;
    let value = serde_json::from_str(&json).ok()?;
    Some(FoundObject { range: at..at + length, value, python: true })
}

/// T1, T3, T4: the members of a call's object that hold name, arguments and id.
fn shape_of(object: &Map<String, Value>, call: &Call) -> Option<Tools> {
    let mut tools = Tools { format: ToolFormat::JsonNative, ..Tools::default() };
    let (holder, function_field) = match object.iter().find(|(_, value)| holds_name(value, &call.name)) {
        Some((field, Value::Object(inner))) => (inner, field.clone()),
        _ => (object, String::new()),
    };
    tools.function_field = function_field;
    if let Some(arguments) = holder.get(&call.name) {
        tools.fun_name_is_key = true;
        is_arguments(arguments, call).then_some(())?;
    } else {
        tools.name_field = holder.iter().find(|(_, v)| v.as_str() == Some(&call.name))?.0.clone();
        let (field, value) = holder.iter().find(|(_, value)| is_arguments(value, call))?;
        (tools.args_field, tools.args_as_text) = (field.clone(), value.is_string());
    }
    let id = |map: &Map<String, Value>| map.iter().find(|(_, v)| v.as_str() == Some(&call.id)).map(|(k, _)| k.clone());
    tools.id_field = id(object).or_else(|| id(holder)).unwrap_or_default();
    if !tools.fun_name_is_key {
        tools.parameter_order = object.keys().cloned().collect();
    }
    Some(tools)
}

fn holds_name(value: &Value, name: &str) -> bool {
    value.as_object().is_some_and(|inner| inner.values().any(|v| v.as_str() == Some(name)))
}

fn is_arguments(value: &Value, call: &Call) -> bool {
    match value {
        Value::Object(map) => call.arguments.keys().any(|key| map.contains_key(key)),
        Value::String(text) => {
            serde_json::from_str::<Value>(text).is_ok_and(|inner| inner.is_object() && is_arguments(&inner, call))
        }
        _ => false,
    }
}

/// The parts of the call with this number that its object must hold.
fn parts(number: usize) -> [MessagePart; 2] {
    [MessagePart::Name(number), MessagePart::Key(number, 0)]
}

/// The name in a header before the object: its place, if the object is not the first to name the function.
fn header(turn: &LabelledTurn, number: usize, from: usize, object: &FoundObject) -> Option<Range<usize>> {
    turn.from(from, MessagePart::Name(number)).filter(|name| name.end <= object.range.start)
}

pub(super) fn find(bodies: &Bodies) -> Result<Option<Tools>, Gap> {
    let one = &bodies.one;
    let Some(first) = object_with(one, 0, &['{', '['], &parts(0)) else { return Ok(None) };
    let array = first.value.is_array();
    let object = match &first.value {
        Value::Array(items) => match items.as_slice() {
            [Value::Object(object)] => object,
            _ => return Ok(None),
        },
        Value::Object(object) => object,
        _ => return Ok(None),
    };
    let Some(mut tools) = shape_of(object, &Call::probe(0)) else { return Ok(None) };
    tools.uses_python_dicts = first.python;
    tools.tools_array_wrapped = array;
    let name = header(one, 0, 0, &first);
    if let Some(name) = &name {
        tools.function =
            Function { name_suffix: one.text[name.end..first.range.start].to_owned(), ..Function::default() };
    }
    let start = |found: &FoundObject, name: Option<Range<usize>>| name.map_or(found.range.start, |name| name.start);
    let open = &one.text[..start(&first, name)];
    let mut close = &one.text[first.range.end..];
    let mut middle = None;
    if let Some(pair) = &bodies.two {
        let Some(left) = object_with(pair, 0, &['{', '['], &parts(0)) else {
            return gap(Experiment::T2, "the first of two calls to look like a call alone", quoted(&pair.text));
        };
        if array {
            let Some(items) = left.value.as_array().filter(|items| items.len() == 2) else {
                return gap(Experiment::T2, "both calls in the array that holds a call alone", quoted(&pair.text));
            };
            if let [Value::Object(a), Value::Object(b)] = items.as_slice() {
                tools.gen_id_field = counted_id(a, b, &tools);
            }
        } else {
            let Some(right) = object_with(pair, left.range.end, &['{', '['], &parts(1)) else {
                return gap(Experiment::T2, "the second of two calls to look like the first", quoted(&pair.text));
            };
            if let (Value::Object(a), Value::Object(b)) = (&left.value, &right.value) {
                tools.gen_id_field = counted_id(a, b, &tools);
            }
            let name = header(pair, 1, left.range.end, &right);
            close = longer_close(close, &pair.text[right.range.end..]);
            middle = Some(&pair.text[left.range.end..start(&right, name)]);
        }
    }
    let around = if array {
        Around { section_start: open.to_owned(), section_end: close.to_owned(), ..Around::default() }
    } else {
        Around::split(open, middle, close, &bodies.turn_end)
    };
    Ok(Some(around.apply(tools, &bodies.lead)))
}

/// T7: the key of a member that counts the calls.
fn counted_id(a: &Map<String, Value>, b: &Map<String, Value>, tools: &Tools) -> String {
    let number = |value: &Value| match value {
        Value::String(text) => text.parse::<i64>().ok(),
        other => other.as_i64(),
    };
    let known = [&tools.name_field, &tools.args_field, &tools.id_field];
    let counts = a.iter().filter(|(key, _)| !known.contains(key)).find(|(key, value)| {
        let next = b.get(*key).and_then(number);
        number(value).is_some_and(|n| next == Some(n + 1))
    });
    counts.map_or(String::new(), |(key, _)| key.clone())
}
