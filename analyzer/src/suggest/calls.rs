//! How a prompt says that calls are written: an example between markers, or a marker that a list follows.

use std::ops::Range;

use super::examples::{
    Object, closing, filled, is_closer, objects, placed_tags, python_calls, tag_after, tag_before, word_before,
};
use super::passage::{is_about_a_tool, quote};

/// How calls are written, as far as a prompt says it.
pub(super) struct Calls {
    pub(super) shape: Shape,
    /// The marker before the calls, with its layout; empty if the text shows none.
    pub(super) start: String,
    /// The marker after the calls, with its layout; empty if the text shows none.
    pub(super) end: String,
    /// The example with its markers, as a model writes it: a value is where the prompt only names one. `None` if the text
    /// shows no example.
    pub(super) example: Option<String>,
    pub(super) quote: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// One object for each call.
    Object { name: String, arguments: String },
    /// A list of objects. `is_shown` if the text shows the keys.
    List { name: String, arguments: String, is_shown: bool },
    /// Python calls; in a list if the markers hold its brackets.
    Python,
    /// The name and each argument between markers.
    Tagged(Tagged),
}

/// The markers of a call whose name and arguments are between markers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tagged {
    pub(super) name_prefix: String,
    pub(super) name_suffix: String,
    pub(super) close: String,
    pub(super) key_prefix: String,
    pub(super) key_suffix: String,
    pub(super) value_prefix: String,
    pub(super) value_suffix: String,
}

/// What a text says about calls. `others` are markers of the turn, which do not belong to a call.
pub(super) fn described(text: &str, others: &[&str]) -> Option<Calls> {
    let found = objects(text);
    let objects = || found.iter().map(|object| of_object(text, object, others));
    // An example between markers says more than one without.
    objects()
        .find(|calls| !calls.start.is_empty())
        .or_else(|| tagged(text))
        .or_else(|| python(text, others))
        .or_else(|| list_after_a_tag(text))
        .or_else(|| objects().next())
}

struct Around {
    start: String,
    end: String,
    range: Range<usize>,
}

fn around(text: &str, range: Range<usize>, others: &[&str]) -> Around {
    let mut around = Around { start: String::new(), end: String::new(), range: range.clone() };
    let Some((opener, space)) = tag_before(&text[..range.start]) else { return around };
    if is_closer(opener) || others.iter().any(|other| other.contains(opener)) {
        return around;
    }
    around.start = format!("{opener}{space}");
    around.range.start -= around.start.len();
    if let Some((space, closer)) = tag_after(&text[range.end..])
        && closer != opener
        && !others.iter().any(|other| other.contains(closer))
    {
        around.end = format!("{space}{closer}");
        around.range.end += around.end.len();
    }
    around
}

/// The list that a part of a text is the first item of.
fn list_around(text: &str, item: &Range<usize>) -> Option<Range<usize>> {
    let before = text[..item.start].trim_end();
    let open = before.strip_suffix('[')?.len();
    let after = text[item.end..].trim_start();
    let is_item = after.starts_with([']', ',', '.', '…']);
    let end = closing(text, open).or_else(|| text[item.end..].find(']').map(|at| item.end + at + 1))?;
    is_item.then_some(open..end)
}

fn of_object(text: &str, object: &Object, others: &[&str]) -> Calls {
    let (name, arguments) = (object.name.clone(), object.arguments.clone());
    let filled = filled(&text[object.range.clone()], &name, &arguments);
    let Some(list) = list_around(text, &object.range) else {
        let Around { start, end, range } = around(text, object.range.clone(), others);
        let example = filled.map(|object| format!("{start}{object}{end}"));
        return Calls { shape: Shape::Object { name, arguments }, start, end, example, quote: quote(text, range) };
    };
    let mut markers = around(text, list.clone(), others);
    if markers.start.is_empty() {
        // A word directly before the list.
        let word = word_before(text, list.start);
        if word.len() > 2 {
            word.clone_into(&mut markers.start);
            markers.range.start -= word.len();
        }
    }
    let Around { start, end, range } = markers;
    let example = filled.map(|object| format!("{start}[{object}]{end}"));
    Calls { shape: Shape::List { name, arguments, is_shown: true }, start, end, example, quote: quote(text, range) }
}

fn python(text: &str, others: &[&str]) -> Option<Calls> {
    python_calls(text).into_iter().find_map(|call| {
        let list = list_around(text, &call.range);
        let Around { mut start, mut end, range } = around(text, list.clone().unwrap_or(call.range), others);
        if list.is_some() {
            start.push('[');
            end.insert(0, ']');
        }
        let (example, quote) = (Some(text[range.clone()].to_owned()), quote(text, range));
        (!start.is_empty()).then_some(Calls { shape: Shape::Python, start, end, example, quote })
    })
}

/// A tag after which a list follows, as the text says: "write <call> followed by a JSON list".
fn list_after_a_tag(text: &str) -> Option<Calls> {
    placed_tags(text).into_iter().find_map(|(range, tag)| {
        let rest = &text[range.end..];
        let sentence = rest.find(['.', '\n', '<']).map_or(rest, |end| &rest[..end]).to_lowercase();
        let says_so = sentence.contains("follow") && ["list", "array"].iter().any(|word| sentence.contains(word));
        (says_so && !is_closer(tag)).then(|| Calls {
            shape: Shape::List { name: "name".to_owned(), arguments: "arguments".to_owned(), is_shown: false },
            start: tag.to_owned(),
            end: String::new(),
            example: None,
            quote: quote(text, range.clone()),
        })
    })
}

/// A call that is written with tags only: a tag with the name, or a name after a tag, and tags for each argument.
fn tagged(text: &str) -> Option<Calls> {
    let tags = placed_tags(text);
    (0..tags.len())
        .find_map(|index| named_in_tags(text, &tags[index..]).or_else(|| named_after_a_tag(text, &tags[index..])))
}

type Tags<'t> = [(Range<usize>, &'t str)];

/// `<function=NAME><parameter=KEY>VALUE</parameter></function>`, and the tags around.
fn named_in_tags(text: &str, tags: &Tags<'_>) -> Option<Calls> {
    let [(outer, function), (inner, parameter), (end, close), rest @ ..] = tags else { return None };
    let (name_prefix, name_suffix) = divided(function)?;
    let (key_prefix, key_suffix) = divided(parameter)?;
    let closes =
        |open: &str, close: &str| close == format!("</{}>", open.trim_start_matches('<').trim_end_matches('='));
    if !closes(key_prefix, close) || is_about_a_tool(&text[outer.start..end.end]) {
        return None;
    }
    let (last, function_close) = rest.iter().find(|(_, tag)| closes(name_prefix, tag))?;
    let Around { start, end: after, range } = around(text, outer.start..last.end, &[]);
    let space = |range: Range<usize>| text[range].chars().take_while(|c| c.is_whitespace()).collect::<String>();
    let before_close: String = text[inner.end..end.start].chars().rev().take_while(|c| c.is_whitespace()).collect();
    let tagged = Tagged {
        name_prefix: name_prefix.to_owned(),
        name_suffix: format!("{name_suffix}{}", space(outer.end..inner.start)),
        close: (*function_close).to_owned(),
        key_prefix: key_prefix.to_owned(),
        key_suffix: format!("{key_suffix}{}", space(inner.end..end.start)),
        value_prefix: String::new(),
        value_suffix: format!("{before_close}{close}{}", space(end.end..text.len())),
    };
    let example = Some(text[range.clone()].to_owned());
    Some(Calls { shape: Shape::Tagged(tagged), start, end: after, example, quote: quote(text, range) })
}

/// `<call>NAME<key>KEY</key><value>VALUE</value></call>`.
fn named_after_a_tag(text: &str, tags: &Tags<'_>) -> Option<Calls> {
    let [
        (start, opener),
        (key, key_open),
        (key_end, key_close),
        (value, value_open),
        (value_end, value_close),
        rest @ ..,
    ] = tags
    else {
        return None;
    };
    let closes = |open: &str, close: &str| open.strip_prefix('<').is_some_and(|name| close == format!("</{name}"));
    let name = &text[start.end..key.start];
    let is_name = !name.trim().is_empty() && !name.trim().contains(char::is_whitespace);
    let between = &text[key_end.end..value.start];
    if !closes(key_open, key_close) || !closes(value_open, value_close) || !is_name || !between.trim().is_empty() {
        return None;
    }
    if is_about_a_tool(&text[start.start..value_end.end]) {
        return None;
    }
    let (last, closer) = rest.iter().find(|(_, tag)| closes(opener, tag))?;
    let space: String = name.chars().rev().take_while(|c| c.is_whitespace()).collect();
    let after: String = text[value_end.end..last.start].chars().take_while(|c| c.is_whitespace()).collect();
    let tagged = Tagged {
        name_prefix: String::new(),
        name_suffix: space,
        close: String::new(),
        key_prefix: (*key_open).to_owned(),
        key_suffix: format!("{key_close}{between}"),
        value_prefix: (*value_open).to_owned(),
        value_suffix: format!("{value_close}{after}"),
    };
    let leading: String = name.chars().take_while(|c| c.is_whitespace()).collect();
    Some(Calls {
        shape: Shape::Tagged(tagged),
        start: format!("{opener}{leading}"),
        end: (*closer).to_owned(),
        example: Some(text[start.start..last.end].to_owned()),
        quote: quote(text, start.start..last.end),
    })
}

/// A tag that holds a name, divided before and after the name: `<function=` and `>`.
fn divided(tag: &str) -> Option<(&str, &str)> {
    let equals = tag.find('=')?;
    let end = tag.len() - tag.strip_suffix("\">").map_or(1, |_| 2);
    let prefix = if tag[equals + 1..].starts_with('"') { equals + 2 } else { equals + 1 };
    (prefix < end).then(|| (&tag[..prefix], &tag[end..]))
}
