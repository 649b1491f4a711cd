//! Markers: the pieces of syntax that a state looks for, and the way to look for them that is chosen when a parser is
//! generated. Everything here is computed at compile time.

use std::borrow::Cow;
use std::fmt;

use crate::program::{List, Text, set};

/// The most markers that one state can tell apart, and the most cores that can confirm one.
pub const MAX_MARKERS: usize = 64;

/// A piece of syntax, split into its core and the white space that the template writes on either side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// The required text. Never empty.
    pub core: Text,
    /// White space before the core. It is syntax where it is present, and is not required.
    pub before: Text,
    /// White space after the core. It is syntax where it is present, and is not required.
    pub after: Text,
    /// What must follow the core, or it is no marker.
    pub confirm: Confirm,
    /// Whether the core is consumed, or left for the next state to read.
    pub take: bool,
}

impl Marker {
    /// A marker without white space around it that needs no confirmation.
    pub const fn new(core: &'static str) -> Self {
        Self {
            core: Cow::Borrowed(core),
            before: Cow::Borrowed(""),
            after: Cow::Borrowed(""),
            confirm: Confirm::Nothing,
            take: true,
        }
    }

    /// Sets the white space that the template writes before and after the core.
    pub const fn layout(mut self, before: &'static str, after: &'static str) -> Self {
        set(&mut self.before, Cow::Borrowed(before));
        set(&mut self.after, Cow::Borrowed(after));
        self
    }

    /// Requires that one of `cores` or the end of the text follows; white space may stand between.
    pub const fn followed_by(mut self, cores: &'static [Text]) -> Self {
        set(&mut self.confirm, Confirm::Next(Cow::Borrowed(cores)));
        self
    }

    /// Requires that the end of the text follows; white space may stand between.
    pub const fn at_end(mut self) -> Self {
        set(&mut self.confirm, Confirm::End);
        self
    }

    /// The text that the marker consumes: its core, or nothing if the core is left for the next state.
    pub fn consumed(&self) -> &str {
        if self.take { &self.core } else { "" }
    }

    /// Leaves the core for the next state to read.
    pub const fn peek(mut self) -> Self {
        self.take = false;
        self
    }
}

/// What must follow a marker before it counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Confirm {
    /// Nothing: the marker counts at once.
    Nothing,
    /// One of these texts, or the end of the output; white space may stand between.
    Next(List<Text>),
    /// The end of the output; white space may stand between.
    End,
}

/// The text of a `Cow` in a `const fn`.
const fn text_of(text: &Text) -> &str {
    match text {
        Cow::Borrowed(text) => text,
        Cow::Owned(text) => text.as_str(),
    }
}

/// The items of a `Cow` in a `const fn`.
const fn items_of<T: Clone>(list: &List<T>) -> &[T] {
    match list {
        Cow::Borrowed(items) => items,
        Cow::Owned(items) => items.as_slice(),
    }
}

/// The markers that may come in a state, and how they are looked for.
///
/// ```
/// use unjinja_runtime::abi_2::{Marker, Markers, Needle, Search};
///
/// static CLOSERS: Markers = Markers::new(const { &[Marker::new("</call>"), Marker::new("<|end|>")] });
/// assert_eq!(CLOSERS.search(), Search::One(Needle { byte: b'<', offset: 0 }));
/// ```
#[derive(Clone, Debug)]
pub struct Markers {
    list: List<Marker>,
    search: Search,
    /// What that search is. By pointer: an application links only those that its parsers need.
    find: Find,
    /// The last bytes of the cores.
    pub(crate) lasts: Lasts,
    /// The bytes with which the cores begin.
    pub(crate) begins: Begins,
    /// The longest core, in bytes.
    pub(crate) longest: usize,
    /// The bytes of white space that stand before a core.
    pub(crate) layout: ByteSet,
    /// The longest such white space, in bytes.
    pub(crate) layout_length: usize,
}

impl PartialEq for Markers {
    /// Compares the markers; the search follows from them.
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list
    }
}

/// Where in a text a marker may begin first, and how many bytes at its end were not searched.
type Find = fn(Search, &ByteSet, &[u8]) -> (Option<usize>, usize);

/// How the places are found where a marker may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// There are no markers.
    Nothing,
    /// One byte, which all of them have: `memchr`.
    One(Needle),
    /// Two bytes, of which each has one: `memchr2`.
    Two(Needle, Needle),
    /// Three bytes, of which each has one: `memchr3`.
    Three(Needle, Needle, Needle),
    /// They begin with more than three different bytes: a table, one byte at a time.
    Table,
}

/// A byte that markers are searched for by: the first, or a rarer one further in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needle {
    /// The byte.
    pub byte: u8,
    /// Where it stands in the core of the markers that have it.
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

impl Markers {
    /// No markers.
    pub const NONE: &'static Markers = {
        static NONE: Markers = Markers::new(&[]);
        &NONE
    };

    /// These markers, and the fastest search for them. Of more than [`MAX_MARKERS`] the rest is never found.
    pub const fn new(list: &'static [Marker]) -> Self {
        Self::expected(list).searched()
    }

    /// These markers, for a place where one of them comes next: they are compared, never searched for.
    pub const fn expected(list: &'static [Marker]) -> Self {
        Self::of(Cow::Borrowed(list))
    }

    /// The markers, in the order in which [`Found`](crate::abi_2::Found) counts them.
    #[inline]
    pub fn list(&self) -> &[Marker] {
        &self.list
    }

    /// Adds the fastest search for the markers.
    pub const fn searched(self) -> Self {
        let mut markers = self;
        markers.search = choose(items_of(&markers.list), &markers.begins.firsts);
        markers.find = match markers.search {
            Search::Nothing => Search::find_nothing,
            Search::One(_) => Search::find_one,
            Search::Two(..) => Search::find_two,
            Search::Three(..) => Search::find_three,
            Search::Table => Search::find_first,
        };
        markers
    }

    /// Markers that were made at run time, without a search; see [`searched`](Self::searched).
    pub const fn of(markers: List<Marker>) -> Self {
        let list = items_of(&markers);
        let mut firsts = ByteSet::EMPTY;
        let mut pairs = Pairs::NONE;
        let mut longest = 0;
        let mut layout = ByteSet::EMPTY;
        let mut layout_length = 0;
        let mut at = 0;
        while at < list.len() {
            let core = text_of(&list[at].core).as_bytes();
            if !core.is_empty() {
                firsts = firsts.with(core[0]);
                let seconds = if core.len() > 1 { ByteSet::of(&[core[1]]) } else { after(&list[at].confirm) };
                pairs = pairs.with(core[0], &seconds);
            }
            if core.len() > longest {
                longest = core.len();
            }
            let before = text_of(&list[at].before).as_bytes();
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
        let (search, find): (_, Find) = (Search::Nothing, Search::find_nothing);
        let lasts = Lasts::of(list);
        Self { list: markers, search, find, lasts, begins: Begins { firsts, pairs }, longest, layout, layout_length }
    }

    /// How they are looked for.
    pub const fn search(&self) -> Search {
        self.search
    }

    /// The first position in `text` at or after `from` where a marker may begin, as far as single bytes show.
    pub(crate) fn next(&self, text: &[u8], from: usize) -> Option<usize> {
        let rest = text.get(from..)?;
        let (found, tail) = (self.find)(self.search, &self.begins.firsts, rest);
        if let Some(at) = found {
            return Some(from + at);
        }
        // Where the text ends before a byte further in could stand, the first ones have to do.
        let end = rest.len().saturating_sub(tail);
        rest[end..].iter().position(|&byte| self.begins.firsts.has(byte)).map(|at| from + end + at)
    }

    /// Whether a marker may begin where `bytes` have one of its first bytes at `at`, as far as the next one shows.
    #[inline]
    pub(crate) fn may_begin(&self, bytes: &[u8], at: usize) -> bool {
        bytes.get(at + 1).is_none_or(|&next| self.begins.pairs.has(bytes[at], next))
    }
}

/// The bytes with which some markers begin, alone and with those that may follow them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begins {
    /// The first bytes.
    pub(crate) firsts: ByteSet,
    /// The first two.
    pub(crate) pairs: Pairs,
}

impl Begins {
    /// Those of no markers.
    pub(crate) const NOTHING: Self = Self { firsts: ByteSet::EMPTY, pairs: Pairs::NONE };

    /// Whether one may begin with the byte at `at`, as far as that and the next one show.
    #[inline]
    pub(crate) fn at(&self, bytes: &[u8], at: usize) -> bool {
        bytes.get(at).is_some_and(|&byte| {
            self.firsts.has(byte) && bytes.get(at + 1).is_none_or(|&next| self.pairs.has(byte, next))
        })
    }
}

/// A set of pairs of bytes, as good as exact: it may have a few of other first bytes too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pairs(ByteSet);

impl Pairs {
    pub(crate) const NONE: Self = Self(ByteSet::EMPTY);

    /// All pairs: so it is where a marker is one byte long and counts at once.
    pub(crate) const ALL: Self = Self(ByteSet::ALL);

    /// With this byte before each of these.
    pub(crate) const fn with(mut self, first: u8, seconds: &ByteSet) -> Self {
        let mut second = 0;
        loop {
            if seconds.has(second) {
                self.0 = self.0.with(Self::place(first, second));
            }
            if second == u8::MAX {
                return self;
            }
            second += 1;
        }
    }

    #[inline]
    pub(crate) fn has(&self, first: u8, second: u8) -> bool {
        self.0.has(Self::place(first, second))
    }

    /// Where a pair stands in the set: for the same first byte, never where another does.
    const fn place(first: u8, second: u8) -> u8 {
        first.wrapping_mul(0x9d) ^ second
    }
}

/// The different last bytes of some markers, if they are few: where a text is full of beginnings, they show where a whole
/// marker may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lasts {
    bytes: [u8; 3],
    /// None, where there are more.
    count: usize,
}

impl Lasts {
    const fn of(list: &[Marker]) -> Self {
        let mut bytes = [0; 3];
        let mut count = 0;
        let mut at = 0;
        while at < list.len() {
            let core = text_of(&list[at].core).as_bytes();
            let last = if core.is_empty() { 0 } else { core[core.len() - 1] };
            let mut known = 0;
            while known < count && bytes[known] != last {
                known += 1;
            }
            if known == bytes.len() {
                return Self { bytes, count: 0 };
            }
            if known == count {
                bytes[count] = last;
                count += 1;
            }
            at += 1;
        }
        Self { bytes, count }
    }

    pub(crate) fn is_known(&self) -> bool {
        self.count > 0
    }

    /// The first whole marker by where it ends: where it begins, and where it ends. Of several that end there, the
    /// longest.
    pub(crate) fn next(&self, text: &[u8], list: &[Marker]) -> Option<(usize, usize)> {
        let [a, b, c] = self.bytes;
        let mut end = 0;
        loop {
            let rest = &text[end..];
            let hit = match self.count {
                0 => return None,
                1 => memchr::memchr(a, rest),
                2 => rest.iter().position(|&byte| byte == a || byte == b),
                _ => rest.iter().position(|&byte| byte == a || byte == b || byte == c),
            };
            end += hit? + 1;
            let starts =
                |marker: &Marker| text[..end].ends_with(marker.core.as_bytes()).then(|| end - marker.core.len());
            if let Some(start) = list.iter().filter_map(starts).min() {
                return Some((start, end));
            }
        }
    }
}

impl Search {
    fn find_nothing(self, _: &ByteSet, _: &[u8]) -> (Option<usize>, usize) {
        (None, 0)
    }

    fn find_one(self, _: &ByteSet, text: &[u8]) -> (Option<usize>, usize) {
        let Search::One(a) = self else { return (None, 0) };
        let hit = text.get(a.offset..).and_then(|rest| memchr::memchr(a.byte, rest));
        (hit, a.offset)
    }

    fn find_two(self, _: &ByteSet, text: &[u8]) -> (Option<usize>, usize) {
        let Search::Two(a, b) = self else { return (None, 0) };
        let hit = memchr::memchr2_iter(a.byte, b.byte, text).find_map(|at| start(text, at, &[a, b]));
        (hit, a.offset.max(b.offset))
    }

    fn find_three(self, _: &ByteSet, text: &[u8]) -> (Option<usize>, usize) {
        let Search::Three(a, b, c) = self else { return (None, 0) };
        let hits = memchr::memchr3_iter(a.byte, b.byte, c.byte, text);
        let hit = { hits }.find_map(|at| start(text, at, &[a, b, c]));
        (hit, a.offset.max(b.offset).max(c.offset))
    }

    fn find_first(self, firsts: &ByteSet, text: &[u8]) -> (Option<usize>, usize) {
        (text.iter().position(|&byte| firsts.has(byte)), 0)
    }
}

/// Where a marker begins that has one of the needles at `at`.
#[inline]
fn start(text: &[u8], at: usize, needles: &[Needle]) -> Option<usize> {
    needles.iter().find(|needle| needle.byte == text[at]).and_then(|needle| at.checked_sub(needle.offset))
}

/// The bytes that may follow a marker of one byte.
const fn after(confirm: &Confirm) -> ByteSet {
    let cores = match confirm {
        Confirm::Nothing => return ByteSet::ALL,
        Confirm::Next(cores) => items_of(cores),
        Confirm::End => &[],
    };
    let mut bytes = ByteSet::of(b" \t\n\r\x0c");
    let mut at = 0;
    while at < cores.len() {
        let core = text_of(&cores[at]).as_bytes();
        if core.is_empty() {
            return ByteSet::ALL;
        }
        bytes = bytes.with(core[0]);
        at += 1;
    }
    bytes
}

/// The fastest search for these markers.
const fn choose(list: &[Marker], firsts: &ByteSet) -> Search {
    if list.is_empty() {
        return Search::Nothing;
    }
    let mut rare = true;
    loop {
        let mut needles = [Needle { byte: 0, offset: 0 }; 3];
        let mut count = 0;
        let mut at = 0;
        while at < list.len() && count <= needles.len() {
            let core = text_of(&list[at].core).as_bytes();
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
                // The same byte in two places: a hit would not say where its marker begins.
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

/// The byte to search for a marker by: its first, or a clearly rarer one further in before which no marker can begin.
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

/// Whether the needles of markers come in the order in which the markers begin: none stands in another marker before
/// its own.
const fn in_order(list: &[Marker], needles: &[Needle; 3], count: usize) -> bool {
    let mut at = 0;
    while at < list.len() {
        let core = text_of(&list[at].core).as_bytes();
        // The needle of this marker is the first of them that it has.
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

    pub(crate) const ALL: Self = Self([u64::MAX; 4]);

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

    pub(crate) const fn is_ascii(&self) -> bool {
        self.0[2] == 0 && self.0[3] == 0
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

    fn markers(cores: &[&'static str]) -> Markers {
        let list: Vec<Marker> = cores.iter().map(|core| Marker::new(core)).collect();
        Markers::of(list.into()).searched()
    }

    fn search(cores: &[&'static str]) -> Search {
        markers(cores).search()
    }

    #[test]
    fn the_search_fits_the_markers() {
        let at = |byte, offset| Needle { byte, offset };
        let first = |byte| at(byte, 0);
        for (cores, expected) in [
            (&[][..], Search::Nothing),
            (&["<tool>", "<|end|>"], Search::One(first(b'<'))),
            (&["<tool>", "[CALL]"], Search::Two(first(b'<'), first(b'['))),
            (&["<tool>", "[CALL]", ">>>"], Search::Three(first(b'<'), first(b'['), first(b'>'))),
            (&["<tool>", "[CALL]", ">>>", "{"], Search::Table),
            (&["functools["], Search::One(at(b'[', 9))),
            (&["<|end|>", "to=f."], Search::Two(first(b'<'), at(b'=', 2))),
            // Between the `t` and its rarer byte another marker may begin.
            (&["o=", "to="], Search::Two(at(b'=', 1), first(b't'))),
            (&["a<b", "<c"], Search::Two(first(b'a'), first(b'<'))),
            (&["ab=", "b="], Search::Two(first(b'a'), at(b'=', 1))),
            (&["x=y", "xy="], Search::One(first(b'x'))),
        ] {
            assert_eq!(search(cores), expected, "{cores:?}");
        }
    }

    #[test]
    fn pairs_are_exact_for_each_first_byte() {
        for first in 0..=u8::MAX {
            let seconds = ByteSet::of(b"\0 a<\xFF");
            let pairs = Pairs::NONE.with(first, &seconds);
            assert!((0..=u8::MAX).all(|second| pairs.has(first, second) == seconds.has(second)), "{first}");
        }
        assert_eq!(Pairs::NONE.with(b'<', &ByteSet::of(b"x")).with(b',', &ByteSet::ALL), Pairs::ALL);
        // What may follow one first byte may not follow all others.
        const MARKERS: &[Marker] = &[
            Marker::new("[").followed_by(const { &[Cow::Borrowed("{")] }),
            Marker::new("{").followed_by(const { &[Cow::Borrowed("\"")] }),
        ];
        let markers = Markers::new(MARKERS);
        for (text, begins) in [("[{", true), ("[ ", true), ("{\"", true), ("{{", false), ("[[", false), ("[\"", false)]
        {
            assert_eq!(markers.begins.at(text.as_bytes(), 0), begins, "{text}");
        }
    }

    #[test]
    fn every_search_finds_every_place() {
        let text = b"x<a>functools[<|b|>{[{ftx>>f[";
        for cores in [
            &["ft", "to=", "s["],
            &["<a>", "<|b|>"][..],
            &["<a", "["],
            &["<a", "[", ">"],
            &["<a", "[", ">", "{"],
            &["functools["],
        ] {
            let markers = markers(cores);
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
