//! Comparing two renders: common beginnings and ends that never cut a tag, and where a piece of text stands.
//! A tag is `<...>`, `[NAME]` and their kin; it may hold multi-byte brackets such as `<｜...｜>`.

use std::ops::Range;

use unjinja_spec::tag_around;
pub(crate) use unjinja_spec::tags;

/// How long the common beginning of two texts is, cut back so that no tag is cut.
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

/// How long the common end of two texts is, cut back so that no tag is cut.
pub(crate) fn common_suffix(a: &str, b: &str) -> usize {
    let mut length = a.bytes().rev().zip(b.bytes().rev()).take_while(|(x, y)| x == y).count();
    while !a.is_char_boundary(a.len() - length) || !b.is_char_boundary(b.len() - length) {
        length -= 1;
    }
    for text in [a, b] {
        let start = text.len() - length;
        if let Some(tag) = tag_around(text, start) {
            // A tag that a hole fills is open at the hole's side; one that is cut here is not.
            length = length.min(text.len() - tag.end.min(text.len()));
        }
    }
    length
}

/// Whether two tags are the open and the closing form of one: alike but for a slash.
pub(crate) fn is_counterpart(open: &str, end: &str) -> bool {
    open != end && end.replacen('/', "", 1) == open
}

/// Where `needle` stands in `text`, if exactly once.
pub(crate) fn once(text: &str, needle: &str) -> Option<Range<usize>> {
    let start = text.find(needle)?;
    text[start + needle.len()..].find(needle).is_none().then_some(start..start + needle.len())
}

/// Where `needle` first stands in `text` at or after `from`.
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
