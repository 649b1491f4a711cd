//! The markers that may come in a state, with everything about them that a search needs. In generated code all of it is
//! computed at compile time.
//!
//! This module must not keep anything about a text: how far a search has come is in `engine/search.rs`.

use std::fmt;

use super::marker::{Confirm, Marker, NameOf};
use super::marker_search::{Find, RareBytes, Search, choose};
use super::rows::{MarkerRows, Rows};
use super::text::{as_slice, as_str, list as list_of};
use crate::byte_set::{Begins, ByteSet, Pairs};

/// The most markers that one state can tell apart, and the most cores that can confirm one.
pub const MAX_MARKERS: usize = 64;

/// The markers that may come in a state, and how they are looked for.
///
/// ```
/// use unjinja_runtime::abi::{Marker, Markers, Needle, Search};
///
/// static CLOSERS: Markers = Markers::new(const { &[Marker::new("</call>"), Marker::new("<|end|>")] });
/// assert_eq!(CLOSERS.search(), Search::One(Needle { byte: b'<', offset: 0 }));
/// ```
#[derive(Clone)]
pub struct Markers {
    list: MarkerRows,
    search: Search,
    /// The search function. It is a pointer, so that an application links only the searches that its parsers use.
    find: Find,
    pub(crate) rare_bytes: RareBytes,
    /// The bytes with which the cores begin.
    pub(crate) begins: Begins,
    /// The bytes that a core may have in the third place. They are stored, because finding them at each entry to a text cost
    /// 4.4 % of the instructions on texts with many near markers.
    pub(crate) thirds: ByteSet,
    /// The longest core, in bytes.
    pub(crate) longest: usize,
    /// The bytes of white space that come before a core.
    pub(crate) layout: ByteSet,
    /// The longest such white space, in bytes.
    pub(crate) layout_length: usize,
}

impl fmt::Debug for Markers {
    /// Shows the markers; the search follows from them. Its function must not be shown: a function may have several addresses,
    /// so two equal programs would look different.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Markers").field("list", &self.list).finish_non_exhaustive()
    }
}

impl PartialEq for Markers {
    /// Compares the markers; the search follows from them.
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list
    }
}

impl Markers {
    /// No markers.
    pub const NONE: &'static Self = {
        static NONE: Markers = Markers::expected(&[]);
        &NONE
    };

    /// These markers, and the fastest search for them. Only the first [`MAX_MARKERS`] markers are ever found.
    pub const fn new(list: &'static [Marker]) -> Self {
        Self::expected(list).searched()
    }

    /// These markers, for a place where one of them must come next: they are compared with the text, never searched for.
    pub const fn expected(list: &'static [Marker]) -> Self {
        Self::of(Rows::List(list_of(list)))
    }

    /// The markers, in the order in which [`Found`](crate::abi::Found) counts them.
    #[inline]
    pub const fn list(&self) -> &MarkerRows {
        &self.list
    }

    /// Whether one of the markers repeats a name.
    pub fn hold_name(&self) -> bool {
        self.list.iter().any(|marker| marker.repeats.is_some())
    }

    /// The markers with the names that they repeat, and a search for them. The memory of `old` is used again, so that a
    /// name that is not longer than those before it allocates nothing.
    pub(crate) fn with_names(&self, function: &str, argument: &str, old: Self) -> Self {
        let mut list = old.list.into_vec();
        list.resize(self.list.len(), Marker::new(""));
        for (own, marker) in list.iter_mut().zip(self.list.iter()) {
            let name = if marker.is_named_by(NameOf::Function) { function } else { argument };
            let core = marker.core_in(name, std::mem::take(&mut own.core));
            *own = Marker { core, repeats: None, ..marker.clone() };
        }
        Self::of(list.into()).searched()
    }

    /// Adds the fastest search for the markers.
    pub const fn searched(self) -> Self {
        let mut markers = self;
        markers.search = choose(&markers.list, &markers.begins.firsts);
        markers.find = match markers.search {
            Search::Nothing => Search::find_nothing,
            Search::One(_) => Search::find_one,
            Search::Two(..) => Search::find_two,
            Search::Three(..) => Search::find_three,
            Search::Table => Search::find_first,
        };
        markers
    }

    /// Markers from a list that may be owned, without a search; see [`searched`](Self::searched).
    pub const fn of(markers: MarkerRows) -> Self {
        let list = &markers;
        let mut firsts = ByteSet::EMPTY;
        let mut pairs = Pairs::NONE;
        let mut thirds = ByteSet::EMPTY;
        let mut longest = 0;
        let mut layout = ByteSet::EMPTY;
        let mut layout_length = 0;
        let mut at = 0;
        while at < list.len() {
            let core = as_str(&list.at(at).core).as_bytes();
            if !core.is_empty() {
                firsts = firsts.with(core[0]);
                let seconds = if core.len() > 1 { ByteSet::of(&[core[1]]) } else { second_bytes(list.at(at)) };
                pairs = pairs.with(core[0], &seconds);
            }
            thirds = match list.at(at).repeats.is_none() && core.len() > 2 {
                true => thirds.with(core[2]),
                false => ByteSet::ALL,
            };
            if core.len() > longest {
                longest = core.len();
            }
            let before = as_str(&list.at(at).before).as_bytes();
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
        let rare_bytes = RareBytes::of(list);
        Self {
            list: markers,
            search,
            find,
            rare_bytes,
            begins: Begins { firsts, pairs },
            thirds,
            longest,
            layout,
            layout_length,
        }
    }

    /// How the markers are searched for.
    pub const fn search(&self) -> Search {
        self.search
    }

    /// The first offset in `text`, at or after `from`, where a marker may begin as far as single bytes show.
    pub(crate) fn next(&self, text: &[u8], from: usize) -> Option<usize> {
        let rest = text.get(from..)?;
        let (found, tail) = (self.find)(self.search, &self.begins.firsts, rest);
        if let Some(at) = found {
            return Some(from + at);
        }
        // The needle of a marker may lie after the end of the text. There, the first bytes of the markers are looked
        // for.
        let end = rest.len().saturating_sub(tail);
        rest[end..].iter().position(|&byte| self.begins.firsts.has(byte)).map(|at| from + end + at)
    }

    /// Whether a marker may begin at `at`, as far as the byte after it shows. The byte at `at` must be the first byte of a
    /// marker.
    #[inline]
    pub(crate) fn may_begin(&self, bytes: &[u8], at: usize) -> bool {
        bytes.get(at + 1).is_none_or(|&next| self.begins.pairs.has(bytes[at], next))
    }
}

/// The bytes that may follow a marker of one byte.
const fn second_bytes(marker: &Marker) -> ByteSet {
    let cores = match &marker.confirm {
        Confirm::Nothing => return ByteSet::ALL,
        Confirm::Next(cores) | Confirm::End(cores) => as_slice(cores),
    };
    let mut bytes = ByteSet::of(b" \t\n\r\x0c");
    let mut at = 0;
    while at < cores.len() {
        let core = as_str(&cores[at]).as_bytes();
        if core.is_empty() {
            return ByteSet::ALL;
        }
        bytes = bytes.with(core[0]);
        at += 1;
    }
    let names = as_slice(&marker.names);
    let mut at = 0;
    while at < names.len() {
        let before = as_str(&names[at].before).as_bytes();
        bytes = if before.is_empty() { bytes.union(ByteSet::NAME) } else { bytes.with(before[0]) };
        at += 1;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::program::Needle;

    fn markers(cores: &[&'static str]) -> Markers {
        let list: Vec<Marker> = cores.iter().map(|core| Marker::new(core)).collect();
        Markers::of(list.into()).searched()
    }

    fn search(cores: &[&'static str]) -> Search {
        markers(cores).search()
    }

    #[test]
    fn equal_markers_look_equal() {
        let list = const { &[Marker::new("<a>"), Marker::new("<b>")] };
        let (searched, expected) = (Markers::new(list), Markers::expected(list));
        assert_eq!(format!("{searched:?}"), format!("{expected:?}"));
        assert_ne!(format!("{searched:?}"), format!("{:?}", Markers::NONE));
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
    fn a_name_takes_the_place_of_the_one_before_it() {
        const LIST: &[Marker] = &[Marker::new("<end>"), Marker::new("</>").with_name_at(2)];
        let markers = Markers::new(LIST);
        let one = markers.with_names("f", "a-long-name", Markers::expected(&[]));
        let core = one.list()[1].core.as_ptr();
        let other = markers.with_names("f", "city", one);
        assert_eq!(other, Markers::of(vec![Marker::new("<end>"), Marker::new("</city>")].into()));
        assert_eq!(other.list()[1].core.as_ptr(), core);
    }

    #[test]
    fn each_marker_repeats_its_own_kind_of_name() {
        const LIST: &[Marker] = &[Marker::new("</>").with_function_at(2), Marker::new("<//>").with_name_at(3)];
        let named = Markers::new(LIST).with_names("f", "city", Markers::expected(&[]));
        assert_eq!(named, Markers::of(vec![Marker::new("</f>"), Marker::new("<//city>")].into()));
    }

    #[test]
    fn the_third_bytes_are_those_of_the_cores() {
        let thirds = |list: &[Marker]| Markers::of(list.to_vec().into()).thirds;
        let known = thirds(&[Marker::new("<a>"), Marker::new("<|end|>")]);
        assert!((0..=u8::MAX).all(|byte| known.has(byte) == b">e".contains(&byte)));
        // A short core says nothing of the byte after it, and neither does one with a name in it.
        assert_eq!(thirds(&[Marker::new("<a>"), Marker::new("[")]), ByteSet::ALL);
        assert_eq!(thirds(&[Marker::new("</>").with_name_at(2), Marker::new("<a>")]), ByteSet::ALL);
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
                // Every place of a marker, whole or cut off by the end, is among those found.
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
