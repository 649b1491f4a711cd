//! Finds the bytes of a call object that are its name, its id and its arguments. The object may be cut off or
//! malformed; bytes that cannot be assigned are syntax.

use std::ops::Range;

use super::log::{Log, Taken};
use crate::program::CallShape;
use crate::program::call_shape::Role;
use crate::readers::json::is_token;

/// A part of an object that has a meaning.
struct TakenRange {
    range: Range<usize>,
    taken: Taken,
}

/// Marks the parts of the object in `range`.
pub(super) fn mark(log: &mut Log, text: &[u8], range: Range<usize>, shape: &CallShape, call: Option<usize>) {
    let piece = text.get(range.clone()).unwrap_or_default();
    let syntax = Taken::Syntax("tools.format");
    let mut parts = parts(piece, shape);
    // Arguments that were passed on unchanged are known.
    if let Some(passed) = log.passed.take().filter(|passed| range.start <= passed.start && passed.end <= range.end) {
        let after = text.get(passed.end..range.end).unwrap_or_default().utf8_chunks().next();
        let odd = after.filter(|chunk| log.replaced && chunk.valid().is_empty()).map_or(0, |c| c.invalid().len());
        let passed = passed.start - range.start..passed.end + odd - range.start;
        parts.retain(|part| part.taken != Taken::Arguments);
        parts.retain(|part| part.range.end <= passed.start || passed.end <= part.range.start);
        let at = parts.partition_point(|part| part.range.start < passed.start);
        parts.insert(at, TakenRange { range: passed, taken: Taken::Arguments });
    }
    for part in parts {
        log.mark(log.covered().max(range.start)..range.start + part.range.start, syntax, call);
        log.mark(range.start + part.range.start..range.start + part.range.end, part.taken, call);
    }
    log.mark(log.covered().max(range.start)..range.end, syntax, call);
}

/// An object or array that is open.
struct Level {
    is_object: bool,
    /// The key whose value comes next.
    key: Option<Range<usize>>,
    /// A value comes next, or is being read.
    in_value: bool,
    value: usize,
}

fn parts(text: &[u8], shape: &CallShape) -> Vec<TakenRange> {
    let mut found: Vec<TakenRange> = Vec::new();
    let mut levels: Vec<Level> = Vec::new();
    let mut unfinished = false;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' | b'\'' if byte == b'"' || shape.python => {
                let end = string_end(text, at);
                unfinished = end.is_none();
                let end = end.unwrap_or(text.len());
                if let Some(level) = levels.last_mut().filter(|level| level.is_object && !level.in_value) {
                    level.key = Some(at + 1..end.saturating_sub(1).max(at + 1));
                }
                at = end;
                continue;
            }
            b'{' | b'[' => {
                levels.push(Level { is_object: byte == b'{', key: None, in_value: false, value: 0 });
            }
            b':' => {
                if let Some(level) = levels.last_mut().filter(|level| level.is_object && !level.in_value) {
                    level.in_value = true;
                    level.value = at + 1;
                }
            }
            b',' => close_value(text, at, &mut levels, shape, &mut found),
            b'}' | b']' => {
                close_value(text, at, &mut levels, shape, &mut found);
                levels.pop();
                if levels.is_empty() {
                    break;
                }
            }
            _ => {}
        }
        at += 1;
    }
    // Values that are open at the end. If something inside a value is open, the value extends to the last byte.
    let mut open_inside = unfinished;
    while !levels.is_empty() {
        let before = found.len();
        close_value(text, text.len(), &mut levels, shape, &mut found);
        if let Some(part) = found.get_mut(before..).and_then(<[TakenRange]>::last_mut).filter(|_| open_inside) {
            part.range.end = text.len();
        }
        levels.pop();
        open_inside = true;
    }
    found.sort_by_key(|part| part.range.start);
    // Parts inside the value of another part do not count.
    let mut end = 0;
    found.retain(|part| {
        let fits = part.range.start >= end;
        if fits {
            end = part.range.end;
        }
        fits
    });
    found
}

/// A value of the innermost object ends at `at`.
fn close_value(text: &[u8], at: usize, levels: &mut [Level], shape: &CallShape, found: &mut Vec<TakenRange>) {
    let depth = levels.len();
    let parent = match levels {
        [.., parent, _] => parent.key.clone(),
        _ => None,
    };
    let Some(level) = levels.last_mut().filter(|level| level.in_value) else { return };
    level.in_value = false;
    let Some(key_range) = level.key.take() else { return };
    let is_function = |key: &[u8]| matches!(shape.role(key, 1), Role::Function | Role::UsualFunction);
    let in_function = depth == 2 && parent.and_then(|parent| text.get(parent)).is_some_and(is_function);
    if depth != 1 && !in_function {
        return;
    }
    let piece = text.get(level.value..at).unwrap_or_default();
    // Bytes with which no value begins are skipped, as the reader of call objects does.
    let quote = |byte: u8| byte == b'"' || (byte == b'\'' && shape.python);
    let begins = |&byte: &u8| quote(byte) || matches!(byte, b'{' | b'[') || is_token(byte);
    let end = level.value + piece.trim_ascii_end().len();
    let value = piece.iter().position(begins).map_or(end, |skipped| level.value + skipped)..end;
    let key = text.get(key_range.clone()).unwrap_or_default();
    let is_object = text.get(value.start) == Some(&b'{');
    let taken = match shape.role(key, depth as u8) {
        Role::NameAsKey => {
            found.push(TakenRange { range: key_range.clone(), taken: Taken::FunctionName });
            Some(Taken::Arguments)
        }
        Role::Name => Some(Taken::FunctionName),
        Role::Arguments => Some(Taken::Arguments),
        Role::UsualArguments if is_object => Some(Taken::Arguments),
        Role::Id => Some(Taken::CallId),
        Role::Function => None,
        Role::UsualFunction if is_object => None,
        Role::UsualFunction => Some(Taken::Unparsed),
        Role::UsualArguments => Some(Taken::Unparsed),
        Role::Other => (!shape.is_known(key, depth as u8) && !shape.is_syntax(key)).then_some(Taken::Unparsed),
    };
    let Some(taken) = taken else { return };
    let again = taken != Taken::Unparsed && found.iter().any(|part| part.taken == taken);
    found.push(match taken {
        Taken::Unparsed => TakenRange { range: key_range.start - 1..value.end, taken },
        _ if again => TakenRange { range: key_range.start - 1..value.end, taken: Taken::Unparsed },
        Taken::Arguments => TakenRange { range: value, taken },
        _ => TakenRange { range: inside_quotes(text, value), taken },
    });
}

fn inside_quotes(text: &[u8], range: Range<usize>) -> Range<usize> {
    match text.get(range.clone()) {
        Some([open @ (b'"' | b'\''), .., close]) if open == close => range.start + 1..range.end - 1,
        _ => range,
    }
}

/// The offset after the string that begins at `at`; `None` if it does not end.
fn string_end(text: &[u8], at: usize) -> Option<usize> {
    let quote = text[at];
    let mut escaped = false;
    for (offset, &byte) in text[at + 1..].iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            byte if byte == quote => return Some(at + offset + 2),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str, shape: &CallShape) -> Vec<(&'static str, String)> {
        parts(text.as_bytes(), shape).into_iter().map(|p| (p.taken.name(), text[p.range].to_owned())).collect()
    }

    fn shape() -> CallShape {
        CallShape { name_field: "name".into(), args_field: "args".into(), id_field: "id".into(), ..Default::default() }
    }

    #[test]
    fn finds_the_parts_of_an_object() {
        let whole =
            [("call_id", "7".to_owned()), ("function_name", "f".to_owned()), ("arguments", "{\"name\": 1}".to_owned())];
        assert_eq!(pieces(r#"{"id": "7", "name": "f", "args": {"name": 1} }"#, &shape()), whole);
        let cut = [("function_name", "f".to_owned()), ("arguments", "{\"a\": \"x,}".to_owned())];
        assert_eq!(pieces(r#"{"name":"f","args":{"a": "x,}"#, &shape()), cut);
        let inner = CallShape { function_field: "function".into(), ..shape() };
        let nested =
            [("function_name", "f".to_owned()), ("arguments", "\"{}\"".to_owned()), ("call_id", "7".to_owned())];
        assert_eq!(pieces(r#"{"function": {"name": "f", "args": "{}"}, "id": "7"}"#, &inner), nested);
        // The name before the object is the name of the call.
        let announced = CallShape { announced: true, ..shape() };
        assert_eq!(pieces(r#"{"name": "f", "args": {}}"#, &announced), [("arguments", "{}".to_owned())]);
        // No value begins with a colon.
        assert_eq!(pieces(r#"{"args": : "{}"}"#, &shape()), [("arguments", "\"{}\"".to_owned())]);
        let key = CallShape { name_is_key: true, python: true, ..Default::default() };
        assert_eq!(
            pieces("{'f': {'a': 1}}", &key),
            [("function_name", "f".to_owned()), ("arguments", "{'a': 1}".to_owned())]
        );
    }
}
