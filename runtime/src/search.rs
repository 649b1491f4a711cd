//! Finding markers in text that arrives in pieces, and the white space beside them. Every byte is looked at a bounded
//! number of times, however the text is cut: what was compared before a piece ended is remembered.

use crate::fast_path;
use crate::markers::{Confirm, MAX_MARKERS, Marker, Markers};

/// How much white space may stand between a marker and what confirms it, in bytes.
pub(crate) const CONFIRM_SPACE: usize = 64;

/// After so many places where no marker stands...
const MISSES: usize = 16;

/// ...of which one comes in so many bytes, whole markers are searched for instead,
const OFTEN: usize = 48;

/// as long as that gets this far, in bytes.
const REACH: usize = 512;

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

/// How far a search has come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Look {
    /// Up to here no marker begins.
    pub(crate) from: usize,
    /// The place where one may, as far as it was compared.
    probe: Option<Probe>,
    /// How many bytes were looked at; counted in test builds only.
    pub(crate) work: Work,
}

/// Counts bytes that are looked at, in test builds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Work {
    #[cfg(feature = "testing")]
    bytes: u64,
}

impl Work {
    #[inline]
    pub(crate) fn add(&mut self, _bytes: usize) {
        #[cfg(feature = "testing")]
        {
            self.bytes += _bytes as u64;
        }
    }

    #[cfg(feature = "testing")]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Look {
    /// Goes on at `from`, with nothing compared yet.
    pub(crate) fn restart(&mut self, from: usize) {
        self.from = from;
        self.probe = None;
    }

    /// Whether a place is only half compared.
    pub(crate) fn pending(&self) -> bool {
        self.probe.is_some()
    }

    /// The first `count` bytes of the text at hand are gone.
    pub(crate) fn rebase(&mut self, count: usize) {
        self.from = self.from.saturating_sub(count);
        if let Some(probe) = &mut self.probe {
            probe.at -= count;
        }
    }

    /// The first marker in `text` that was not yet passed. With `last` the text is over: what is only the beginning
    /// of a marker is none.
    pub(crate) fn find(&mut self, text: &[u8], markers: &Markers, last: bool) -> Candidate {
        let start = self.from;
        let (mut misses, mut patience) = (0, MISSES);
        loop {
            if self.probe.is_none() {
                let next = markers.next(text, self.from);
                self.work.add(next.unwrap_or(text.len()).saturating_sub(self.from));
                let Some(at) = next else {
                    self.from = self.from.max(text.len());
                    return Candidate::None;
                };
                self.from = at;
            }
            if self.probe.is_some() || markers.may_begin(text, self.from) {
                match self.compare(text, self.from, markers, last) {
                    Candidate::None => {}
                    found => return found,
                }
            } else {
                self.work.add(2);
            }
            self.from += 1;
            misses += 1;
            if fast_path::enabled() && misses > patience && misses * OFTEN > self.from - start {
                let before = self.from;
                self.leap(text, markers);
                misses = 0;
                // Where that does not get far it is not worth its while.
                patience = if self.from - before < REACH { patience * 2 } else { MISSES };
            }
        }
    }

    /// Where bytes of markers are all over the text: goes on to where one may stand whole, as its last byte shows, or to
    /// where the end of the text may cut one off.
    fn leap(&mut self, text: &[u8], markers: &Markers) {
        let rest = text.get(self.from..).unwrap_or_default();
        let begins = |at: &usize| markers.begins.firsts.has(rest[*at]) && markers.may_begin(rest, *at);
        let next = match markers.lasts.next(rest, markers.list()) {
            // One that begins before it may go on behind it.
            Some((start, end)) => (end.saturating_sub(markers.longest)..start).find(begins).unwrap_or(start),
            None if markers.lasts.is_known() => rest.len().saturating_sub(markers.longest),
            None => (0..rest.len()).find(begins).unwrap_or(rest.len()),
        };
        self.work.add(next);
        self.from += next;
    }

    /// Which marker stands exactly at `at`: the longest, and only when no longer one could still come. What was
    /// compared is remembered where more text is needed.
    #[inline]
    pub(crate) fn compare(&mut self, text: &[u8], at: usize, markers: &Markers, last: bool) -> Candidate {
        if self.probe.as_ref().is_none_or(|probe| probe.at != at) {
            self.probe = None;
            if fast_path::enabled()
                && let Some(index) = at_once(text, at, markers, &mut self.work)
            {
                self.work.add(index.map_or(2, |index| markers.list()[index].core.len()));
                return index.map_or(Candidate::None, |index| Candidate::Full { index, at });
            }
        }
        self.compare_on(text, at, markers, last)
    }

    /// The same where more text is needed, or was.
    #[inline(never)]
    fn compare_on(&mut self, text: &[u8], at: usize, markers: &Markers, last: bool) -> Candidate {
        let mut probe = self.probe.take().unwrap_or_else(|| Probe::new(at, markers));
        let verdict = probe.go_on(text, markers, last, &mut self.work);
        if let Candidate::Partial { .. } = verdict {
            self.from = at;
            self.probe = Some(probe);
        }
        verdict
    }
}

/// Which marker stands at `at`, or that none does, where that is plain: all of it is there, and what confirms it.
fn at_once(text: &[u8], at: usize, markers: &Markers, work: &mut Work) -> Option<Option<usize>> {
    let rest = &text[at..];
    if rest.first().is_some_and(|&first| !markers.begins.firsts.has(first)) {
        return Some(None);
    }
    let [first, second, ..] = *rest else { return None };
    if rest.len() < markers.longest {
        return None;
    }
    let mut best: Option<usize> = None;
    for (index, marker) in markers.list().iter().enumerate() {
        // The first two bytes tell most of them apart.
        let core = marker.core.as_bytes();
        let alike = match *core {
            [one, other, ..] => one == first && other == second,
            [one] => one == first,
            [] => false,
        };
        if !alike || !rest.starts_with(core) {
            continue;
        }
        if !confirmed_at_once(&rest[core.len()..], &marker.confirm, work)? {
            continue;
        }
        if best.is_none_or(|best| goes_before(index, best, markers.list())) {
            best = Some(index);
        }
    }
    Some(best)
}

/// Whether what follows confirms a marker, where all that it takes to tell is there.
fn confirmed_at_once(after: &[u8], confirm: &Confirm, work: &mut Work) -> Option<bool> {
    let cores = match confirm {
        Confirm::Nothing => return Some(true),
        Confirm::Next(cores) => &**cores,
        Confirm::End => &[],
    };
    let space = after.iter().take(CONFIRM_SPACE + 1).take_while(|byte| byte.is_ascii_whitespace()).count();
    let rest = &after[space..];
    if rest.is_empty() {
        return None;
    }
    work.add(space + 1);
    if space > CONFIRM_SPACE {
        return Some(false);
    }
    let mut cut = false;
    for core in cores.iter().map(|core| core.as_bytes()).filter(|core| core.first() == rest.first()) {
        if rest.starts_with(core) {
            work.add(core.len() - 1);
            return Some(true);
        }
        cut |= core.len() > rest.len();
    }
    (!cut).then_some(false)
}

/// A place where a marker may stand, as far as it was compared. Sets of markers are bits, by position in the list.
#[derive(Clone, Debug)]
struct Probe {
    at: usize,
    /// So many bytes from `at` on were compared with the cores.
    read: usize,
    /// Markers that begin with those bytes and are longer.
    alive: u64,
    /// Markers whose core stands there whole, and that are not confirmed yet.
    waiting: u64,
    /// The longest marker that counts.
    best: Option<usize>,
    /// How far one of the waiting ones was confirmed.
    confirming: Option<Confirming>,
}

/// What follows a marker, as far as it was compared with what confirms it.
#[derive(Clone, Debug)]
struct Confirming {
    marker: usize,
    space: usize,
    /// So many bytes after the white space were compared.
    read: usize,
    /// The cores that begin with those bytes.
    alive: u64,
}

/// The bits of the first `count` members of a list.
fn all(count: usize) -> u64 {
    if count >= MAX_MARKERS { u64::MAX } else { (1 << count) - 1 }
}

/// The members of a set, by their positions.
fn members(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let next = (set != 0).then(|| set.trailing_zeros() as usize);
        set &= set.wrapping_sub(1);
        next
    })
}

/// Which of two markers that stand in the same place is meant: the longer one, or of two alike the first.
fn goes_before(one: usize, other: usize, list: &[Marker]) -> bool {
    let key = |index: usize| (std::cmp::Reverse(list[index].core.len()), index);
    key(one) < key(other)
}

impl Probe {
    fn new(at: usize, markers: &Markers) -> Self {
        Self { at, read: 0, alive: all(markers.list().len()), waiting: 0, best: None, confirming: None }
    }

    #[inline(never)]
    fn go_on(&mut self, text: &[u8], markers: &Markers, last: bool, work: &mut Work) -> Candidate {
        let list = markers.list();
        let rest = &text[self.at + self.read..];
        let (mut alive, mut compared) = (0, 0);
        for index in members(self.alive) {
            let core = &list[index].core.as_bytes()[self.read..];
            let differs = core.iter().zip(rest).position(|(a, b)| a != b);
            compared = compared.max(differs.map_or(core.len().min(rest.len()), |at| at + 1));
            if differs.is_some() {
                continue;
            }
            if core.len() > rest.len() {
                alive |= 1 << index;
            } else if list[index].confirm == Confirm::Nothing {
                self.counts(index, list);
            } else {
                self.waiting |= 1 << index;
            }
        }
        work.add(compared);
        self.alive = alive;
        if alive != 0 {
            self.read += rest.len();
        }
        for index in members(self.waiting) {
            let Some(counts) = self.confirm(text, index, &list[index], last, work) else { continue };
            self.waiting &= !(1 << index);
            // Another one is gone on with.
            self.confirming.take_if(|so_far| so_far.marker == index);
            if counts {
                self.counts(index, list);
            }
        }
        let pending = if last { self.waiting } else { self.alive | self.waiting };
        match self.best {
            Some(index) if !members(pending).any(|other| goes_before(other, index, list)) => {
                Candidate::Full { index, at: self.at }
            }
            None if pending == 0 => Candidate::None,
            _ => Candidate::Partial { at: self.at },
        }
    }

    fn counts(&mut self, index: usize, list: &[Marker]) {
        if self.best.is_none_or(|best| goes_before(index, best, list)) {
            self.best = Some(index);
        }
    }

    /// Whether what follows confirms a marker; `None` while more text is needed to tell.
    #[inline(never)]
    fn confirm(&mut self, text: &[u8], index: usize, marker: &Marker, last: bool, work: &mut Work) -> Option<bool> {
        let cores = match &marker.confirm {
            Confirm::Nothing => return Some(true),
            Confirm::Next(cores) => &**cores,
            Confirm::End => &[],
        };
        let new = || Confirming { marker: index, space: 0, read: 0, alive: all(cores.len()) };
        // Of several, one is gone on with; the others are compared anew.
        let mut other;
        let so_far = match &mut self.confirming {
            Some(so_far) if so_far.marker != index => {
                other = new();
                &mut other
            }
            so_far => so_far.get_or_insert_with(new),
        };
        let after = self.at + marker.core.len();
        loop {
            let Some(&byte) = text.get(after + so_far.space + so_far.read) else {
                return match (last, so_far.read) {
                    (true, 0) => Some(true),
                    (true, _) => Some(false),
                    (false, _) => None,
                };
            };
            work.add(1);
            if so_far.read == 0 && byte.is_ascii_whitespace() {
                so_far.space += 1;
                if so_far.space > CONFIRM_SPACE {
                    return Some(false);
                }
                continue;
            }
            so_far.read += 1;
            let mut alive = 0;
            for core in members(so_far.alive) {
                let bytes = cores[core].as_bytes();
                if bytes.get(so_far.read - 1) != Some(&byte) {
                    continue;
                }
                if bytes.len() == so_far.read {
                    return Some(true);
                }
                alive |= 1 << core;
            }
            so_far.alive = alive;
            if alive == 0 {
                return Some(false);
            }
        }
    }
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
pub(crate) fn trailing_layout(text: &[u8], markers: &Markers) -> usize {
    text.iter().rev().take(markers.layout_length).take_while(|byte| markers.layout.has(**byte)).count()
}

/// The white space that still belongs to the marker before it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Skip {
    /// Usual lengths stand in place.
    bytes: [u8; Self::IN_PLACE],
    longer: Vec<u8>,
    from: usize,
    len: usize,
}

impl Skip {
    const IN_PLACE: usize = 24;

    pub(crate) fn is_empty(&self) -> bool {
        self.from == self.len
    }

    pub(crate) fn clear(&mut self) {
        self.from = 0;
        self.len = 0;
    }

    #[inline]
    pub(crate) fn set(&mut self, layout: &str) {
        self.from = 0;
        self.len = layout.len();
        if self.len > 0 {
            self.set_bytes(layout);
        }
    }

    #[inline(never)]
    fn set_bytes(&mut self, layout: &str) {
        match self.bytes.get_mut(..layout.len()) {
            Some(bytes) => bytes.copy_from_slice(layout.as_bytes()),
            None => {
                self.longer.clear();
                self.longer.extend_from_slice(layout.as_bytes());
            }
        }
    }

    /// Takes the white space at the start of `text` that belongs to the marker, and drops what was used up. Returns
    /// how many bytes were taken; nothing is left as soon as the first other byte was seen.
    pub(crate) fn take(&mut self, text: &[u8]) -> usize {
        let mut taken = 0;
        while self.from < self.len {
            let Some(byte) = text.get(taken) else { return taken };
            let layout = if self.len <= Self::IN_PLACE { &self.bytes[..self.len] } else { &self.longer[..] };
            match layout[self.from..].iter().position(|b| b == byte) {
                Some(offset) => {
                    self.from += offset + 1;
                    taken += 1;
                }
                None => break,
            }
        }
        self.clear();
        taken
    }
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
    use crate::program::text;

    static MARKERS: Markers = Markers::new(
        const {
            &[
                Marker::new("</p>").followed_by(const { &[text("<p>"), text("</f>")] }),
                Marker::new("<tool>"),
                Marker::new("<tool>>"),
            ]
        },
    );

    fn find(text: &[u8], last: bool) -> Candidate {
        let whole = Look::default().find(text, &MARKERS, last);
        // However the text is cut, the answer is the same.
        let mut look = Look::default();
        for end in 0..text.len() {
            if let full @ Candidate::Full { .. } = look.find(&text[..end], &MARKERS, false) {
                assert_eq!(full, whole, "{} at {end}", text.escape_ascii());
                return whole;
            }
        }
        assert_eq!(look.find(text, &MARKERS, last), whole, "{}", text.escape_ascii());
        whole
    }

    #[test]
    fn the_longest_marker_counts_and_waits_while_it_may_come() {
        assert_eq!(find(b"a<tool>", false), Candidate::Partial { at: 1 });
        assert_eq!(find(b"a<tool>x", false), Candidate::Full { index: 1, at: 1 });
        assert_eq!(find(b"a<tool>>", false), Candidate::Full { index: 2, at: 1 });
        assert_eq!(find(b"a<tool>", true), Candidate::Full { index: 1, at: 1 });
        assert_eq!(find(b"a<too", true), Candidate::None);
        assert_eq!(find(b"a<<too<tool> ", true), Candidate::Full { index: 1, at: 6 });
    }

    #[test]
    fn of_two_alike_the_first_counts_if_it_does() {
        static MARKERS: Markers = Markers::new(const { &[Marker::new("<s>").at_end(), Marker::new("<s>")] });
        let find = |text: &[u8], last| Look::default().find(text, &MARKERS, last);
        assert_eq!(find(b"<s>", false), Candidate::Partial { at: 0 });
        assert_eq!(find(b"<s>\n", true), Candidate::Full { index: 0, at: 0 });
        assert_eq!(find(b"<s>\nx", false), Candidate::Full { index: 1, at: 0 });
    }

    #[test]
    fn a_marker_counts_only_where_it_is_confirmed() {
        assert_eq!(find(b"x</p> y", false), Candidate::None);
        assert_eq!(find(b"x</p>\n</", false), Candidate::Partial { at: 1 });
        assert_eq!(find(b"x</p>\n</f>", false), Candidate::Full { index: 0, at: 1 });
        assert_eq!(find(b"x</p>\n", true), Candidate::Full { index: 0, at: 1 });
        assert_eq!(find(b"x</p>\n<", true), Candidate::None);
        let spaces = |count: usize| [b"</p>".as_slice(), &b" ".repeat(count)].concat();
        assert_eq!(find(&spaces(CONFIRM_SPACE), true), Candidate::Full { index: 0, at: 0 });
        assert_eq!(find(&spaces(CONFIRM_SPACE + 1), true), Candidate::None);
    }

    #[test]
    fn layout_is_taken_as_far_as_it_is_there() {
        assert_eq!(trim_before(b"a\n\n", "\n"), 2);
        assert_eq!(trim_before(b"a\n", "\n\n"), 1);
        assert_eq!(trim_before(b"a\n", "\n  "), 1);
        assert_eq!(trim_before(b"a ", "\n"), 2);
        for long in [0, 40] {
            let mut skip = Skip::default();
            skip.set(&["\n\n", &" ".repeat(long)].concat());
            assert_eq!(skip.take(b"\n"), 1);
            assert!(!skip.is_empty());
            assert_eq!(skip.take(b"\n\n"), 1);
            assert!(skip.is_empty());
        }
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
