//! Adds white space and comments to a template where they do not change what it renders.

use super::parts::{SyntaxKind, parts};

/// Adds white space inside statements and expressions, and next to those that trim it.
pub(super) fn spaced(source: &str) -> String {
    let mut out = String::with_capacity(source.len() * 2);
    for (kind, range) in parts(source) {
        let text = &source[range];
        if kind != SyntaxKind::Code {
            out.push_str(text);
            continue;
        }
        let (mut inner, mut open, mut close) = (text, "", "");
        if text.starts_with("{{") || text.starts_with("{%") {
            let sign = text[2..].starts_with(['-', '+']);
            (open, inner) = text.split_at(if sign { 3 } else { 2 });
        }
        if inner.ends_with("}}") || inner.ends_with("%}") {
            let sign = inner[..inner.len() - 2].ends_with(['-', '+']);
            (inner, close) = inner.split_at(inner.len() - if sign { 3 } else { 2 });
        }
        // A dash trims any amount of white space.
        out.push_str(if open.ends_with('-') { "\n \n" } else { "" });
        out.push_str(open);
        out.push_str(if open.is_empty() { "" } else { "  " });
        out.push_str(&inner.replace(' ', "  "));
        out.push_str(if close.is_empty() { "" } else { " \t" });
        out.push_str(close);
        out.push_str(if close.starts_with('-') { "\n \n" } else { "" });
    }
    out
}

/// The text of the comments. An analyzer that read the template's source instead of its renders would find markers, fields and
/// switches here.
pub(super) const REMARK: &str =
    "<remark> [REMARK] enable_thinking, thinking: 'reasoning' and \"reasoning_content\" </remark>";

/// Adds a comment after each statement. The comment trims white space as the statement before it does.
pub(super) fn commented(source: &str) -> String {
    let mut out = String::with_capacity(source.len() * 4);
    let mut statement = String::new();
    for (kind, range) in parts(source) {
        let text = &source[range];
        out.push_str(text);
        if kind != SyntaxKind::Code {
            continue;
        }
        if text.starts_with("{%") || text.starts_with("{{") {
            statement.clear();
        }
        statement.push_str(text);
        let is_raw = statement.trim_start_matches(['{', '%', '-', '+', ' ']).starts_with("raw");
        if !statement.starts_with("{%") || is_raw || text.ends_with("+%}") {
            continue;
        }
        if text.ends_with("-%}") {
            out.push_str(&format!("{{#- {REMARK} -#}}"));
        } else if text.ends_with("%}") {
            out.push_str(&format!("{{# {REMARK} #}}"));
        }
    }
    out
}
