//! What a tag is: the one definition that the analyzer, the lowering and the checks share.
//!
//! A tag is the text form in which chat templates write a special token or a markup element: `<...>` (also with other
//! characters inside the brackets, such as `<｜tool▁call▁begin｜>`), an upper-case name in square brackets
//! (`[TOOL_CALLS]`, `[/INST]`), or any name between `[|` and `|]`. Brackets that face outwards belong to the tag:
//! `]<]name[>[`. This module looks at text alone. It must not know
//! any model, key or tokenizer.

use std::ops::Range;

/// What stands for the function's name in a marker that repeats it, as in `</${name}>`; see
/// [`MarkerKey::may_repeat_name`](crate::MarkerKey::may_repeat_name).
pub const REPEATED_NAME: &str = "${name}";

/// Bytes between the brackets of a tag, at most: longer ones are text between two comparison signs.
const LONGEST_BODY: usize = 96;

/// The complete tags in a text, in order.
///
/// ```
/// use unjinja_spec::tags;
///
/// assert_eq!(tags("<tool_call>\n<function=f> [ARGS] [1, 2]"), ["<tool_call>", "<function=f>", "[ARGS]"]);
/// ```
#[must_use]
pub fn tags(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(offset) = text[at..].find(['<', '[']) {
        let start = at + offset;
        match tag_around(text, start + 1) {
            Some(range) if (at..=start).contains(&range.start) => {
                found.push(&text[range.clone()]);
                at = range.end;
            }
            _ => at = start + 1,
        }
    }
    found
}

/// The byte range of the complete tag around offset `at`, where `at` lies strictly inside one. `at` must be a character
/// boundary of `text`.
///
/// ```
/// use unjinja_spec::tag_around;
///
/// assert_eq!(tag_around("a <b> c", 4), Some(2..5));
/// assert_eq!(tag_around("a <b> c", 5), None);
/// ```
#[must_use]
pub fn tag_around(text: &str, at: usize) -> Option<Range<usize>> {
    let before = text.get(..at)?;
    for (open, close) in [('<', '>'), ('[', ']')] {
        let Some(start) = before.rfind(open) else { continue };
        if before[start..].contains(close) {
            continue;
        }
        let Some(length) = text[start..].find(close) else { continue };
        let end = start + length + close.len_utf8();
        if end > at && start < at && is_body(&text[start + 1..end - 1], open) {
            return Some(with_brackets(text, start..end));
        }
    }
    // Between an outward bracket and the tag that it belongs to.
    let outward = |tag: Range<usize>| Some(with_brackets(text, tag)).filter(|tag| tag.start < at && at < tag.end);
    if before.ends_with(OUTWARD.map(|(left, _)| left)) && text[at..].starts_with('<') {
        return outward(at..at + text[at..].find('>')? + 1);
    }
    if before.ends_with('>') && text[at..].starts_with(OUTWARD.map(|(_, right)| right)) {
        return outward(before.rfind('<')?..at);
    }
    None
}

/// Brackets that face outwards, on the left of a tag and on its right.
const OUTWARD: [(char, char); 3] = [(']', '['), (')', '('), ('}', '{')];

/// The brackets that face outwards at both ends of a tag's body, if it has such.
fn outward(body: &str) -> Option<(char, char)> {
    OUTWARD.into_iter().find(|(left, right)| body.starts_with(*left) && body.ends_with(*right))
}

/// Whether a tag belongs to the tag directly after it: brackets that face outwards join.
pub(crate) fn joins_next(tag: &str) -> bool {
    OUTWARD.iter().any(|(left, _)| tag.starts_with(*left))
}

/// A tag with the brackets around it, if they and those at the ends of its body face outwards.
fn with_brackets(text: &str, tag: Range<usize>) -> Range<usize> {
    let body = text.get(tag.start + 1..tag.end - 1).unwrap_or_default();
    match outward(body) {
        Some((left, right)) if text[..tag.start].ends_with(left) && text[tag.end..].starts_with(right) => {
            tag.start - 1..tag.end + 1
        }
        _ => tag,
    }
}

/// Whether the text of a marker begins with a tag or with the beginning of one: `<function=` counts, because what the
/// model writes next completes it, and so does `[assistant]`. That one is not a complete tag, because lower-case words in
/// brackets are common in prose; but no JSON that a call consists of begins like it.
///
/// ```
/// use unjinja_spec::begins_tag;
///
/// assert!(begins_tag("<function=") && begins_tag("[TOOL_CALLS]") && begins_tag("[assistant]"));
/// assert!(!begins_tag("[1, 2]") && !begins_tag("[{") && !begins_tag("{"));
/// ```
#[must_use]
pub fn begins_tag(text: &str) -> bool {
    match text.strip_prefix('[') {
        Some(rest) => rest.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '|')),
        None => text.starts_with('<') || ["]<]", ")<)", "}<}"].iter().any(|open| text.starts_with(open)),
    }
}

/// Whether a text ends with a tag or with the end of one.
pub(crate) fn ends_tag(text: &str) -> bool {
    if ["[>[", "(>(", "{>{"].iter().any(|close| text.ends_with(close)) {
        return true;
    }
    match text.strip_suffix(']') {
        Some(rest) => rest.ends_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '|')),
        None => text.ends_with('>'),
    }
}

/// Whether this may be the inside of a tag's brackets.
fn is_body(inner: &str, open: char) -> bool {
    // A brace may only come with a name that the marker repeats.
    let brace = inner.contains('{') && inner.replacen(REPEATED_NAME, "", 1).contains('{');
    let brace = brace && outward(inner).is_none_or(|(left, _)| left != '}');
    let fits = !inner.is_empty() && inner.len() <= LONGEST_BODY && !brace && !inner.contains(['\n', '<']);
    let between_bars = inner.len() > 2 && inner.starts_with('|') && inner.ends_with('|');
    match open {
        '<' => fits,
        _ if between_bars => fits && !inner.contains('['),
        _ => fits && inner.chars().all(|c| c.is_ascii_uppercase() || matches!(c, '_' | '/' | ' ' | '0'..='9')),
    }
}

/// Tokens of many vocabularies that end a text. Servers that keep special tokens pass them on.
pub const END_OF_TEXT: [&str; 5] = ["<|endoftext|>", "<|end_of_text|>", "<|eot_id|>", "</s>", "<eos>"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_found_and_lists_are_not() {
        assert_eq!(tags("a <b> c [X_1] [\"no\"] </b>"), ["<b>", "[X_1]", "</b>"]);
        assert_eq!(tags("<｜tool▁call▁end｜>"), ["<｜tool▁call▁end｜>"]);
        assert_eq!(tags("a < b, c > d\n<x\n>"), ["< b, c >"]);
        assert_eq!(tags("[|assistant|][|a"), ["[|assistant|]"]);
        assert_eq!(tags("<>[]<{>[|]"), Vec::<&str>::new());
        assert_eq!(tags("x ]<]own[>[<a>\n)<)b(>(</${name}>"), ["]<]own[>[", "<a>", ")<)b(>(", "</${name}>"]);
        for at in 1..9 {
            assert_eq!(tag_around("]<]own[>[<a>", at), Some(0..9), "{at}");
        }
        assert_eq!(tag_around("]<]own[>[<a>", 9), None);
    }

    #[test]
    fn every_complete_tag_begins_and_ends_like_one() {
        for text in ["<b>", "[X_1]", "[/INST]", "[|end|]", "<|im_end|>", "]<]own[>["] {
            assert_eq!(tags(text), [text]);
            assert!(begins_tag(text) && ends_tag(text), "{text}");
        }
    }
}
