//! The tags of a template's source, with their places. This is a scan, not a parser: what is made of it is rendered before anybody
//! sees it.

use std::ops::Range;

/// What a tag does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagKind {
    /// `{{ … }}`
    Emit,
    /// `{% … %}`
    Block,
    /// `{# … #}`
    Comment,
}

impl TagKind {
    fn brackets(self) -> (&'static str, &'static str) {
        match self {
            TagKind::Emit => ("{{", "}}"),
            TagKind::Block => ("{%", "%}"),
            TagKind::Comment => ("{#", "#}"),
        }
    }
}

/// What a bracket of a tag does with the white space next to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sign {
    /// `{%`: what the environment says.
    #[default]
    None,
    /// `{%-`: removes all of it.
    Minus,
    /// `{%+`: keeps it.
    Plus,
}

impl Sign {
    fn of(c: Option<char>) -> Self {
        match c {
            Some('-') => Sign::Minus,
            Some('+') => Sign::Plus,
            _ => Sign::None,
        }
    }

    fn width(self) -> usize {
        usize::from(self != Sign::None)
    }

    /// How it is written.
    pub fn text(self) -> &'static str {
        match self {
            Sign::None => "",
            Sign::Minus => "-",
            Sign::Plus => "+",
        }
    }
}

/// A tag of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    /// What it does.
    pub kind: TagKind,
    /// With its brackets.
    pub range: Range<usize>,
    /// Without brackets, their signs and white space.
    pub content: Range<usize>,
    /// What the opening bracket does with the white space before it.
    pub open: Sign,
    /// What the closing bracket does with the white space after it.
    pub close: Sign,
}

impl Tag {
    /// The text between the brackets.
    pub fn content<'s>(&self, source: &'s str) -> &'s str {
        source.get(self.content.clone()).unwrap_or_default()
    }

    /// The first word: `if`.
    pub fn word<'s>(&self, source: &'s str) -> &'s str {
        if self.kind == TagKind::Block { name(self.content(source)) } else { "" }
    }

    /// A tag that begins at `start`, and whose closing bracket is at `closer`.
    fn new(source: &str, kind: TagKind, start: usize, closer: usize) -> Self {
        let inner = source.get(start + 2..closer).unwrap_or_default();
        let open = Sign::of(inner.chars().next());
        let rest = inner.get(open.width()..).unwrap_or_default();
        let close = Sign::of(rest.chars().next_back());
        let rest = rest.get(..rest.len() - close.width()).unwrap_or_default();
        let from = start + 2 + open.width() + (rest.len() - rest.trim_start().len());
        let range = start..(closer + 2).min(source.len());
        Self { kind, range, content: from..from + rest.trim().len(), open, close }
    }
}

/// The tags of a source, in order. What is between `{% raw %}` and `{% endraw %}` holds none.
pub fn tags(source: &str) -> Vec<Tag> {
    let mut found: Vec<Tag> = Vec::new();
    let mut at = 0;
    while let Some(start) = source[at..].find('{').map(|next| at + next) {
        let kinds = [TagKind::Comment, TagKind::Emit, TagKind::Block];
        let Some(kind) = kinds.into_iter().find(|kind| source[start..].starts_with(kind.brackets().0)) else {
            at = start + 1;
            continue;
        };
        let tag = Tag::new(source, kind, start, closer(source, kind, start + 2));
        at = tag.range.end;
        let is_raw = tag.word(source) == "raw";
        found.push(tag);
        if is_raw {
            let mut tags = source[at..].match_indices("{%").map(|(next, _)| at + next);
            at = tags.find(|next| is_endraw(&source[*next..])).unwrap_or(source.len());
        }
    }
    found
}

/// Whether a text begins with `{% endraw %}`.
fn is_endraw(text: &str) -> bool {
    let inner = text.strip_prefix("{%").map(|rest| rest.trim_start_matches(['-', '+']).trim_start());
    let rest = inner
        .and_then(|inner| inner.strip_prefix("endraw"))
        .map(|rest| rest.trim_start().trim_start_matches(['-', '+']));
    rest.is_some_and(|rest| rest.starts_with("%}"))
}

/// Where a tag's closing bracket is: the first one outside of strings and braces.
fn closer(source: &str, kind: TagKind, from: usize) -> usize {
    let close = kind.brackets().1;
    if kind == TagKind::Comment {
        return source[from..].find(close).map_or(source.len(), |end| from + end);
    }
    let (mut at, mut braces) = (from, 0_usize);
    while let Some(c) = source[at..].chars().next() {
        if braces == 0 && source[at..].starts_with(close) {
            return at;
        }
        match c {
            '{' => braces += 1,
            '}' => braces = braces.saturating_sub(1),
            _ => {}
        }
        at += if matches!(c, '\'' | '"') { string(&source[at..]).map_or(1, str::len) } else { c.len_utf8() };
    }
    source.len()
}

/// The string that a text begins with, with its quotes.
pub fn string(text: &str) -> Option<&str> {
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
pub fn name(text: &str) -> &str {
    let is_first = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    if is_first { &text[..end] } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_have_their_brackets_and_signs() {
        let source = "a{%- if x == '%}' -%}{{+ {'a': {'b': 1}} }}{# {{ #}{% raw %}{{ no }}{% endraw %}";
        let found: Vec<_> =
            tags(source).into_iter().map(|tag| (tag.open, tag.content(source).to_owned(), tag.close)).collect();
        let expected = [
            (Sign::Minus, "if x == '%}'", Sign::Minus),
            (Sign::Plus, "{'a': {'b': 1}}", Sign::None),
            (Sign::None, "{{", Sign::None),
            (Sign::None, "raw", Sign::None),
            (Sign::None, "endraw", Sign::None),
        ];
        assert_eq!(found, expected.map(|(open, text, close)| (open, text.to_owned(), close)));
        // The word alone does not end it.
        let source = "{% raw %}endraw {# {% endrawer %} #}{%- endraw +%}{{ x }}";
        let found: Vec<_> = tags(source).into_iter().map(|tag| tag.content(source).to_owned()).collect();
        assert_eq!(found, ["raw", "endraw", "x"]);
        // What is never closed is no template; it must only not panic.
        assert_eq!(tags("{{ 'open").len(), 1);
        assert_eq!(tags("{%-").len(), 1);
    }
}
