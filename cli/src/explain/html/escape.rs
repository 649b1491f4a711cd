//! Text for HTML: escaped, with control characters made visible. Every text that came from a template, an output or a file
//! goes through these functions.

use std::fmt::Write as _;

use serde_json::Value;

use crate::visible::{self, Shown};

/// Escapes a text for HTML, inside and outside of attributes.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A text on one line.
pub(super) fn inline(text: &str) -> String {
    escape(&visible::line(text))
}

/// A text of several lines, for a block that keeps line ends.
pub(super) fn block(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match visible::shown(c) {
            Shown::Newline => out.push_str("<span class=\"nl\">↵</span>\n"),
            Shown::Escape(text) => {
                let _ = write!(out, "<span class=\"esc\">{}</span>", escape(&text));
            }
            Shown::Char(c) => out.push_str(&escape(c.encode_utf8(&mut [0; 4]))),
        }
    }
    out
}

/// A value of a spec.
pub(super) fn value(value: &Value) -> String {
    match value {
        Value::Null => "<span class=\"note\">nothing</span>".to_owned(),
        Value::String(text) if !text.is_empty() => value_text(text),
        Value::Array(items) => items.iter().map(self::value).collect::<Vec<_>>().join(" "),
        other => format!("<code>{}</code>", inline(&other.to_string())),
    }
}

pub(super) fn value_text(text: &str) -> String {
    format!("<code class=\"v\">{}</code>", inline(text))
}

/// The character boundary at or before an offset.
pub(super) fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// The character boundary at or after an offset.
pub(super) fn ceil(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len())
}

/// A legend of colours.
pub(super) fn legend<'l>(entries: impl Iterator<Item = (&'l str, &'l str)>) -> String {
    let mut out = "<ul class=\"legend\" aria-label=\"Legend\">".to_owned();
    for (class, label) in entries {
        let _ = write!(out, "<li><span class=\"p {class}\">{label}</span></li>");
    }
    out.push_str("</ul>");
    out
}
