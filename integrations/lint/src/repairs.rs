//! Repairs as data: for a rule, what may be changed in the source, and which conversation must render as which other one
//! afterwards. Whether a change is good, `fix` decides: it renders.

use serde_json::{Map, Value};

use super::rules::{self, Rule};
use unjinja_export::expressions::{FieldRead, field_reads};

/// How the findings of a rule may be repaired.
pub(super) struct Repair {
    pub rule: Rule,
    /// The sources that may be tried, the smallest changes first.
    pub edits: fn(&str) -> Vec<String>,
    /// Puts the fault into a conversation, at all places that it can have.
    pub spoil: &'static [Change],
    /// Makes the conversation that has the same meaning and that the template renders rightly. One without the fault stays as it is.
    pub heal: Change,
    /// White space may differ: JSON that a client writes has other spaces than that of `tojson`.
    pub only_words: bool,
}

/// A change of the variables of a render.
pub(super) type Change = fn(&mut Value);

const fn repair(rule: Rule, edits: fn(&str) -> Vec<String>, spoil: &'static [Change], heal: Change) -> Repair {
    Repair { rule, edits, spoil, heal, only_words: false }
}

/// In the order in which they are tried.
pub(super) const REPAIRS: &[Repair] = &[
    repair(rules::NULL_CONTENT, or_empty, &[content_is_null], content_is_empty),
    repair(rules::MISSING_CONTENT, or_empty, &[content_is_missing], content_is_empty),
    repair(rules::REASONING_ALONE, or_empty, &[nothing_but_reasoning], content_is_empty),
    repair(rules::EMPTY_TOOL_CALLS, if_tool_calls, &[calls_are_null, calls_are_empty], no_empty_calls),
    repair(rules::EMPTY_TOOLS, if_tools, &[tools_are_null, tools_are_empty], no_empty_tools),
    repair(rules::DEVELOPER_ROLE, developer_too, &[system_is_developer], developer_is_system),
    Repair {
        only_words: true,
        ..repair(rules::TEXT_ARGUMENTS, text_as_it_is, &[arguments_are_text], arguments_are_objects)
    },
    Repair {
        only_words: true,
        ..repair(rules::OBJECT_ARGUMENTS, objects_as_json, &[arguments_are_objects], arguments_are_text)
    },
];

/// A source in which some ranges are replaced. They must be in order and must not overlap.
fn replaced(source: &str, changes: &[(std::ops::Range<usize>, String)]) -> String {
    let mut out = String::with_capacity(source.len() + 64);
    let mut at = 0;
    for (range, text) in changes {
        out.push_str(source.get(at..range.start).unwrap_or_default());
        out.push_str(text);
        at = range.end;
    }
    out.push_str(source.get(at..).unwrap_or_default());
    out
}

/// Each change alone, then all of them.
fn one_or_all(source: &str, changes: &[(std::ops::Range<usize>, String)]) -> Vec<String> {
    /// More places than this are only changed together.
    const MOST_ALONE: usize = 24;
    let mut sources = Vec::new();
    if changes.len() <= MOST_ALONE {
        sources.extend(changes.iter().map(|change| replaced(source, std::slice::from_ref(change))));
    }
    if changes.len() != 1 {
        sources.push(replaced(source, changes));
    }
    sources
}

fn of_field<'s>(source: &'s str, field: &'s str) -> impl Iterator<Item = (FieldRead, &'s str)> {
    let reads = field_reads(source).into_iter().filter(move |read| read.field == field);
    reads.map(|read| {
        let text = source.get(read.range.clone()).unwrap_or_default();
        (read, text)
    })
}

/// `message.content` → `(message.content or '')`.
fn or_empty(source: &str) -> Vec<String> {
    let reads = of_field(source, "content").filter(|(read, _)| read.has_parent);
    let changes: Vec<_> = reads.map(|(read, text)| (read.range, format!("({text} or '')"))).collect();
    one_or_all(source, &changes)
}

/// What of a text comes after a field in a condition that asks whether it is there.
fn asks(rest: &str) -> Option<usize> {
    [" is defined", " is not none", " is not None"].into_iter().find(|words| rest.starts_with(words)).map(str::len)
}

/// Removes ` is defined` and ` is not none` after a field.
fn only_if_true(source: &str, field: &str) -> Vec<(std::ops::Range<usize>, String)> {
    let asked = |(read, _): (FieldRead, &str)| {
        let end = read.range.end;
        asks(source.get(end..)?).map(|width| (end..end + width, String::new()))
    };
    of_field(source, field).filter_map(asked).collect()
}

/// `'tool_calls' in message` → `message.tool_calls`, with `not in` → `not message.tool_calls`, and `message.tool_calls is defined` →
/// `message.tool_calls`.
fn if_tool_calls(source: &str) -> Vec<String> {
    let mut changes = only_if_true(source, "tool_calls");
    for read in field_reads(source) {
        let before = source.get(..read.range.start).unwrap_or_default();
        let text = source.get(read.range.clone()).unwrap_or_default();
        for (words, asks) in [("'tool_calls' in ", ""), ("'tool_calls' not in ", "not ")] {
            let found = [words.to_owned(), words.replace('\'', "\"")].into_iter().find(|words| before.ends_with(words));
            changes.extend(
                found.map(|words| (read.range.start - words.len()..read.range.end, format!("{asks}{text}.tool_calls"))),
            );
        }
    }
    changes.sort_by_key(|(range, _)| range.start);
    one_or_all(source, &changes)
}

/// `tools is defined` → `tools`.
fn if_tools(source: &str) -> Vec<String> {
    one_or_all(source, &only_if_true(source, "tools"))
}

/// `message.role == 'system'` → `message.role in ['system', 'developer']`.
fn developer_too(source: &str) -> Vec<String> {
    let both = "['system', 'developer']";
    let changed = |(read, _): (FieldRead, &str)| {
        let end = read.range.end;
        let rest = source.get(end..)?;
        let forms = [
            (" == ", "'system'", " in "),
            (" == ", "\"system\"", " in "),
            (" != ", "'system'", " not in "),
            (" != ", "\"system\"", " not in "),
        ];
        forms.into_iter().find_map(|(operator, literal, new)| {
            rest.strip_prefix(operator)?.strip_prefix(literal)?;
            Some((end..end + operator.len() + literal.len(), format!("{new}{both}")))
        })
    };
    let changes: Vec<_> = of_field(source, "role").filter_map(changed).collect();
    // One of them alone would treat the role in two ways.
    if changes.is_empty() { Vec::new() } else { vec![replaced(source, &changes)] }
}

/// The bytes of `| tojson` and its arguments at the start of a text.
fn to_json(text: &str) -> Option<usize> {
    let rest = text.trim_start().strip_prefix('|')?.trim_start().strip_prefix("tojson")?;
    let rest = match rest.strip_prefix('(') {
        Some(arguments) => arguments.get(arguments.find(')')? + 1..)?,
        None => rest,
    };
    Some(text.len() - rest.len())
}

/// `arguments | tojson` → `(arguments if arguments is string else arguments | tojson)`.
fn text_as_it_is(source: &str) -> Vec<String> {
    let changed = |(read, text): (FieldRead, &str)| {
        let end = read.range.end;
        let width = to_json(source.get(end..)?)?;
        let filter = source.get(end..end + width)?;
        Some((read.range.start..end + width, format!("({text} if {text} is string else {text}{filter})")))
    };
    let changes: Vec<_> = of_field(source, "arguments").filter_map(changed).collect();
    one_or_all(source, &changes)
}

/// `arguments` → `(arguments if arguments is string else arguments | tojson)`.
fn objects_as_json(source: &str) -> Vec<String> {
    let changed =
        |(read, text): (FieldRead, &str)| (read.range, format!("({text} if {text} is string else {text} | tojson)"));
    let changes: Vec<_> = of_field(source, "arguments").filter(|(read, _)| read.has_parent).map(changed).collect();
    one_or_all(source, &changes)
}

fn messages(context: &mut Value) -> impl Iterator<Item = &mut Map<String, Value>> {
    context.get_mut("messages").and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}

fn content_is_empty(context: &mut Value) {
    for message in messages(context) {
        if message.get("content").is_none_or(Value::is_null) {
            message.insert("content".to_owned(), "".into());
        }
    }
}

/// The assistant's messages with calls.
fn calling(context: &mut Value) -> impl Iterator<Item = &mut Map<String, Value>> {
    messages(context).filter(|message| message.contains_key("tool_calls"))
}

fn content_is_null(context: &mut Value) {
    for message in calling(context).filter(|message| is_empty(message)) {
        message.insert("content".to_owned(), Value::Null);
    }
}

/// Of the assistant's messages with a field that is neither text nor calls.
fn nothing_but_reasoning(context: &mut Value) {
    let reasons = |message: &Map<String, Value>| {
        message.get("role").is_some_and(|role| role == "assistant")
            && message.keys().any(|key| !["role", "content", "tool_calls"].contains(&key.as_str()))
    };
    for message in messages(context).filter(|message| reasons(message) && is_empty(message)) {
        message.insert("content".to_owned(), Value::Null);
    }
}

fn content_is_missing(context: &mut Value) {
    for message in calling(context).filter(|message| is_empty(message)) {
        message.shift_remove("content");
    }
}

fn is_empty(message: &Map<String, Value>) -> bool {
    message.get("content").is_none_or(|content| content.is_null() || content == "")
}

fn calls_are(context: &mut Value, nothing: &Value) {
    let plain = |message: &&mut Map<String, Value>| message.get("role").is_some_and(|role| role == "assistant");
    for message in messages(context).filter(plain) {
        message.entry("tool_calls").or_insert_with(|| nothing.clone());
    }
}

fn calls_are_null(context: &mut Value) {
    calls_are(context, &Value::Null);
}

fn calls_are_empty(context: &mut Value) {
    calls_are(context, &Value::Array(Vec::new()));
}

fn tools_are(context: &mut Value, nothing: Value) {
    if let Some(variables) = context.as_object_mut() {
        variables.entry("tools").or_insert(nothing);
    }
}

fn tools_are_null(context: &mut Value) {
    tools_are(context, Value::Null);
}

fn tools_are_empty(context: &mut Value) {
    tools_are(context, Value::Array(Vec::new()));
}

fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

fn no_empty_calls(context: &mut Value) {
    for message in messages(context) {
        if message.get("tool_calls").is_some_and(is_nothing) {
            message.shift_remove("tool_calls");
        }
    }
}

fn no_empty_tools(context: &mut Value) {
    if let Some(variables) = context.as_object_mut()
        && variables.get("tools").is_some_and(is_nothing)
    {
        variables.shift_remove("tools");
    }
}

fn role_is(context: &mut Value, known: &str, new: &str) {
    for message in messages(context) {
        if message.get("role").is_some_and(|role| role == known) {
            message.insert("role".to_owned(), new.into());
        }
    }
}

fn developer_is_system(context: &mut Value) {
    role_is(context, "developer", "system");
}

fn system_is_developer(context: &mut Value) {
    role_is(context, "system", "developer");
}

fn arguments(context: &mut Value) -> impl Iterator<Item = &mut Value> {
    let calls = messages(context).filter_map(|message| message.get_mut("tool_calls")?.as_array_mut()).flatten();
    calls.filter_map(|call| call.get_mut("function")?.get_mut("arguments"))
}

fn arguments_are_objects(context: &mut Value) {
    for arguments in arguments(context) {
        let object = arguments.as_str().and_then(|text| serde_json::from_str::<Map<String, Value>>(text).ok());
        if let Some(object) = object {
            *arguments = Value::Object(object);
        }
    }
}

fn arguments_are_text(context: &mut Value) {
    for arguments in arguments(context) {
        if arguments.is_object() {
            *arguments = arguments.to_string().into();
        }
    }
}
