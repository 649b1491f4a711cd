//! Markers: the pieces of syntax that a state looks for, and the way to look for them that is chosen when a parser is
//! generated. Everything here is computed at compile time.

use std::fmt;

/// The most markers that one state can tell apart, and the most cores that can confirm one.
pub const MAX_MARKERS: usize = 64;

/// A piece of syntax, split into its core and the white space that the template writes on either side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker<'p> {
    /// What must stand there, byte for byte. Never empty.
    pub core: &'p str,
    /// White space before the core; syntax as far as it is there.
    pub before: &'p str,
    /// White space after the core; syntax as far as it is there.
    pub after: &'p str,
    /// What must follow before the core counts.
    pub confirm: Confirm<'p>,
    /// Whether the core is taken, or left for the next state to read.
    pub take: bool,
}

impl<'p> Marker<'p> {
    /// A marker with no white space around it that needs nothing to confirm it.
    pub const fn new(core: &'p str) -> Self {
        Self { core, before: "", after: "", confirm: Confirm::Nothing, take: true }
    }

    /// With the white space that the template writes before and after the core.
    pub const fn layout(mut self, before: &'p str, after: &'p str) -> Self {
        self.before = before;
        self.after = after;
        self
    }

    /// Counts only where one of `cores`, or the end of the text, follows, white space aside.
    pub const fn followed_by(mut self, cores: &'p [&'p str]) -> Self {
        self.confirm = Confirm::Next(cores);
        self
    }

    /// Counts only at the very end of the text.
    pub const fn at_end(mut self) -> Self {
        self.confirm = Confirm::End;
        self
    }

    /// Is left for the next state to read.
    pub const fn peek(mut self) -> Self {
        self.take = false;
        self
    }
}

/// What must follow a marker before it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirm<'p> {
    /// Nothing: it counts at once.
    Nothing,
    /// One of these, or the end of the text, white space aside.
    Next(&'p [&'p str]),
    /// The end of the text, white space aside.
    End,
}

/// The markers that may come in a state, and how they are looked for.
///
/// ```
/// use unjinja_runtime::{Marker, Markers, Search};
///
/// const CLOSERS: Markers<'static> = Markers::new(&[Marker::new("</call>"), Marker::new("<|end|>")]);
/// assert_eq!(CLOSERS.search(), Search::One(b'<'));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Markers<'p> {
    pub(crate) list: &'p [Marker<'p>],
    search: Search,
    /// The first bytes of the cores.
    pub(crate) firsts: ByteSet,
    /// The bytes of white space that stand before a core.
    pub(crate) layout: ByteSet,
    /// The longest such white space, in bytes.
    pub(crate) layout_length: usize,
}

/// How the places are found where a marker may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// There are no markers.
    Nothing,
    /// One byte, the first of all of them: `memchr`.
    One(u8),
    /// Two first bytes: `memchr2`.
    Two(u8, u8),
    /// Three first bytes: `memchr3`.
    Three(u8, u8, u8),
    /// All have this byte at this offset, and it is rarer than the first ones: `memchr`.
    Rare {
        /// The byte.
        byte: u8,
        /// Where it stands in every core.
        offset: usize,
    },
    /// More than three first bytes: a table, one byte at a time.
    Table,
}

impl fmt::Display for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |byte: &u8| format!("`{}`", byte.escape_ascii());
        match self {
            Search::Nothing => f.write_str("not searched for"),
            Search::One(byte) => write!(f, "searched for by {} (memchr)", show(byte)),
            Search::Two(a, b) => write!(f, "searched for by {} and {} (memchr2)", show(a), show(b)),
            Search::Three(a, b, c) => {
                write!(f, "searched for by {}, {} and {} (memchr3)", show(a), show(b), show(c))
            }
            Search::Rare { byte, offset } => {
                write!(f, "searched for by {}, {offset} bytes into each (memchr)", show(byte))
            }
            Search::Table => f.write_str("searched for by their first bytes (a table)"),
        }
    }
}

impl<'p> Markers<'p> {
    /// No markers.
    pub const NONE: Markers<'static> = Markers::new(&[]);

    /// These markers, and the fastest search for them. Of more than [`MAX_MARKERS`] the rest is never found.
    pub const fn new(list: &'p [Marker<'p>]) -> Self {
        let mut firsts = ByteSet::EMPTY;
        let mut layout = ByteSet::EMPTY;
        let mut layout_length = 0;
        let mut at = 0;
        while at < list.len() {
            let core = list[at].core.as_bytes();
            if !core.is_empty() {
                firsts = firsts.with(core[0]);
            }
            let before = list[at].before.as_bytes();
            if before.len() > layout_length {
                layout_length = before.len();
            }
            let mut byte = 0;
            while byte < before.len() {
                layout = layout.with(before[byte]);
                byte += 1;
            }
            at += 1;
        }
        Self { list, search: choose(list), firsts, layout, layout_length }
    }

    /// How they are looked for.
    pub const fn search(&self) -> Search {
        self.search
    }

    /// The first position in `text` at or after `from` where a marker may begin, as far as single bytes show.
    pub(crate) fn next(&self, text: &[u8], from: usize) -> Option<usize> {
        let rest = text.get(from..)?;
        match self.search {
            Search::Nothing => None,
            Search::One(a) => memchr::memchr(a, rest).map(|at| from + at),
            Search::Two(a, b) => memchr::memchr2(a, b, rest).map(|at| from + at),
            Search::Three(a, b, c) => memchr::memchr3(a, b, c, rest).map(|at| from + at),
            Search::Rare { byte, offset } => {
                let found = rest.get(offset..).and_then(|rest| memchr::memchr(byte, rest));
                // Where the text ends before the byte could stand, the first ones have to do.
                let end = rest.len().saturating_sub(offset);
                found
                    .or_else(|| rest[end..].iter().position(|&b| self.firsts.has(b)).map(|at| end + at))
                    .map(|at| from + at)
            }
            Search::Table => rest.iter().position(|&byte| self.firsts.has(byte)).map(|at| from + at),
        }
    }
}

/// The fastest search for these markers.
const fn choose(list: &[Marker<'_>]) -> Search {
    let mut shortest = usize::MAX;
    let mut at = 0;
    while at < list.len() {
        if list[at].core.len() < shortest {
            shortest = list[at].core.len();
        }
        at += 1;
    }
    if list.is_empty() || shortest == 0 {
        return Search::Nothing;
    }
    let (bytes, count) = at_offset(list, 0);
    let mut common = 0;
    at = 0;
    while at < count && at < bytes.len() {
        common += commonness(bytes[at]);
        at += 1;
    }
    // A byte further in has to be clearly rarer: it makes the end of a piece harder to settle.
    let mut offset = 1;
    while offset < shortest {
        let (others, other_count) = at_offset(list, offset);
        if other_count == 1 && commonness(others[0]) * 4 < common {
            return Search::Rare { byte: others[0], offset };
        }
        offset += 1;
    }
    match count {
        1 => Search::One(bytes[0]),
        2 => Search::Two(bytes[0], bytes[1]),
        3 => Search::Three(bytes[0], bytes[1], bytes[2]),
        _ => Search::Table,
    }
}

/// The different bytes that the cores have at `offset`: up to three of them, and how many there are.
const fn at_offset(list: &[Marker<'_>], offset: usize) -> ([u8; 3], usize) {
    let mut bytes = [0; 3];
    let mut seen = ByteSet::EMPTY;
    let mut count = 0;
    let mut at = 0;
    while at < list.len() {
        let byte = list[at].core.as_bytes()[offset];
        if !seen.has(byte) {
            seen = seen.with(byte);
            if count < bytes.len() {
                bytes[count] = byte;
            }
            count += 1;
        }
        at += 1;
    }
    (bytes, count)
}

/// How often a byte stands in prose, code and data, roughly: per thousand bytes.
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

/// A set of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteSet([u64; 4]);

impl ByteSet {
    pub(crate) const EMPTY: Self = Self([0; 4]);

    /// What ends a stretch of a JSON string, or may not stand in one: quotes, backslashes and control characters.
    pub(crate) const JSON_TEXT: Self = Self([0xffff_ffff, 0, 0, 0]).with(b'"').with(b'\\');

    pub(crate) const fn with(mut self, byte: u8) -> Self {
        self.0[(byte >> 6) as usize] |= 1 << (byte & 63);
        self
    }

    pub(crate) const fn of(bytes: &[u8]) -> Self {
        let mut set = Self::EMPTY;
        let mut at = 0;
        while at < bytes.len() {
            set = set.with(bytes[at]);
            at += 1;
        }
        set
    }

    /// Whether the two have a byte in common.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    pub(crate) const fn and(self, other: Self) -> Self {
        let (a, b) = (self.0, other.0);
        Self([a[0] | b[0], a[1] | b[1], a[2] | b[2], a[3] | b[3]])
    }

    #[inline]
    pub(crate) const fn has(&self, byte: u8) -> bool {
        self.0[(byte >> 6) as usize] >> (byte & 63) & 1 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(cores: &[&str]) -> Search {
        let list: Vec<Marker<'_>> = cores.iter().map(|core| Marker::new(core)).collect();
        Markers::new(&list).search()
    }

    #[test]
    fn the_search_fits_the_markers() {
        for (cores, expected) in [
            (&[][..], Search::Nothing),
            (&["<tool>", "<|end|>"], Search::One(b'<')),
            (&["<tool>", "[CALL]"], Search::Two(b'<', b'[')),
            (&["<tool>", "[CALL]", ">>>"], Search::Three(b'<', b'[', b'>')),
            (&["<tool>", "[CALL]", ">>>", "{"], Search::Table),
            (&["functools["], Search::Rare { byte: b'[', offset: 9 }),
            (&["to=a", "is=b"], Search::Rare { byte: b'=', offset: 2 }),
            (&["to=a", "i="], Search::Two(b't', b'i')),
        ] {
            assert_eq!(search(cores), expected, "{cores:?}");
        }
    }

    #[test]
    fn every_search_finds_every_place() {
        let text = b"x<a>functools[<|b|>{[{ftx>>f[";
        for cores in [&["<a>", "<|b|>"][..], &["<a", "["], &["<a", "[", ">"], &["<a", "[", ">", "{"], &["functools["]] {
            let list: Vec<Marker<'_>> = cores.iter().map(|core| Marker::new(core)).collect();
            let markers = Markers::new(&list);
            for end in 0..=text.len() {
                let text = &text[..end];
                // Every place where a marker stands, or is cut off by the end, is among those found.
                let mut from = 0;
                let mut found = Vec::new();
                while let Some(at) = markers.next(text, from) {
                    found.push(at);
                    from = at + 1;
                }
                for at in 0..end {
                    let rest = &text[at..];
                    let begins = |core: &&str| rest.starts_with(core.as_bytes()) || core.as_bytes().starts_with(rest);
                    assert!(!cores.iter().any(begins) || found.contains(&at), "{cores:?} at {at} of {end}");
                }
            }
        }
    }
}
