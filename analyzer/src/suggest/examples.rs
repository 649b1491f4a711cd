//! Finds examples in a text that describes how calls are written: objects with a name and arguments, Python calls, and
//! nested tags. An example is full of placeholders, so it is neither valid JSON nor valid Python.

use std::ops::Range;

use serde_json::Value;
use unjinja_spec::tags;

use super::passage::is_about_a_tool;

/// Bytes of an example at most.
const LONGEST: usize = 800;

/// The usual keys of a function's name.
const NAMES: &[&str] = &["name", "function_name", "tool_name", "function", "tool"];

const ARGUMENTS: &[&str] = &["arguments", "parameters", "args", "params", "input", "tool_input"];

pub(super) struct Object {
    pub(super) range: Range<usize>,
    pub(super) name: String,
    pub(super) arguments: String,
}

/// The objects of a text that look like a call.
pub(super) fn objects(text: &str) -> Vec<Object> {
    let starts = text.match_indices('{').map(|(at, _)| at);
    starts
        .filter_map(|start| {
            let end = closing(text, start)?;
            let inner = &text[start..end];
            let keys = keys(inner);
            let one_of = |wanted: &[&str]| keys.iter().find(|key| wanted.contains(&key.as_str())).cloned();
            if is_about_a_tool(inner) || keys.iter().any(|key| key == "description") {
                return None;
            }
            Some(Object { range: start..end, name: one_of(NAMES)?, arguments: one_of(ARGUMENTS)? })
        })
        .collect()
}

pub(super) struct PythonCall {
    pub(super) range: Range<usize>,
}

/// The Python calls of a text: a name, a bracket, an argument's name and an equals sign.
pub(super) fn python_calls(text: &str) -> Vec<PythonCall> {
    let opens = text.match_indices('(').map(|(at, _)| at);
    opens
        .filter_map(|open| {
            let name = text[..open].len() - word_before(text, open).len();
            let argument = text[open + 1..].find(|c: char| !is_word(c)).map(|length| open + 1 + length)?;
            let end = closing(text, open)?;
            let is_call = name < open && argument > open + 1 && text[argument..].trim_start().starts_with('=');
            (is_call && !is_about_a_tool(&text[name..end])).then_some(PythonCall { range: name..end })
        })
        .collect()
}

pub(super) fn word_before(text: &str, end: usize) -> &str {
    let before = &text[..end];
    let start = before.char_indices().rev().take_while(|(_, c)| is_word(*c)).last().map_or(end, |(at, _)| at);
    &before[start..]
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The end of what the bracket at an offset opens.
pub(super) fn closing(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text[open..].char_indices().take_while(|(at, _)| *at < LONGEST) {
        match c {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(open + at + c.len_utf8());
        }
    }
    None
}

fn keys(object: &str) -> Vec<String> {
    members(object).into_iter().map(|(key, _)| key.to_owned()).collect()
}

/// The members of an object, without those of objects in it: each key, and where its value is.
fn members(object: &str) -> Vec<(&str, Range<usize>)> {
    let (mut keys, mut ends, mut depth) = (Vec::new(), Vec::new(), 0_usize);
    let mut characters = object.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    ends.push(at);
                }
            }
            ',' if depth == 1 => ends.push(at),
            '"' | '\'' => {
                let inner = &object[at + 1..];
                let Some(length) = inner.find(c) else { break };
                if depth == 1
                    && let Some(value) = inner[length + 1..].trim_start().strip_prefix(':')
                {
                    keys.push((&inner[..length], object.len() - value.len()));
                }
                // The text between the quotes may hold brackets.
                for _ in inner[..=length].chars() {
                    characters.next();
                }
            }
            _ => {}
        }
    }
    let value = |start: usize| start..ends.iter().copied().find(|end| *end >= start).unwrap_or(object.len());
    keys.into_iter().map(|(key, start)| (key, value(start))).collect()
}

/// An example of a call as a model writes it. A value that is JSON stays; a name, arguments and a text take the places of words
/// that only stand for them. `None` if something in the example is not a member.
pub(super) fn filled(object: &str, name: &str, arguments: &str) -> Option<String> {
    let mut out = object.to_owned();
    for (key, range) in members(object).into_iter().rev() {
        let value = serde_json::from_str::<Value>(object[range.clone()].trim()).ok();
        let new = match value {
            Some(Value::String(text)) if key == name && !text.is_empty() => continue,
            Some(Value::Object(_)) if key == arguments => continue,
            Some(_) if key != name && key != arguments => continue,
            _ if key == name => " \"a_name\"",
            _ if key == arguments => " {\"a_key\": \"a value\"}",
            _ => " \"a value\"",
        };
        out.replace_range(range, new);
    }
    // Some prompts write the keys in the other quotes.
    let quoted = out.replace('\'', "\"");
    [&out, &quoted].iter().any(|text| serde_json::from_str::<Value>(text).is_ok()).then_some(out)
}

/// The complete tags of a text, with their places.
pub(super) fn placed_tags(text: &str) -> Vec<(Range<usize>, &str)> {
    let mut at = 0;
    let placed = tags(text).into_iter().map(|tag| {
        let start = text[at..].find(tag).map_or(at, |offset| at + offset);
        at = start + tag.len();
        (start..at, tag)
    });
    placed.collect()
}

/// The tag that ends a text, and the white space after it, of one line break at most.
pub(super) fn tag_before(text: &str) -> Option<(&str, &str)> {
    let core = text.trim_end();
    let space = &text[core.len()..];
    let (range, tag) = placed_tags(core).pop()?;
    (range.end == core.len() && space.matches('\n').count() <= 1).then_some((tag, space))
}

/// The tag that begins a text, and the white space before it, of one line break at most.
pub(super) fn tag_after(text: &str) -> Option<(&str, &str)> {
    let core = text.trim_start();
    let space = &text[..text.len() - core.len()];
    let (range, tag) = placed_tags(core).into_iter().next()?;
    (range.start == 0 && space.matches('\n').count() <= 1).then_some((space, tag))
}

pub(super) fn is_closer(tag: &str) -> bool {
    tag.starts_with("</") || tag.starts_with("[/")
}
