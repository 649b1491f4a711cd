//! Finding markers in text that arrives in pieces, and the white space beside them.

use crate::machine::{Confirm, Marker};

/// How much white space may stand between a marker and what confirms it, in bytes.
pub(crate) const CONFIRM_SPACE: usize = 64;

/// Where a marker may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Candidate {
    /// Marker `index` stands at `at` and counts.
    Full { index: usize, at: usize },
    /// From `at` on, more text is needed to tell.
    Partial { at: usize },
    /// Nowhere.
    None,
}

impl Candidate {
    /// Where it is, or may be.
    pub(crate) fn at(self) -> Option<usize> {
        match self {
            Candidate::Full { at, .. } | Candidate::Partial { at } => Some(at),
            Candidate::None => None,
        }
    }
}

/// The first marker in `text` at or after `from`. With `last` the text is over: what is only the beginning of
/// a marker is none.
pub(crate) fn find(text: &[u8], from: usize, markers: &[Marker<'_>], last: bool) -> Candidate {
    let mut at = from;
    while let Some(offset) = next_first_byte(&text[at..], markers) {
        at += offset;
        match matches_at(text, at, markers, last) {
            Candidate::None => at += 1,
            found => return found,
        }
    }
    Candidate::None
}

/// The first position in `text` where the first byte of some marker stands.
fn next_first_byte(text: &[u8], markers: &[Marker<'_>]) -> Option<usize> {
    let mut bytes = [0u8; 3];
    let mut count = 0;
    for marker in markers {
        let Some(&byte) = marker.core.as_bytes().first() else { continue };
        if bytes[..count].contains(&byte) {
            continue;
        }
        if count == bytes.len() {
            return text.iter().position(|b| markers.iter().any(|m| m.core.as_bytes().first() == Some(b)));
        }
        bytes[count] = byte;
        count += 1;
    }
    match count {
        0 => None,
        1 => memchr::memchr(bytes[0], text),
        2 => memchr::memchr2(bytes[0], bytes[1], text),
        _ => memchr::memchr3(bytes[0], bytes[1], bytes[2], text),
    }
}

/// Which marker stands exactly at `at`: the longest, and only when no longer one could still come.
pub(crate) fn matches_at(text: &[u8], at: usize, markers: &[Marker<'_>], last: bool) -> Candidate {
    let rest = &text[at..];
    let mut best: Option<usize> = None;
    let mut pending = 0;
    for (index, marker) in markers.iter().enumerate() {
        let core = marker.core.as_bytes();
        if rest.starts_with(core) {
            match confirmed(&rest[core.len()..], marker.confirm, last) {
                Some(true) if best.is_none_or(|b| markers[b].core.len() < core.len()) => best = Some(index),
                Some(_) => {}
                None => pending = pending.max(core.len()),
            }
        } else if !last && !rest.is_empty() && core.starts_with(rest) {
            pending = pending.max(core.len());
        }
    }
    match best {
        Some(index) if pending < markers[index].core.len() => Candidate::Full { index, at },
        None if pending == 0 => Candidate::None,
        _ => Candidate::Partial { at },
    }
}

/// Whether what follows confirms a marker; `None` while more text is needed to tell.
fn confirmed(after: &[u8], confirm: Confirm<'_>, last: bool) -> Option<bool> {
    let cores = match confirm {
        Confirm::Nothing => return Some(true),
        Confirm::Next(cores) => cores,
        Confirm::End => &[],
    };
    let space = after.iter().take_while(|b| b.is_ascii_whitespace()).count();
    let rest = &after[space..];
    if rest.is_empty() {
        return if last {
            Some(true)
        } else if space > CONFIRM_SPACE {
            Some(false)
        } else {
            None
        };
    }
    if space > CONFIRM_SPACE {
        return Some(false);
    }
    if cores.iter().any(|core| rest.starts_with(core.as_bytes())) {
        return Some(true);
    }
    if cores.iter().any(|core| core.as_bytes().starts_with(rest)) {
        return if last { Some(false) } else { None };
    }
    Some(false)
}

/// The end of `text` without the white space that belongs to a marker after it: as much of `layout` as is there.
pub(crate) fn trim_before(text: &[u8], layout: &str) -> usize {
    let mut end = text.len();
    for byte in layout.bytes().rev() {
        if end > 0 && text[end - 1] == byte {
            end -= 1;
        }
    }
    end
}

/// How many bytes at the end of `text` could still belong to a marker after it.
pub(crate) fn trailing_layout(text: &[u8], markers: &[Marker<'_>]) -> usize {
    let most = markers.iter().map(|m| m.before.len()).max().unwrap_or(0);
    let is_layout = |byte: &&u8| markers.iter().any(|m| m.before.as_bytes().contains(byte));
    text.iter().rev().take(most).take_while(is_layout).count()
}

/// Takes the white space at the start of `text` that belongs to the marker before it, and drops from `layout` what
/// was used up. Returns how many bytes were taken; `layout` is empty as soon as the first other byte was seen.
pub(crate) fn skip_after(text: &[u8], layout: &mut Vec<u8>) -> usize {
    let mut taken = 0;
    let mut used = 0;
    while used < layout.len() {
        let Some(&byte) = text.get(taken) else {
            layout.drain(..used);
            return taken;
        };
        match layout[used..].iter().position(|&b| b == byte) {
            Some(offset) => {
                used += offset + 1;
                taken += 1;
            }
            None => break,
        }
    }
    layout.clear();
    taken
}

/// The length of the start of `text` that is not an incomplete UTF-8 sequence.
pub(crate) fn whole_characters(text: &[u8]) -> usize {
    for back in 1..=3.min(text.len()) {
        let byte = text[text.len() - back];
        let width = match byte {
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            0x80..=0xBF => continue,
            _ => return text.len(),
        };
        if width > back {
            let tail = &text[text.len() - back..];
            // Only a sequence that could still become a character is held back.
            return match std::str::from_utf8(tail) {
                Err(error) if error.error_len().is_none() => text.len() - back,
                _ => text.len(),
            };
        }
        return text.len();
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKERS: &[Marker<'static>] =
        &[Marker::new("</p>").followed_by(&["<p>", "</f>"]), Marker::new("<tool>"), Marker::new("<tool>>")];

    #[test]
    fn the_longest_marker_counts_and_waits_while_it_may_come() {
        assert_eq!(find(b"a<tool>", 0, MARKERS, false), Candidate::Partial { at: 1 });
        assert_eq!(find(b"a<tool>x", 0, MARKERS, false), Candidate::Full { index: 1, at: 1 });
        assert_eq!(find(b"a<tool>>", 0, MARKERS, false), Candidate::Full { index: 2, at: 1 });
        assert_eq!(find(b"a<too", 0, MARKERS, true), Candidate::None);
    }

    #[test]
    fn a_marker_counts_only_where_it_is_confirmed() {
        assert_eq!(find(b"x</p> y", 0, MARKERS, false), Candidate::None);
        assert_eq!(find(b"x</p>\n</", 0, MARKERS, false), Candidate::Partial { at: 1 });
        assert_eq!(find(b"x</p>\n</f>", 0, MARKERS, false), Candidate::Full { index: 0, at: 1 });
        assert_eq!(find(b"x</p>\n", 0, MARKERS, true), Candidate::Full { index: 0, at: 1 });
    }

    #[test]
    fn layout_is_taken_as_far_as_it_is_there() {
        assert_eq!(trim_before(b"a\n\n", "\n"), 2);
        assert_eq!(trim_before(b"a\n", "\n\n"), 1);
        assert_eq!(trim_before(b"a\n", "\n  "), 1);
        assert_eq!(trim_before(b"a ", "\n"), 2);
        let mut layout = b"\n\n".to_vec();
        assert_eq!(skip_after(b"\n", &mut layout), 1);
        assert_eq!(skip_after(b"\n\n", &mut layout), 1);
        assert!(layout.is_empty());
    }

    #[test]
    fn a_character_is_never_cut() {
        assert_eq!(whole_characters("aé".as_bytes()), 3);
        assert_eq!(whole_characters(&"aé".as_bytes()[..2]), 1);
        assert_eq!(whole_characters(&"a😀".as_bytes()[..4]), 1);
        assert_eq!(whole_characters(b"a\xFF"), 2);
        assert_eq!(whole_characters(b"a\x80"), 2);
    }
}
