//! The fields that a template's expressions read, with their places in the source, so that a repair can change one. This is a
//! scan of tags, not a parser: what is made of it is rendered before anybody sees it.

use std::ops::Range;

/// `message.content` or `message['content']` in a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldRead {
    /// Its bytes in the source.
    pub range: Range<usize>,
    /// The last name: `content`.
    pub field: String,
    /// Whether there is something before the last name.
    pub has_parent: bool,
}

/// The bytes of the source that are in tags, without the strings in them. Comments and `raw` blocks are no tags.
fn tags(source: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = source[at..].find('{').map(|next| at + next) {
        let rest = &source[start..];
        if rest.starts_with("{#") {
            at = rest.find("#}").map_or(source.len(), |end| start + end + 2);
            continue;
        }
        let close = match rest.get(..2) {
            Some("{{") => "}}",
            Some("{%") => "%}",
            _ => {
                at = start + 1;
                continue;
            }
        };
        let end = end_of_tag(source, start + 2, close);
        if source[start + 2..end].trim_matches(['-', '+', ' ', '\n']) == "raw" {
            at = source[end..].find("endraw").map_or(source.len(), |next| end + next);
            continue;
        }
        found.push(start + 2..end);
        at = (end + 2).min(source.len());
    }
    found
}

/// Where a tag ends: at the first closer outside of strings.
fn end_of_tag(source: &str, from: usize, close: &str) -> usize {
    let mut at = from;
    while let Some(c) = source[at..].chars().next() {
        if source[at..].starts_with(close) {
            return at;
        }
        at += if matches!(c, '\'' | '"') { string(&source[at..]).map_or(1, |text| text.len()) } else { c.len_utf8() };
    }
    source.len()
}

/// The string that a text begins with, with its quotes.
fn string(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return text.get(..at + 1),
            _ => {}
        }
    }
    None
}

/// The name that a text begins with.
fn name(text: &str) -> &str {
    let is_first = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    if is_first { &text[..end] } else { "" }
}

/// All fields and variables that the expressions of a source read, in order.
pub(super) fn field_reads(source: &str) -> Vec<FieldRead> {
    let mut found = Vec::new();
    for tag in tags(source) {
        let mut at = tag.start;
        while at < tag.end {
            let rest = &source[at..tag.end];
            let first = name(rest);
            if first.is_empty() {
                let skip = string(rest).map(str::len).or_else(|| rest.chars().next().map(char::len_utf8));
                at += skip.unwrap_or(1);
                continue;
            }
            let start = at;
            at += first.len();
            let (mut field, mut has_parent) = (first.to_owned(), false);
            while let Some((last, width)) = step(&source[at..tag.end]) {
                (field, has_parent) = (last, true);
                at += width;
            }
            found.push(FieldRead { range: start..at, field, has_parent });
        }
    }
    found
}

/// The bytes of the conditions of all `if` and `elif`, in order.
pub(super) fn conditions(source: &str) -> Vec<Range<usize>> {
    let of_tag = |tag: Range<usize>| {
        let text = source.get(tag.clone())?;
        let inner = text.trim_start_matches(['-', '+']).trim_start();
        let condition = ["if ", "elif "].into_iter().find_map(|word| inner.strip_prefix(word))?;
        // `{{ if }}` is no tag of this kind.
        source.get(..tag.start)?.strip_suffix("{%")?;
        let start = tag.end - condition.len();
        let end = start + condition.trim_end_matches(['-', '+']).trim_end().len();
        (start < end).then_some(start..end)
    };
    tags(source).into_iter().filter_map(of_tag).collect()
}

/// `.name`, `['name']` or `[0]` at the start of a text: the name, and the bytes.
fn step(text: &str) -> Option<(String, usize)> {
    if let Some(rest) = text.strip_prefix('.') {
        let name = name(rest);
        return (!name.is_empty()).then(|| (name.to_owned(), 1 + name.len()));
    }
    let inner = text.strip_prefix('[')?;
    let key = match string(inner) {
        Some(key) => key,
        None => inner
            .get(..inner.find(']')?)
            .filter(|key| key.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.".contains(&b)))?,
    };
    inner[key.len()..].starts_with(']').then(|| (key.trim_matches(['\'', '"']).to_owned(), key.len() + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_in_tags_only() {
        let source = "a.b {# c.d #}{{ '}} e.f' ~ m.content }}{% if m['role'] == \"x.y\" and l[0].z %}{% raw %}{{ g.h }}{% endraw %}";
        let found: Vec<(&str, bool)> =
            field_reads(source).iter().map(|read| (&source[read.range.clone()], read.has_parent)).collect();
        let expected = [("m.content", true), ("if", false), ("m['role']", true), ("and", false), ("l[0].z", true)];
        assert_eq!(found, expected);
        assert_eq!(field_reads(source)[2].field, "role");
        // What is never closed is no template; it must only not panic.
        assert_eq!(field_reads("{{ 'open").len(), 1);
    }

    #[test]
    fn conditions_are_found() {
        let source = "{%- if a == '%}' -%}{% elif b %}{{ c if d }}{% endif %}{# {% if e %} #}";
        let found: Vec<&str> = conditions(source).into_iter().map(|range| &source[range]).collect();
        assert_eq!(found, ["a == '%}'", "b"]);
    }
}
