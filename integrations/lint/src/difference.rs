//! Compares two texts for people: what differs, with a little of the text before it.

/// Characters that are shown before the first difference.
const BEFORE: usize = 40;
/// Characters that are shown from there on.
const SHOWN: usize = 160;

/// The number of bytes that two texts have in common at their start.
pub(super) fn common_prefix(a: &str, b: &str) -> usize {
    let pairs = a.char_indices().zip(b.chars());
    pairs.take_while(|((_, x), y)| x == y).last().map_or(0, |((at, x), _)| at + x.len_utf8())
}

/// Both texts around their first difference.
pub(super) fn excerpts(expected: &str, actual: &str) -> (String, String) {
    let at = common_prefix(expected, actual);
    (around(expected, at), around(actual, at))
}

/// A text around an offset, with an ellipsis where something is left out.
pub(super) fn around(text: &str, at: usize) -> String {
    let (before, after) = text.split_at(at);
    let skipped = before.chars().count().saturating_sub(BEFORE);
    let mut shown = String::new();
    if skipped > 0 {
        shown.push('…');
    }
    shown.extend(before.chars().skip(skipped));
    let mut rest = after.chars();
    shown.extend(rest.by_ref().take(SHOWN));
    if rest.next().is_some() {
        shown.push('…');
    }
    shown
}

/// How often a word occurs in a text, not as a part of a longer word.
pub(super) fn count_word(text: &str, word: &str) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let whole = |at: usize| !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part);
    text.match_indices(word).filter(|(at, _)| whole(*at)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_begin_shortly_before_the_difference() {
        let same = "é".repeat(50);
        let (a, b) = excerpts(&format!("{same}x{same}{same}{same}{same}"), &format!("{same}y"));
        assert_eq!(b, format!("…{}y", "é".repeat(BEFORE)));
        assert_eq!(a.chars().count(), 1 + BEFORE + SHOWN + 1);
        assert_eq!(common_prefix("äb", "ä"), 2);
        assert_eq!(count_word("None, Nonesuch (None) xNone", "None"), 2);
    }
}
