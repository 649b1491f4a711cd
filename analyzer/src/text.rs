//! Compares texts: common beginnings and ends that never cut a tag, and the places of a text in another one. What a tag
//! is, `unjinja_spec::tags` says.

use std::ops::Range;

pub(crate) use unjinja_spec::tags;
use unjinja_spec::{REPEATED_NAME, tag_around};

/// The length of the common beginning of two texts, shortened so that it ends outside of tags.
pub(crate) fn common_prefix(a: &str, b: &str) -> usize {
    let mut length = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    while !a.is_char_boundary(length) || !b.is_char_boundary(length) {
        length -= 1;
    }
    for text in [a, b] {
        if let Some(tag) = tag_around(text, length) {
            length = length.min(tag.start);
        }
    }
    match opener_of_words(&a[..length], &a[length..], &b[length..]) {
        Some(opener) => length - opener,
        None => length - begun_word(&a[..length], &a[length..], &b[length..]),
    }
}

/// The length of the word at the end of `common` that begins with punctuation and continues in both texts: `#!` of `#!think` and
/// `#!say`. At the beginning of a line blanks may be between the two, as in `### Thought`.
fn begun_word(common: &str, a: &str, b: &str) -> usize {
    let goes_on = |text: &str| text.starts_with(|c: char| c.is_alphanumeric());
    let is_sign = |c: char| c.is_ascii_punctuation() && !matches!(c, '"' | '\'' | '=');
    let signs_end = common.trim_end_matches(' ');
    if signs_end.ends_with(['>', ']']) || !signs_end.ends_with(is_sign) || !goes_on(a) || !goes_on(b) {
        return 0;
    }
    let after_tag = tags(common).last().and_then(|tag| Some(common.rfind(tag)? + tag.len())).unwrap_or(0);
    let signs_start = after_tag.max(signs_end.trim_end_matches(is_sign).len());
    let at_line = common[..signs_start].is_empty() || common[..signs_start].ends_with('\n');
    let signs = common.len() - signs_start;
    if signs_end.len() < common.len() && !at_line {
        return 0;
    }
    // After letters, the signs belong to the longer word; it is not taken apart either.
    let word = common[..common.len() - signs].chars().rev().take_while(|c| c.is_alphanumeric() || *c == '_');
    if word.count() > 0 { 0 } else { signs }
}

/// The length of the tag at the end of `common`, if a word and another tag follow it in both texts: `<|open|>think<|sep|>`
/// and `<|open|>response<|sep|>` are two markers, and their common beginning is not a marker.
fn opener_of_words(common: &str, a: &str, b: &str) -> Option<usize> {
    // Looking for tags takes long, and a word is seen at once.
    if ![a, b].iter().all(|text| text.starts_with(|c: char| c.is_alphanumeric() || c == '_')) {
        return None;
    }
    let last = tags(common).pop().filter(|tag| common.ends_with(tag))?;
    let names = |text: &str| {
        let word = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
        let attributes = text[word..].find(['<', '[', '\n']).unwrap_or(0);
        word > 0
            && tags(&text[word + attributes..]).first().is_some_and(|tag| text[word + attributes..].starts_with(tag))
    };
    (names(a) && names(b)).then_some(last.len())
}

/// The same for the tag that a common end begins with.
fn closer_of_words(common: &str, a: &str, b: &str) -> Option<usize> {
    let first = tags(common).into_iter().next().filter(|tag| common.starts_with(tag))?;
    let names = |text: &str| {
        let word = text.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_');
        word.len() < text.len() && tags(word).last().is_some_and(|tag| word.ends_with(tag))
    };
    (names(a) && names(b)).then_some(first.len())
}

/// The length of the beginning of `a` that `b` begins with too, if the white space in both may differ.
pub(crate) fn common_prefix_loosely(a: &str, b: &str) -> usize {
    let mut rest = b.chars().filter(|c| !c.is_whitespace());
    let mut length = 0;
    for (at, c) in a.char_indices().filter(|(_, c)| !c.is_whitespace()) {
        if rest.next() != Some(c) {
            break;
        }
        length = at + c.len_utf8();
    }
    let length = tag_around(a, length).map_or(length, |tag| length.min(tag.start));
    if a[..length].trim().is_empty() { 0 } else { length }
}

/// The text without a beginning, whose white space may differ; the whole text if it does not begin so.
pub(crate) fn without_start<'t>(text: &'t str, start: &str) -> &'t str {
    if let Some(rest) = text.strip_prefix(start) {
        return rest;
    }
    let visible = |text: &str| text.chars().filter(|c| !c.is_whitespace()).count();
    let length = common_prefix_loosely(text, start);
    if visible(&text[..length]) == visible(start) { &text[length..] } else { text }
}

/// The length of the common end of two texts, shortened so that it begins outside of tags.
pub(crate) fn common_suffix(a: &str, b: &str) -> usize {
    let mut length = a.bytes().rev().zip(b.bytes().rev()).take_while(|(x, y)| x == y).count();
    while !a.is_char_boundary(a.len() - length) || !b.is_char_boundary(b.len() - length) {
        length -= 1;
    }
    for text in [a, b] {
        let start = text.len() - length;
        if let Some(tag) = tag_around(text, start) {
            // The common end must begin after the tag that it would cut.
            length = length.min(text.len() - tag.end.min(text.len()));
        }
    }
    let (rest_a, rest_b) = (&a[..a.len() - length], &b[..b.len() - length]);
    match closer_of_words(&a[a.len() - length..], rest_a, rest_b) {
        Some(closer) => length - closer,
        None => length,
    }
}

/// Whether `end` is the closing tag of `open`: the same tag with a slash.
pub(crate) fn is_counterpart(open: &str, end: &str) -> bool {
    open != end && end.replacen('/', "", 1) == open
}

/// The marks in a text, in order: its tags, and names in other brackets, such as `[think]` and `◁think▷`. Those are common in
/// prose, so only what nothing but a prompt has may be looked for in this way.
pub(crate) fn marks(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some((offset, open)) = text[at..].char_indices().find(|(_, c)| BRACKETS.iter().any(|(open, _)| open == c))
    {
        let (start, inside) = (at + offset, at + offset + open.len_utf8());
        let tag = tag_around(text, inside).filter(|tag| tag.start == start);
        match tag.or_else(|| bracketed(text, start, open)) {
            Some(range) => {
                found.push(&text[range.clone()]);
                at = range.end;
            }
            None => at = inside,
        }
    }
    found
}

const BRACKETS: [(char, char); 8] =
    [('<', '>'), ('[', ']'), ('◁', '▷'), ('⟨', '⟩'), ('〈', '〉'), ('《', '》'), ('【', '】'), ('«', '»')];

/// The range of a name in brackets that begins at `start` with `open`.
fn bracketed(text: &str, start: usize, open: char) -> Option<Range<usize>> {
    let (_, close) = BRACKETS.iter().find(|(bracket, _)| *bracket == open)?;
    let inside = start + open.len_utf8();
    let name = &text[inside..inside + text[inside..].find(*close)?];
    let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '/')
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '/' | '_' | '-' | ':' | '▁'));
    (is_name && name.len() <= LONGEST_NAME).then(|| start..inside + name.len() + close.len_utf8())
}

/// Bytes of a name in brackets, at most.
const LONGEST_NAME: usize = 40;

/// The tag that closes what an opening tag opens: `</x>` for `<x>` and `<x a="b">`, `[/X]` for `[X]`, `<|end_x|>` for
/// `<|start_x|>`, `<x|>` for `<|x>`. `None` for a tag that closes something itself.
pub(crate) fn closing_tag(open: &str) -> Option<String> {
    let is_word = |word: &&str| !word.is_empty();
    let words = || open.split(|c: char| !c.is_alphanumeric()).filter(is_word);
    if open.contains('/')
        || words().any(|word| ["end", "close", "stop", "suffix", "no"].contains(&&*word.to_lowercase()))
    {
        return None;
    }
    for (start, end) in [("start", "end"), ("begin", "end"), ("open", "close"), ("prefix", "suffix")] {
        if let Some(word) = words().find(|word| word.to_lowercase() == start) {
            let same_case = if word.chars().all(char::is_uppercase) { end.to_uppercase() } else { end.to_owned() };
            return Some(open.replacen(word, &same_case, 1));
        }
    }
    let (bracket, name) = open.split_at(open.find(char::is_alphanumeric)?);
    // A bar on one side only: it tells the opening tag from the closing one.
    let is_bar = |c: char| matches!(c, '|' | '｜');
    let inner = name.trim_end_matches(['>', ']']);
    match (bracket.find(is_bar), inner.ends_with(is_bar)) {
        (None, true) => return None,
        (Some(bar), false) => {
            return Some(format!("{}{inner}{}{}", &bracket[..bar], &bracket[bar..], &name[inner.len()..]));
        }
        _ => {}
    }
    // An attribute belongs to the opening tag only.
    let Some((name, _)) = name.split_once(char::is_whitespace) else { return Some(format!("{bracket}/{name}")) };
    let brackets = open.char_indices().rev().map(|(at, _)| at).take(bracket.chars().count());
    Some(format!("{bracket}/{name}{}", &open[brackets.last().unwrap_or(open.len())..]))
}

/// The tag that a closing tag with a slash closes: `<x>` for `</x>`. `None` for other tags.
pub(crate) fn opening_tag(end: &str) -> Option<String> {
    let is_closing = tags(end) == [end] && end.trim_start_matches(['<', '[', '|', '｜']).starts_with('/');
    is_closing.then(|| end.replacen('/', "", 1))
}

/// The mark that a closing mark with a slash closes, in whatever brackets: `<x>` for `</x>`, `◁x▷` for `◁/x▷`.
pub(crate) fn opening_mark(end: &str) -> Option<String> {
    let is_closing = marks(end) == [end] && end.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '/') != end;
    let slash = end.find(|c: char| c.is_alphanumeric() || c == '/').filter(|at| end[*at..].starts_with('/'));
    opening_tag(end).or_else(|| slash.filter(|_| is_closing).map(|_| end.replacen('/', "", 1)))
}

/// Whether a mark says that it closes something: it has a slash, or a word such as `end`.
pub(crate) fn is_closing_mark(text: &str) -> bool {
    marks(text) == [text] && closing_tag(text).is_none()
}

/// The end of the part of a text that repeats a name: of the tag that holds the last repeated name, or of the text without white
/// space around it. 0 if the text repeats none.
pub(crate) fn end_of_repeated_name(text: &str) -> usize {
    let Some(at) = text.rfind(REPEATED_NAME).map(|at| at + REPEATED_NAME.len()) else { return 0 };
    let word =
        || text[at..].find(|c: char| c.is_whitespace() || matches!(c, '<' | '[' | '{')).map_or(text.len(), |n| at + n);
    tag_around(text, at).map_or_else(word, |tag| tag.end)
}

/// The first tag of a text with the white space around it; empty if something else comes before it.
pub(crate) fn first_tag_with_layout(text: &str) -> &str {
    let Some((tag, at)) = tags(text).into_iter().next().and_then(|tag| Some((tag, text.find(tag)?))) else { return "" };
    let end = at + tag.len();
    let rest = &text[end..];
    if text[..at].trim().is_empty() { &text[..end + space(rest).len()] } else { "" }
}

pub(crate) fn space(text: &str) -> &str {
    &text[..text.len() - text.trim_start().len()]
}

/// The first place of `needle` in `text` at or after `from`.
pub(crate) fn after(text: &str, from: usize, needle: &str) -> Option<Range<usize>> {
    let start = from + text.get(from..)?.find(needle)?;
    Some(start..start + needle.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_never_cut() {
        assert_eq!(common_prefix("<tool_call>", "<tool_response>"), 0);
        assert_eq!(common_prefix("a</f>\n</t>", "a</f>\n<t>"), 6);
        assert_eq!(common_suffix("</call><call>", "<calls><call>"), 6);
        assert_eq!(common_suffix("x\n<a>", "y\n<a>"), 4);
        assert_eq!(common_prefix("<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"), 0);
        assert_eq!(common_prefix("[A][B]", "[A][C]"), 3);
        assert_eq!(common_prefix("<|x|><|open|>a<|sep|>", "<|x|><|open|>b<|sep|>"), 5);
        assert_eq!(common_suffix("<|open|>a<|sep|><|x|>", "<|open|>b<|sep|><|x|>"), 5);
        assert_eq!(common_prefix("\n#!think", "\n#!say"), 1);
        assert_eq!(common_prefix("to=functions.f", "to=functions.g"), 13);
    }

    #[test]
    fn marks_are_tags_and_names_in_brackets() {
        assert_eq!(marks("a <b> [think] ◁/think▷[A][1, 2] [not this] ◁"), ["<b>", "[think]", "◁/think▷", "[A]"]);
        assert_eq!(marks("[[x]] «y» < z"), ["[x]", "«y»"]);
    }

    #[test]
    fn a_repeated_name_ends_with_its_tag() {
        for (text, expected) in [
            ("<a><b>", 0),
            ("<|x|><run name=\"${name}\">\n<args>", 25),
            ("</${name}><id>", 10),
            ("\nEnd ${name}.\n", 13),
        ] {
            assert_eq!(end_of_repeated_name(text), expected, "{text}");
        }
    }

    #[test]
    fn every_opener_has_one_closer() {
        let pairs = [
            ("<think>", "</think>"),
            ("<seed:think>", "</seed:think>"),
            ("<think budget=\"512\">", "</think>"),
            ("<think on>", "</think>"),
            ("[THINK]", "[/THINK]"),
            ("<|think|>", "<|/think|>"),
            ("<|START_THINKING|>", "<|END_THINKING|>"),
            ("<|begin_of_thought|>", "<|end_of_thought|>"),
            ("<|thought_start|>", "<|thought_end|>"),
            ("<｜Begin▁think｜>", "<｜end▁think｜>"),
            ("<|think>", "<think|>"),
            ("[think]", "[/think]"),
            ("◁think▷", "◁/think▷"),
            ("<|inner_prefix|>", "<|inner_suffix|>"),
        ];
        for (open, end) in pairs {
            assert_eq!(closing_tag(open).as_deref(), Some(end), "{open}");
        }
        assert_eq!(opening_tag("</think>").as_deref(), Some("<think>"));
        assert_eq!(opening_tag("[/THINK]").as_deref(), Some("[THINK]"));
        assert_eq!(opening_tag("<br/>"), None);
        for other in
            ["</think>", "[/THINK]", "<|END_THINKING|>", "<think|>", "<|no_think|>", "<||>", "◁/think▷", "<|x_suffix|>"]
        {
            assert_eq!(closing_tag(other), None, "{other}");
        }
    }
}
