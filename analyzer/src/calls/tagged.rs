//! Calls in which each argument is written separately: between markers (`tools.format = "tag_with_tagged"`) or as a
//! literal after its name (`call_expression`).

use std::ops::Range;

use serde_json::{Value, json};
use unjinja_spec::{Arguments, Function, ToolFormat, Tools};

use super::parts::{Around, Turns, apply, apply_prefix, around, split_close, split_prefix, strip};
use crate::conversation::{AssistantMessage, Call, Style};
use crate::error::{CallsError, gap, quoted};
use crate::probe::Probe;
use crate::sentinels::Sentinels;
use crate::text;
use crate::trace::Experiment;
use crate::turn::TurnMarkers;
/// How values are written, and how strings differ from other values.
#[derive(Debug, Default)]
struct Encoding {
    /// The text between an argument's name and a string.
    before_string: String,
    /// The text between an argument's name and another value, if it differs by more than a quote.
    before_other: Option<String>,
    /// The quote around a string, if values are literals.
    quote: Option<String>,
}

/// What T4 expects.
const IN_ORDER: &str = "the name, an argument's name and its value, in this order";

/// A value that is not a string.
const NUMBER: u32 = 4711;

/// A2: a string and a number under the same name.
fn encoding(s: &Sentinels, render: impl Fn(&[(&str, Value)]) -> Option<String>) -> Option<Encoding> {
    let between = |text: &str, value: &str| -> Option<(String, String)> {
        let name = text::after(text, 0, s.functions[0])?;
        let key = text::after(text, name.end, s.arguments[0])?;
        let value = text::after(text, key.end, value)?;
        Some((text[key.end..value.start].to_owned(), text[value.end..].to_owned()))
    };
    let (before_string, after_string) = between(&render(&[(s.arguments[0], s.values[0].into())])?, s.values[0])?;
    let number = render(&[(s.arguments[0], json!(NUMBER))]).and_then(|text| between(&text, &NUMBER.to_string()));
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

pub(super) fn find(
    probe: &Probe<'_>,
    s: &Sentinels,
    style: Style,
    markers: &TurnMarkers,
    turns: &Turns,
) -> Result<Tools, CallsError> {
    let render = |arguments: &[(&str, Value)]| {
        let call = Call::new(s.functions[0], s.ids[0], arguments);
        probe.turn(s, &AssistantMessage::calls(&[call]), style).ok().map(|turn| strip(s, &turn, markers))
    };
    let [k1, k2] = s.arguments;
    let [v1, v2] = s.values;
    let find = |text: &str, from: usize, needle: &str| text::after(text, from, needle);
    let one = &turns.one;
    let Some(name) = find(one, 0, s.functions[0]) else {
        return gap(Experiment::T3, "the function's name", quoted(one));
    };
    let Some(encoding) = encoding(s, render) else {
        return gap(Experiment::T4, IN_ORDER, quoted(one));
    };
    probe.note(s, Experiment::A2, "a string | a number under the same name", |note| {
        for (of, value) in [("a string", json!(s.values[0])), ("a number", json!(NUMBER))] {
            if let Some(text) = render(&[(s.arguments[0], value)]) {
                note.render(of, text);
            }
        }
        if let Some(quote) = encoding.quote.as_ref().filter(|quote| is_quote_token(quote)) {
            note.found("tools.arguments.quote", quote.as_str());
        }
        note.because(match (&encoding.quote, &encoding.before_other) {
            (Some(_), _) => "the string has quotes and the number has none, so values are literals",
            (None, Some(_)) => {
                "the text before the number differs from the text before the string, so it tells the type"
            }
            (None, None) => "both have the same text around them, so values are raw text",
        });
    });
    let quote = encoding.quote.clone().unwrap_or_default();
    // An argument's name and its value, quotes included.
    let place = |text: &str, key: &str, value: &str, from: usize| -> Option<(Range<usize>, Range<usize>)> {
        let key = find(text, from, key)?;
        let value = find(text, key.end, value)?;
        Some((key, value.start.checked_sub(quote.len())?..(value.end + quote.len()).min(text.len())))
    };
    let Some((key, value)) = place(one, k1, v1, name.end) else {
        return gap(Experiment::T4, IN_ORDER, quoted(one));
    };
    // T5: one and two arguments.
    let Some(both) = render(&[(k1, v1.into()), (k2, v2.into())]) else {
        return gap(Experiment::T5, "a call with two arguments", "that the template cannot render it");
    };
    let places = find(&both, 0, s.functions[0])
        .and_then(|name| place(&both, k1, v1, name.end))
        .and_then(|(_, first)| place(&both, k2, v2, first.end).map(|second| (first, second)));
    let Some((first_value, (second_key, second_value))) = places else {
        return gap(Experiment::T5, "two arguments, one after the other", quoted(&both));
    };
    let open = &one[..name.start];
    let head = &one[name.end..key.start]; // name suffix, start of arguments, prefix of an argument's name
    let between = &one[key.end..value.start];
    let step = &both[first_value.end..second_key.start]; // value suffix, separator, prefix of the next name
    let tail = &both[second_value.end..]; // value suffix, end of arguments, closers
    if both[second_key.end..second_value.start] != *between {
        return gap(Experiment::T4, "the same text between name and value of both arguments", quoted(&both));
    }
    let prefix_length = text::common_suffix(head, step).max(unfinished(head, step));
    let name_prefix = &step[step.len() - prefix_length..];
    let rest = &step[..step.len() - prefix_length];
    let literal = encoding.quote.is_some();
    let suffix_length = if literal { 0 } else { text::common_prefix(rest, tail) };
    let (value_suffix, separator) = rest.split_at(suffix_length);
    if value_suffix.trim().is_empty() && !literal {
        return gap(Experiment::A2, "a marker after each argument's value", quoted(step));
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
    probe.note(s, Experiment::T5, "one argument | two arguments", |note| {
        note.render("one argument", one).render("two arguments", &both);
        note.found_text("tools.arguments.name_prefix", name_prefix);
        note.found_text("tools.arguments.value_suffix", value_suffix);
        note.found_text("tools.arguments.separator", separator);
        note.because(
            "text that also follows the last value ends a value, text that also precedes the first name begins a name, \
             and the rest between two arguments separates them",
        );
    });
    probe.note(s, Experiment::T6, "no argument | one argument", |note| {
        if let Some(none) = render(&[]) {
            note.render("no argument", none);
        }
        note.render("one argument", one);
        note.found_text("tools.function.name_suffix", name_suffix);
        note.found_text("tools.arguments.start", arguments_start);
        note.because("the text after the name in both belongs to the name, and the rest to the arguments");
    });
    let after_values = &tail[suffix_length..];
    // Two calls.
    let mut around_calls =
        Around { per_call_start: open.to_owned(), per_call_end: after_values.to_owned(), ..Around::default() };
    if let Some(pair) = &turns.two {
        let ends = find(pair, 0, s.functions[0])
            .and_then(|name| place(pair, k1, v1, name.end))
            .and_then(|(_, value)| find(pair, value.end, s.functions[1]).map(|next| (value.end, next.start)));
        let Some((from, to)) = ends else {
            return gap(Experiment::T2, "each of two calls to look like a call alone", quoted(pair));
        };
        let middle = &pair[from..to];
        let middle = middle.strip_prefix(value_suffix).unwrap_or(middle);
        around_calls = around(open, Some(middle), after_values);
    }
    let (start, prefix) = split_prefix(&around_calls.per_call_start);
    let (close, call_end) = if literal {
        // The bracket that the name opened is closed first.
        let end = &around_calls.per_call_end;
        let bracket = end.trim_start().chars().next().map_or(0, char::len_utf8);
        end.split_at(end.len() - end.trim_start().len() + bracket)
    } else {
        split_close(prefix, &around_calls.per_call_end)
    };
    // The text between name and value: the end of the name and the beginning of the value.
    let (argument_suffix, value_prefix) = if literal { (between, "") } else { split_between(between) };
    let other = encoding.before_other.as_deref().map(split_between);
    if let Some((_, other_prefix)) = other.filter(|(_, other_prefix)| *other_prefix != value_prefix) {
        let expected = "the same text before every value";
        return gap(
            Experiment::A2,
            expected,
            format!("{value_prefix:?} before strings, {other_prefix:?} before others"),
        );
    }
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
            quote: if is_quote_token(&quote) { quote.clone() } else { String::new() },
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

/// Whether this is a token around strings, and not a quote of JSON or Python.
fn is_quote_token(quote: &str) -> bool {
    !matches!(quote, "" | "\"" | "'")
}

/// The length of the unfinished tag that both texts end with; 0 if they end in different ones.
fn unfinished(a: &str, b: &str) -> usize {
    let tail = |text: &str| text.rfind('<').filter(|at| !text[*at..].contains('>')).map_or(0, |at| text.len() - at);
    let (x, y) = (tail(a), tail(b));
    if x == y && a[a.len() - x..] == b[b.len() - y..] { x } else { 0 }
}

/// Splits the text between an argument's name and its value into the end of the name and the beginning of the value.
fn split_between(text: &str) -> (&str, &str) {
    let end = text.find(['>', ']']).map_or(text.len(), |at| at + 1);
    if text[..end].trim().is_empty() { ("", text) } else { text.split_at(end) }
}

/// Whether values are written as Python prints them.
pub(super) fn prints_python(probe: &Probe<'_>, s: &Sentinels, style: Style) -> bool {
    let values = [json!(true), json!({s.arguments[1]: s.values[1]}), Value::Null];
    let call = Call::new(
        s.functions[0],
        s.ids[0],
        &[(s.arguments[0], values[0].clone()), (s.arguments[1], values[1].clone())],
    );
    let turn = probe.turn(s, &AssistantMessage::calls(&[call]), style);
    let python = turn.as_ref().is_ok_and(|turn| {
        let quoted = format!("'{}'", s.values[1]);
        turn.contains(&quoted) || (turn.contains("True") && !turn.contains("true"))
    });
    probe.note(s, Experiment::ValueTypes, "a boolean and an object as values", |note| {
        note.result("one call", &turn).found("tools.uses_python_dicts", python);
        note.because(if python { "they are written as in Python" } else { "they are written as JSON" });
    });
    python
}
