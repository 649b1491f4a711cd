//! Markers of a spec as texts and patterns of a response template.
//!
//! The core of a marker must come, the white space around it may be missing: it becomes `\s*`.

use serde_json::{Map, Value as Json};
use unjinja_spec::{MarkerText, REPEATED_NAME};

/// A marker as a template has it: a text, or a regular expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Literal(String),
    Pattern(String),
}

impl Mark {
    /// As a regular expression.
    pub fn pattern(&self) -> String {
        match self {
            Mark::Literal(text) => escaped(text),
            Mark::Pattern(pattern) => pattern.clone(),
        }
    }

    /// Writes the marker to a field, under `open` or `open_pattern`, `close` or `close_pattern`.
    pub fn put(self, field: &mut Map<String, Json>, key: &str) {
        match self {
            Mark::Literal(text) => field.insert(key.to_owned(), Json::from(text)),
            Mark::Pattern(pattern) => field.insert(format!("{key}_pattern"), Json::from(pattern)),
        };
    }
}

/// A text in which no character is special in a regular expression.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::new();
    for char in text.chars() {
        match char {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            char if r"\.+*?()|[]{}^$".contains(char) => out.extend(['\\', char]),
            char => out.push(char),
        }
    }
    out
}

/// White space that may be missing, at most as much as the template writes.
pub(crate) fn limited(space: &str) -> String {
    let mut chars = space.chars();
    match (chars.next(), space.chars().count()) {
        (None, _) => String::new(),
        (Some(first), 1) => format!("{}?", escaped(&first.to_string())),
        (Some(first), count) if chars.all(|char| char == first) => {
            format!("{}{{0,{count}}}", escaped(&first.to_string()))
        }
        _ => format!("(?:{})?", escaped(space)),
    }
}

/// The text of one or several markers that follow each other, as a pattern. White space in it may vary.
pub(crate) fn pattern_of(text: &str) -> String {
    let mut out = String::new();
    for piece in MarkerText::pieces(text) {
        loose(&mut out, piece.before);
        out.push_str(&escaped(piece.core));
        loose(&mut out, piece.after);
    }
    out
}

/// The text of a marker: a literal where it has no white space that may vary.
pub(crate) fn mark_of(text: &str) -> Mark {
    let marker = MarkerText::new(text);
    if marker.core == text && MarkerText::pieces(text).len() == 1 {
        return Mark::Literal(text.to_owned());
    }
    Mark::Pattern(pattern_of(text))
}

/// As [`pattern_of`], for a marker that may write the function's name again. `name` is the pattern of that name.
pub(crate) fn pattern_with_name(text: &str, name: &str) -> String {
    pattern_of(text).replace(&escaped(REPEATED_NAME), name)
}

/// As [`mark_of`], for a marker that may write the function's name again.
pub(crate) fn mark_with_name(text: &str, name: &str) -> Mark {
    match text.contains(REPEATED_NAME) {
        true => Mark::Pattern(pattern_with_name(text, name)),
        false => mark_of(text),
    }
}

/// One of several markers. Literals stay literals.
pub(crate) fn one_of(marks: Vec<Mark>) -> Option<Anchor> {
    let mut distinct: Vec<Mark> = Vec::new();
    for mark in marks {
        if !distinct.contains(&mark) {
            distinct.push(mark);
        }
    }
    let literals: Option<Vec<String>> = distinct
        .iter()
        .map(|mark| match mark {
            Mark::Literal(text) => Some(text.clone()),
            Mark::Pattern(_) => None,
        })
        .collect();
    match (distinct.as_slice(), literals) {
        ([], _) => None,
        ([one], _) => Some(Anchor::One(one.clone())),
        (_, Some(literals)) => Some(Anchor::Literals(literals)),
        (several, None) => {
            let patterns: Vec<String> = several.iter().map(Mark::pattern).collect();
            Some(Anchor::One(Mark::Pattern(patterns.join("|"))))
        }
    }
}

/// A marker, or several texts.
pub(crate) enum Anchor {
    One(Mark),
    Literals(Vec<String>),
}

impl Anchor {
    /// Writes the marker to a field.
    pub fn put(self, field: &mut Map<String, Json>, key: &str) {
        match self {
            Anchor::One(mark) => mark.put(field, key),
            Anchor::Literals(texts) => {
                field.insert(key.to_owned(), Json::from(texts));
            }
        }
    }
}

/// Adds white space of any length, unless it is there already.
pub(crate) fn loose(out: &mut String, space: &str) {
    if !space.is_empty() && !out.ends_with("\\s*") {
        out.push_str("\\s*");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_written_with_layout_that_may_vary() {
        let pattern = |text: &str| Mark::Pattern(text.to_owned());
        assert_eq!(mark_of("</think>"), Mark::Literal("</think>".to_owned()));
        assert_eq!(mark_of("\n\n<a>\n<b="), pattern(r"\s*<a>\s*<b="));
        assert_eq!(mark_of("<|end|>\n"), pattern(r"<\|end\|>\s*"));
        assert_eq!(limited(" \n"), r"(?: \n)?");
        let named = |text| mark_with_name(text, "[a-z]+");
        assert_eq!(named("\n</${name}>"), pattern(r"\s*</[a-z]+>"));
        assert_eq!(named("</call>"), Mark::Literal("</call>".to_owned()));
    }
}
