//! Cuts the source of a template into its parts: text, string literals, code and comments. Knows as much of Jinja's syntax as
//! that needs.

use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SyntaxKind {
    /// Text outside of statements.
    Text,
    /// A string literal inside a statement or an expression, without its quotes.
    Literal,
    /// Everything else between `{%` and `%}`, `{{` and `}}`, delimiters and quotes included.
    Code,
    /// A comment, delimiters included.
    Comment,
}

/// Cuts a template into its parts. Joined, they are the template again.
pub(super) fn parts(source: &str) -> Vec<(SyntaxKind, Range<usize>)> {
    let mut parts = Vec::new();
    let mut at = 0;
    while at < source.len() {
        let open = ["{{", "{%", "{#"].iter().filter_map(|open| source[at..].find(open)).min();
        let start = open.map_or(source.len(), |offset| at + offset);
        parts.push((SyntaxKind::Text, at..start));
        let Some(opener) = source[start..].get(..2) else { break };
        if opener == "{#" {
            at = source[start..].find("#}").map_or(source.len(), |offset| start + offset + 2);
            parts.push((SyntaxKind::Comment, start..at));
            continue;
        }
        at = tag(source, start, if opener == "{%" { "%}" } else { "}}" }, &mut parts);
        let word = source[start..at].trim_matches(|c: char| c.is_whitespace() || "{}%-+".contains(c));
        if opener == "{%" && word == "raw" {
            let rest = source[at..].find("endraw").map_or(source.len(), |offset| at + offset);
            let end = source[..rest].rfind("{%").unwrap_or(rest);
            parts.push((SyntaxKind::Text, at..end));
            at = end;
        }
    }
    parts.retain(|(_, range)| !range.is_empty());
    parts
}

/// Adds the parts of the statement or expression that begins at `start`; returns its end.
pub(super) fn tag(source: &str, start: usize, close: &str, parts: &mut Vec<(SyntaxKind, Range<usize>)>) -> usize {
    let (mut code, mut at, mut depth) = (start, start + 2, 0usize);
    while let Some(c) = source[at..].chars().next() {
        // A dictionary may end just before the expression does.
        if source[at..].starts_with(close) && (depth == 0 || close == "%}") {
            parts.push((SyntaxKind::Code, code..at + 2));
            return at + 2;
        }
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            '"' | '\'' => {
                let end = literal_end(source, at + 1, c);
                parts.push((SyntaxKind::Code, code..at + 1));
                parts.push((SyntaxKind::Literal, at + 1..end));
                code = end;
                at = end;
            }
            _ => {}
        }
        at = (at + c.len_utf8()).min(source.len());
    }
    parts.push((SyntaxKind::Code, code..source.len()));
    source.len()
}

/// The offset of the quote that ends a literal.
pub(super) fn literal_end(source: &str, from: usize, quote: char) -> usize {
    let mut escaped = false;
    for (offset, c) in source[from..].char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return from + offset,
            _ => {}
        }
    }
    source.len()
}

/// The text of a part with its escapes decoded, and for each byte of it the offset in the source.
pub(super) fn decoded(source: &str, kind: SyntaxKind, range: &Range<usize>) -> (String, Vec<usize>) {
    let (mut text, mut offsets) = (String::new(), Vec::new());
    let mut chars = source[range.clone()].char_indices();
    while let Some((offset, c)) = chars.next() {
        let c = match c {
            '\\' if kind == SyntaxKind::Literal => match chars.next() {
                Some((_, 'n' | 'r')) => '\n',
                Some((_, 't')) => '\t',
                Some((_, c)) => c,
                None => c,
            },
            c => c,
        };
        text.push(c);
        offsets.extend(std::iter::repeat_n(range.start + offset, c.len_utf8()));
    }
    (text, offsets)
}
