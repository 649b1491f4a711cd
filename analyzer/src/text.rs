//! Compares texts: common beginnings and ends that never cut a tag, and the places of a text in another one. What a tag
//! is, `unjinja_spec::tags` says.

use std::ops::Range;

use unjinja_spec::tag_around;
pub(crate) use unjinja_spec::tags;

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
    length
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
    length
}

/// Whether `end` is the closing tag of `open`: the same tag with a slash.
pub(crate) fn is_counterpart(open: &str, end: &str) -> bool {
    open != end && end.replacen('/', "", 1) == open
}

/// The place of `needle` in `text`, if it appears exactly once.
pub(crate) fn once(text: &str, needle: &str) -> Option<Range<usize>> {
    let start = text.find(needle)?;
    text[start + needle.len()..].find(needle).is_none().then_some(start..start + needle.len())
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
    }
}
