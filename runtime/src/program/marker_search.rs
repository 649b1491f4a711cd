//! How the markers of a state are searched for. The fastest search is chosen when a parser is generated: everything here
//! that decides is a `const fn`.
//!
//! A search finds places where a marker may begin. Whether there is one is decided in `engine/search.rs`.

use std::fmt;

use super::marker::Marker;
use super::rows::MarkerRows;
use super::text::as_str;
use crate::byte_set::ByteSet;

/// How the offsets are found at which a marker may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// There are no markers.
    Nothing,
    /// By one byte that every marker contains: `memchr`.
    One(Needle),
    /// By two bytes; every marker contains one of them: `memchr2`.
    Two(Needle, Needle),
    /// By three bytes; every marker contains one of them: `memchr3`.
    Three(Needle, Needle, Needle),
    /// The markers begin with more than three different bytes: a table is asked about each byte of the text.
    Table,
}

/// The byte of a marker that is searched for: its first byte, or a rarer one further in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needle {
    /// The byte.
    pub byte: u8,
    /// Its offset in the core of the markers that have it.
    pub offset: usize,
}

impl fmt::Display for Needle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.byte.escape_ascii())?;
        if self.offset > 0 { write!(f, " at offset {}", self.offset) } else { Ok(()) }
    }
}

impl fmt::Display for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Search::Nothing => f.write_str("not searched for"),
            Search::One(a) => write!(f, "searched for by {a} (memchr)"),
            Search::Two(a, b) => write!(f, "searched for by {a} and {b} (memchr2)"),
            Search::Three(a, b, c) => write!(f, "searched for by {a}, {b} and {c} (memchr3)"),
            Search::Table => f.write_str("searched for by their first bytes (a table)"),
        }
    }
}

/// A search function: the first offset at which a marker may begin, and how many bytes at the end of the text it could not
/// decide about.
pub(crate) type Find = fn(Search, &ByteSet, &[u8]) -> (Option<usize>, usize);

impl Search {
    pub(super) fn find_nothing(self, _: &ByteSet, _: &[u8]) -> (Option<usize>, usize) {
        (None, 0)
    }

    pub(super) fn find_one(self, _: &ByteSet, text: &[u8]) -> (Option<usize>, usize) {
        let Search::One(a) = self else { return (None, 0) };
        let hit = text.get(a.offset..).and_then(|rest| memchr::memchr(a.byte, rest));
        (hit, a.offset)
    }

    pub(super) fn find_two(self, _: &ByteSet, text: &[u8]) -> (Option<usize>, usize) {
        let Search::Two(a, b) = self else { return (None, 0) };
        let hit = memchr::memchr2_iter(a.byte, b.byte, text).find_map(|at| start(text, at, &[a, b]));
        (hit, a.offset.max(b.offset))
    }

    pub(super) fn find_three(self, _: &ByteSet, text: &[u8]) -> (Option<usize>, usize) {
        let Search::Three(a, b, c) = self else { return (None, 0) };
        let hits = memchr::memchr3_iter(a.byte, b.byte, c.byte, text);
        let hit = { hits }.find_map(|at| start(text, at, &[a, b, c]));
        (hit, a.offset.max(b.offset).max(c.offset))
    }

    pub(super) fn find_first(self, firsts: &ByteSet, text: &[u8]) -> (Option<usize>, usize) {
        (text.iter().position(|&byte| firsts.has(byte)), 0)
    }
}

/// The offset at which a marker begins whose needle is at `at`.
#[inline]
fn start(text: &[u8], at: usize, needles: &[Needle]) -> Option<usize> {
    needles.iter().find(|needle| needle.byte == text[at]).and_then(|needle| at.checked_sub(needle.offset))
}

/// The fastest search for these markers.
pub(crate) const fn choose(list: &MarkerRows, firsts: &ByteSet) -> Search {
    if list.is_empty() {
        return Search::Nothing;
    }
    let mut rare = true;
    loop {
        let mut needles = [Needle { byte: 0, offset: 0 }; 3];
        let mut count = 0;
        let mut at = 0;
        while at < list.len() && count <= needles.len() {
            let core = as_str(&list.at(at).core).as_bytes();
            if core.is_empty() {
                return Search::Nothing;
            }
            let needle = if rare { rarest(core, firsts) } else { Needle { byte: core[0], offset: 0 } };
            let mut known = 0;
            while known < count && needles[known].byte != needle.byte {
                known += 1;
            }
            if known == count {
                if count < needles.len() {
                    needles[count] = needle;
                }
                count += 1;
            } else if needles[known].offset != needle.offset {
                // The same byte at two offsets: a hit would not tell where its marker begins.
                count = usize::MAX;
            }
            at += 1;
        }
        let [a, b, c] = needles;
        if count <= needles.len() && (!rare || in_order(list, &needles, count)) {
            return match count {
                1 => Search::One(a),
                2 => Search::Two(a, b),
                _ => Search::Three(a, b, c),
            };
        }
        if !rare {
            return Search::Table;
        }
        rare = false;
    }
}

/// The needle of a marker: its first byte, or a byte further in that is at least four times as rare. Between the two no
/// other marker may begin, or it would be passed over.
const fn rarest(core: &[u8], firsts: &ByteSet) -> Needle {
    let mut best = Needle { byte: core[0], offset: 0 };
    let mut offset = 1;
    while offset < core.len() && offset < 16 && !firsts.has(core[offset]) {
        if commonness(core[offset]) * 4 < commonness(best.byte) {
            best = Needle { byte: core[offset], offset };
        }
        offset += 1;
    }
    best
}

/// Whether the first needle in a text always belongs to the first marker in it: no marker contains the needle of another
/// before its own.
const fn in_order(list: &MarkerRows, needles: &[Needle; 3], count: usize) -> bool {
    let mut at = 0;
    while at < list.len() {
        let core = as_str(&list.at(at).core).as_bytes();
        // The first of all needles that this marker contains must be its own.
        let mut offset = 0;
        let mut found = false;
        while offset < core.len() && !found {
            let mut needle = 0;
            while needle < count {
                if needles[needle].byte == core[offset] {
                    if needles[needle].offset != offset {
                        return false;
                    }
                    found = true;
                }
                needle += 1;
            }
            offset += 1;
        }
        at += 1;
    }
    true
}

/// How often a byte occurs in prose, code and data: a rough estimate, per thousand bytes.
const fn commonness(byte: u8) -> u32 {
    match byte {
        b' ' | b'e' | b't' | b'a' | b'o' | b'i' | b'n' => 70,
        b'a'..=b'z' => 30,
        b'\n' => 25,
        b'"' | b',' | b'.' | b'0'..=b'9' => 12,
        b'A'..=b'Z' | b'-' | b':' | b'(' | b')' | b'_' | b'=' | b'/' | b'\'' | b';' => 6,
        0x80.. => 6,
        _ => 3,
    }
}

/// One byte of each of some markers, if there are at most three different ones. They serve a search in text that is full of
/// first bytes of markers, such as `<<<<<<<<`; see `leap` in `engine/search.rs`. So they are not the first bytes, but the last
/// ones that are no letters or digits, which are rarer in text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RareBytes {
    bytes: [u8; 3],
    /// How many of `bytes` are used; 0 if the markers have more than three different ones.
    count: usize,
}

/// The offset of such a byte in a core. If there is none, the last byte serves.
const fn rare_at(core: &[u8]) -> usize {
    let mut at = core.len();
    while at > 1 {
        at -= 1;
        if !core[at].is_ascii_alphanumeric() && !core[at].is_ascii_whitespace() {
            return at;
        }
    }
    core.len().saturating_sub(1)
}

impl RareBytes {
    pub(super) const fn of(list: &MarkerRows) -> Self {
        let mut bytes = [0; 3];
        let mut count = 0;
        let mut at = 0;
        while at < list.len() {
            let core = as_str(&list.at(at).core).as_bytes();
            let byte = if core.is_empty() { 0 } else { core[rare_at(core)] };
            let mut known = 0;
            while known < count && bytes[known] != byte {
                known += 1;
            }
            if known == bytes.len() {
                return Self { bytes, count: 0 };
            }
            if known == count {
                bytes[count] = byte;
                count += 1;
            }
            at += 1;
        }
        Self { bytes, count }
    }

    pub(crate) fn is_known(&self) -> bool {
        self.count > 0
    }

    /// The first of these bytes in the text that is part of a marker, whole or cut off by the end of the text: where
    /// the marker begins, and the offset after the byte. If it is part of several, the one that begins first.
    pub(crate) fn next(&self, text: &[u8], list: &MarkerRows) -> Option<(usize, usize)> {
        let [a, b, c] = self.bytes;
        let mut end = 0;
        loop {
            let rest = &text[end..];
            let hit = match self.count {
                0 => return None,
                1 => memchr::memchr(a, rest),
                2 => memchr::memchr2(a, b, rest),
                _ => memchr::memchr3(a, b, c, rest),
            };
            end += hit? + 1;
            let starts = |marker: &Marker| {
                let core = marker.core.as_bytes();
                let start = end.checked_sub(rare_at(core) + 1)?;
                let read = core.len().min(text.len() - start);
                (text[start..start + read] == core[..read]).then_some(start)
            };
            if let Some(start) = list.iter().filter_map(starts).min() {
                return Some((start, end));
            }
        }
    }
}
