//! The passages of a prompt: which are about a tool instead of about calls, and how one is quoted.

use std::ops::Range;

use crate::sentinels::SENTINELS;

/// Whether a text holds a word of the tools that were offered: then it describes a tool, not how to call one.
pub(super) fn is_about_a_tool(text: &str) -> bool {
    let s = &SENTINELS;
    s.functions.iter().chain(&s.arguments).any(|word| text.contains(word))
}

/// The lines around a range of a text, and the line of text before them: what a reader needs to judge a passage.
pub(super) fn quote(text: &str, range: Range<usize>) -> String {
    /// Characters of a quotation at most.
    const LONGEST: usize = 600;
    let line_start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let before = text[..line_start].trim_end();
    let start = match before.rfind('\n') {
        _ if before.is_empty() => line_start,
        Some(at) => at + 1,
        None => 0,
    };
    let end = text[range.end..].find('\n').map_or(text.len(), |at| range.end + at);
    let is_long = |text: &str| text.chars().count() > LONGEST;
    let shown = [start..end, line_start..end, range.clone()].into_iter().map(|range| text[range].trim());
    let shown =
        shown.min_by_key(|text| (is_long(text) || is_about_a_tool(text), usize::MAX - text.len())).unwrap_or_default();
    if is_long(shown) { shown.chars().take(LONGEST).chain(['…']).collect() } else { shown.to_owned() }
}
