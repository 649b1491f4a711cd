//! The fields that a template's expressions read, with their places in the source, so that a repair can change one. This is a
//! scan of tags, not a parser: what is made of it is rendered before anybody sees it.

use std::ops::Range;

use crate::tags::{Tag, TagKind, name, string, tags};

/// `message.content` or `message['content']` in a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldRead {
    /// Its bytes in the source.
    pub range: Range<usize>,
    /// The last name: `content`.
    pub field: String,
    /// Whether there is something before the last name.
    pub has_parent: bool,
}

/// All fields and variables that the expressions of a source read, in order.
pub fn field_reads(source: &str) -> Vec<FieldRead> {
    let mut found = Vec::new();
    let is_read = |tag: &Tag| tag.kind != TagKind::Comment && !matches!(tag.word(source), "raw" | "endraw");
    let in_tags = tags(source).into_iter().filter(is_read);
    for tag in in_tags.map(|tag| tag.content) {
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
pub fn conditions(source: &str) -> Vec<Range<usize>> {
    let of_tag = |tag: Tag| {
        let inner = tag.content(source);
        let condition = ["if ", "elif "].into_iter().find_map(|word| inner.strip_prefix(word))?;
        let start = tag.content.end - condition.len();
        (!condition.is_empty()).then_some(start..tag.content.end)
    };
    tags(source).into_iter().filter(|tag| tag.kind == TagKind::Block).filter_map(of_tag).collect()
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
