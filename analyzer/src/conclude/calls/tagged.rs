//! Calls in which each argument is written separately: between markers (`tools.format = "tag_with_tagged"`) or as a
//! literal after its name (`call_expression`).

use std::ops::Range;

use unjinja_spec::{Arguments, Function, ToolFormat, Tools};

use super::super::Frame;
use super::around::{Around, Bodies, body, split_close, split_prefix};
use crate::ask::CallTurns;
use crate::error::{Gap, gap, quoted};
use crate::observed::{Part, Turn};
use crate::sentinels::SENTINELS;
use crate::text;
use crate::trace::Experiment;

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

/// The text between an argument's name and its value, and the text after the value.
fn around_value(turn: &Turn) -> Option<(&str, &str)> {
    let key = turn.from(turn.first(Part::Name(0))?.end, Part::Key(0, 0))?;
    let value = turn.from(key.end, Part::Value(0, 0))?;
    Some((&turn.text[key.end..value.start], &turn.text[value.end..]))
}

/// A2: a string and a number under the same name.
fn encoding(one: &Turn, number: Option<&Turn>) -> Option<Encoding> {
    let (before_string, after_string) = around_value(one)?;
    let mut encoding = Encoding { before_string: before_string.to_owned(), ..Encoding::default() };
    let Some((before, after)) = number.and_then(around_value).filter(|(before, _)| *before != before_string) else {
        return Some(encoding);
    };
    let quote = before_string.strip_prefix(before);
    match quote.filter(|quote| after_string.strip_prefix(*quote) == Some(after)) {
        Some(quote) => {
            encoding.quote = Some(quote.to_owned());
            encoding.before_string = before.to_owned();
        }
        None => encoding.before_other = Some(before.to_owned()),
    }
    Some(encoding)
}

/// An argument's name and its value, quotes included.
fn place(turn: &Turn, quote: &str, call: usize, argument: usize, from: usize) -> Option<(Range<usize>, Range<usize>)> {
    let key = turn.from(from, Part::Key(call, argument))?;
    let value = turn.from(key.end, Part::Value(call, argument))?;
    Some((key, value.start.checked_sub(quote.len())?..(value.end + quote.len()).min(turn.text.len())))
}

pub(super) fn find(calls: &CallTurns, frame: &Frame, bodies: &Bodies) -> Result<Tools, Gap> {
    let of = |turn: &Option<Turn>| turn.as_ref().map(|turn| body(turn, frame));
    let one = &bodies.one;
    let Some(name) = one.first(Part::Name(0)) else {
        return gap(Experiment::T3, "the function's name", quoted(&one.text));
    };
    let Some(encoding) = encoding(one, of(&calls.number).as_ref()) else {
        return gap(Experiment::T4, IN_ORDER, quoted(&one.text));
    };
    let quote = encoding.quote.clone().unwrap_or_default();
    let Some((key, value)) = place(one, &quote, 0, 0, name.end) else {
        return gap(Experiment::T4, IN_ORDER, quoted(&one.text));
    };
    // T5: one and two arguments.
    let Some(both) = of(&calls.two_arguments) else {
        return gap(Experiment::T5, "a call with two arguments", "that the template cannot render it");
    };
    let places = both
        .first(Part::Name(0))
        .and_then(|name| place(&both, &quote, 0, 0, name.end))
        .and_then(|(_, first)| place(&both, &quote, 0, 1, first.end).map(|second| (first, second)));
    let Some((first_value, (second_key, second_value))) = places else {
        return gap(Experiment::T5, "two arguments, one after the other", quoted(&both.text));
    };
    let open = &one.text[..name.start];
    let head = &one.text[name.end..key.start]; // name suffix, start of arguments, prefix of an argument's name
    let between = &one.text[key.end..value.start];
    let step = &both.text[first_value.end..second_key.start]; // value suffix, separator, prefix of the next name
    let tail = &both.text[second_value.end..]; // value suffix, end of arguments, closers
    if both.text[second_key.end..second_value.start] != *between {
        let expected = "the same text between name and value of both arguments";
        return gap(Experiment::T4, expected, quoted(&both.text));
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
    let none = of(&calls.no_arguments);
    let none = none.as_ref().and_then(|none| Some(&none.text[none.first(Part::Name(0))?.end..]));
    let name_suffix_length = match none {
        Some(none) => {
            let common = text::common_prefix(head_rest, none);
            if common == 0 || head_rest[common..].trim().is_empty() { head_rest.len() } else { common }
        }
        None => head_rest.len(),
    };
    let (name_suffix, arguments_start) = head_rest.split_at(name_suffix_length);
    let after_values = &tail[suffix_length..];
    // Two calls.
    let mut middle = None;
    if let Some(pair) = &bodies.two {
        let ends = pair
            .first(Part::Name(0))
            .and_then(|name| place(pair, &quote, 0, 0, name.end))
            .and_then(|(_, value)| Some((value.end, pair.from(value.end, Part::Name(1))?.start)));
        let Some((from, to)) = ends else {
            return gap(Experiment::T2, "each of two calls to look like a call alone", quoted(&pair.text));
        };
        let text = &pair.text[from..to];
        middle = Some(text.strip_prefix(value_suffix).unwrap_or(text));
    }
    let around = Around::split(open, middle, after_values);
    let (start, prefix) = split_prefix(&around.per_call_start);
    let (close, call_end) = if literal {
        // The bracket that the name opened is closed first.
        let end = &around.per_call_end;
        let bracket = end.trim_start().chars().next().map_or(0, char::len_utf8);
        end.split_at(end.len() - end.trim_start().len() + bracket)
    } else {
        split_close(prefix, &around.per_call_end)
    };
    // The text between name and value: the end of the name and the beginning of the value.
    let (argument_suffix, value_prefix) = if literal { (between, "") } else { split_between(between) };
    let other = encoding.before_other.as_deref().map(split_between);
    if let Some((_, other_prefix)) = other.filter(|(_, other_prefix)| *other_prefix != value_prefix) {
        let seen = format!("{value_prefix:?} before strings, {other_prefix:?} before others");
        return gap(Experiment::A2, "the same text before every value", seen);
    }
    let tools = Tools {
        format: if literal { ToolFormat::CallExpression } else { ToolFormat::TagWithTagged },
        uses_python_dicts: !literal && prints_python(calls),
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
            // A token around strings, not a quote of JSON or Python.
            quote: if matches!(quote.as_str(), "\"" | "'") { String::new() } else { quote },
            value_prefix: value_prefix.to_owned(),
            value_suffix: value_suffix.to_owned(),
            separator: separator.to_owned(),
            ..Arguments::default()
        },
        ..Tools::default()
    };
    let around = Around { per_call_start: start.to_owned(), per_call_end: call_end.to_owned(), ..around.clone() };
    Ok(around.apply(tools, &bodies.lead))
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

/// ValueTypes: whether values are written as Python prints them.
fn prints_python(calls: &CallTurns) -> bool {
    let quoted = format!("'{}'", SENTINELS.values[1]);
    calls.others.iter().any(|(kind, turn)| match *kind {
        "object" => turn.text.contains(&quoted),
        "boolean" => turn.text.contains("True") && !turn.text.contains("true"),
        _ => false,
    })
}
