//! Finds markers in text that arrives in pieces. Every byte is looked at a bounded number of times, however the text is cut:
//! what was compared before a piece ended is remembered.
//!
//! It must not know what a marker means, and it does not move the cursor.

use super::confirming::{Confirming, MarkerContext, Wanted, all, members};
use super::next_name::Names;
use super::work::Work;
use crate::fast_paths;
use crate::limits::CONFIRM_SPACE;
use crate::program::{ANY_HEAD, Confirm, Marker, MarkerRows, Markers, Rows, head, is_mention};

/// If this many places in a row looked like a marker and were none, ...
const MISSES: usize = 16;

/// ... and there was one of them in this many bytes, the search tries a [`leap`](Searcher::leap).
const OFTEN: usize = 48;

/// A leap that gets less far than this, in bytes, was not worth its cost: the next one is tried later.
const REACH: usize = 512;

/// Where a marker may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Candidate {
    /// Marker `index` is at `at` and counts.
    Full { index: usize, at: usize },
    /// From `at` on, more text is needed to tell.
    Partial { at: usize },
    /// Nowhere.
    None,
}

/// How far a search has come.
#[derive(Clone, Debug, Default)]
pub(super) struct Searcher {
    /// Before this offset no marker begins.
    pub(super) from: usize,
    pub(super) context: MarkerContext,
    /// The place where one may begin, as far as it was compared.
    probe: Option<Probe>,
    /// How many bytes were looked at; counted in test builds only.
    pub(super) work: Work,
}

impl Searcher {
    /// Starts again at `from`, with nothing compared yet.
    pub(super) fn restart(&mut self, from: usize) {
        self.from = from;
        self.probe = None;
    }

    /// Whether a place was compared only in part.
    pub(super) fn pending(&self) -> bool {
        self.probe.is_some()
    }

    /// The first `count` bytes of the buffered text are gone.
    pub(super) fn rebase(&mut self, count: usize) {
        self.from = self.from.saturating_sub(count);
        self.context.lead_from = self.context.lead_from.saturating_sub(count);
        self.context.lead_end = self.context.lead_end.saturating_sub(count);
        if let Some(tokens) = &mut self.context.tokens {
            tokens.rebase(count);
        }
        if let Some(probe) = &mut self.probe {
            probe.at -= count;
        }
    }

    /// The first marker in `text` at or after `from`. With `last` the text is over: the beginning of a marker at its end is
    /// no marker.
    pub(super) fn find(&mut self, text: &[u8], markers: &Markers, names: Names<'_>, last: bool) -> Candidate {
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
                match self.compare(text, self.from, markers, names, last) {
                    Candidate::None => {}
                    found => return found,
                }
            } else {
                self.work.add(2);
            }
            self.from += 1;
            misses += 1;
            if misses > patience
                && misses * OFTEN > self.from - start
                && let Some(reach) = fast_paths::attempt(|| Some(self.leap(text, markers)))
            {
                misses = 0;
                patience = if reach < REACH { patience * 2 } else { MISSES };
            }
        }
    }

    /// A fast path for text that is full of first bytes of markers, such as `<<<<<<<<` or HTML. It searches for rarer bytes
    /// of the markers instead, and continues to the first place where a whole marker may be, or where the end of the
    /// text may cut one off. Returns how far it got, in bytes.
    fn leap(&mut self, text: &[u8], markers: &Markers) -> usize {
        let rest = text.get(self.from..).unwrap_or_default();
        let begins = |at: &usize| markers.begins.firsts.has(rest[*at]) && markers.may_begin(rest, *at);
        let next = match markers.rare_bytes.next(rest, markers.list()) {
            // A longer marker may begin before it and end after it.
            Some((start, end)) => (end.saturating_sub(markers.longest)..start).find(begins).unwrap_or(start),
            None if markers.rare_bytes.is_known() => rest.len().saturating_sub(markers.longest),
            None => (0..rest.len()).find(begins).unwrap_or(rest.len()),
        };
        self.work.add(next);
        self.from += next;
        next
    }

    /// Which marker begins exactly at `at`: the longest, as soon as no longer one can still come. If more text is needed, what
    /// was compared is remembered.
    #[inline]
    pub(super) fn compare(
        &mut self,
        text: &[u8],
        at: usize,
        markers: &Markers,
        names: Names<'_>,
        last: bool,
    ) -> Candidate {
        if self.probe.as_ref().is_none_or(|probe| probe.at != at) {
            self.probe = None;
            if let Some(index) =
                fast_paths::attempt(|| compare_at_once(text, &self.context, at, markers, &mut self.work))
            {
                self.work.add(index.map_or(2, |index| markers.list()[index].core.len()));
                return index.map_or(Candidate::None, |index| Candidate::Full { index, at });
            }
        }
        self.compare_in_pieces(text, at, markers, names, last)
    }

    /// The general comparison, which can stop at any byte.
    #[inline(never)]
    fn compare_in_pieces(
        &mut self,
        text: &[u8],
        at: usize,
        markers: &Markers,
        names: Names<'_>,
        last: bool,
    ) -> Candidate {
        let mut probe = self.probe.take().unwrap_or_else(|| Probe::new(at, markers));
        let verdict = probe.advance(text, &self.context, markers, names, last, &mut self.work);
        if let Candidate::Partial { .. } = verdict {
            self.from = at;
            self.probe = Some(probe);
        }
        verdict
    }
}

/// A fast path: which marker begins at `at`, if any, given that all of it and all that confirms it is buffered. `None`
/// if it is not.
fn compare_at_once(
    text: &[u8],
    context: &MarkerContext,
    at: usize,
    markers: &Markers,
    work: &mut Work,
) -> Option<Option<usize>> {
    let rest = &text[at..];
    if rest.first().is_some_and(|&first| !markers.begins.firsts.has(first)) {
        return Some(None);
    }
    let [first, second, ..] = *rest else { return None };
    if rest.len() < markers.longest {
        return None;
    }
    let mut best: Option<usize> = None;
    let mut compare = |index: usize, marker: &Marker| {
        let core = marker.core.as_bytes();
        if core.is_empty() || !rest.starts_with(core) || !context.allows(marker, text, at) {
            return Some(());
        }
        if !marker.names.is_empty() {
            return None;
        }
        let is_mentioned = context.asks_for_mention(marker, at) && is_mention(*text.get(at + core.len())?);
        if !is_mentioned
            && confirmed_at_once(text, at + core.len(), &marker.confirm, context, work)?
            && best.is_none_or(|best| goes_before(index, best, markers.list()))
        {
            best = Some(index);
        }
        Some(())
    };
    // The first two bytes tell most of them apart.
    let begins = u16::from_le_bytes([first, second]);
    match markers.list() {
        Rows::Table(table, rows) => {
            for (index, [marker, _, head]) in rows.iter().enumerate() {
                if *head == begins || *head == ANY_HEAD {
                    compare(index, table.get(usize::from(*marker))?)?;
                }
            }
        }
        Rows::List(list) => {
            for (index, marker) in list.iter().enumerate() {
                if [begins, ANY_HEAD].contains(&head(marker.core.as_bytes())) {
                    compare(index, marker)?;
                }
            }
        }
    }
    Some(best)
}

/// Whether what follows a marker, from `from` on, confirms it. `None` if more text is needed to tell.
fn confirmed_at_once(
    text: &[u8],
    from: usize,
    confirm: &Confirm,
    context: &MarkerContext,
    work: &mut Work,
) -> Option<bool> {
    let cores = match confirm {
        Confirm::Nothing => return Some(true),
        Confirm::Next(cores) | Confirm::End(cores) => &**cores,
    };
    let after = &text[from..];
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
        if rest.starts_with(core) && context.has_tokens(core, from + space) {
            work.add(core.len() - 1);
            return Some(true);
        }
        cut |= core.len() > rest.len();
    }
    (!cut).then_some(false)
}

/// A place where a marker may begin, as far as it was compared. Sets of markers are bits, by position in the list.
#[derive(Clone, Debug)]
struct Probe {
    at: usize,
    /// How many bytes from `at` on were compared with the cores.
    read: usize,
    /// Markers that begin with those bytes and are longer.
    alive: u64,
    /// Markers whose whole core is there, and that are not confirmed yet.
    waiting: u64,
    /// The longest marker that is confirmed.
    best: Option<usize>,
    /// What follows one of the waiting markers, as far as it was compared.
    confirming: Option<Confirming>,
    /// The same of further waiting markers.
    others: Vec<Confirming>,
}

/// Which of two markers that begin in the same place is meant: the longer one, or the first of two with the same text.
fn goes_before(one: usize, other: usize, list: &MarkerRows) -> bool {
    let key = |index: usize| (std::cmp::Reverse(list[index].core.len()), index);
    key(one) < key(other)
}

impl Probe {
    fn new(at: usize, markers: &Markers) -> Self {
        Self {
            at,
            read: 0,
            alive: all(markers.list().len()),
            waiting: 0,
            best: None,
            confirming: None,
            others: Vec::new(),
        }
    }

    #[inline(never)]
    fn advance(
        &mut self,
        text: &[u8],
        context: &MarkerContext,
        markers: &Markers,
        names: Names<'_>,
        last: bool,
        work: &mut Work,
    ) -> Candidate {
        let list = markers.list();
        let rest = &text[self.at + self.read..];
        let (mut alive, mut compared) = (0, 0);
        for index in members(self.alive) {
            let core = &list[index].core.as_bytes()[self.read..];
            let differs = core.iter().zip(rest).position(|(a, b)| a != b);
            compared = compared.max(differs.map_or(core.len().min(rest.len()), |at| at + 1));
            if differs.is_some() || !context.fits(&list[index], text, self.at) {
                continue;
            }
            if core.len() > rest.len() {
                alive |= 1 << index;
            } else if !context.allows(&list[index], text, self.at) {
                continue;
            } else if list[index].confirm == Confirm::Nothing && !context.asks_for_mention(&list[index], self.at) {
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
            let Some(counts) = self.confirm(text, context, (index, &list[index]), names, last, work) else { continue };
            self.waiting &= !(1 << index);
            // Another marker can be compared next.
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

    fn counts(&mut self, index: usize, list: &MarkerRows) {
        if self.best.is_none_or(|best| goes_before(index, best, list)) {
            self.best = Some(index);
        }
    }

    /// Whether what follows confirms a marker; `None` while more text is needed to tell.
    #[inline(never)]
    fn confirm(
        &mut self,
        text: &[u8],
        context: &MarkerContext,
        (index, marker): (usize, &Marker),
        names: Names<'_>,
        last: bool,
        work: &mut Work,
    ) -> Option<bool> {
        let from = self.at + marker.core.len();
        let after = text.get(from..).unwrap_or_default();
        if context.asks_for_mention(marker, self.at) {
            return match after.first() {
                Some(&next) => Some(!is_mention(next)),
                None => last.then_some(false),
            };
        }
        let cores = match &marker.confirm {
            Confirm::Nothing => return Some(true),
            Confirm::Next(cores) | Confirm::End(cores) => &**cores,
        };
        let new = || Confirming::new(index, cores.len());
        let so_far = match (self.others.iter().position(|other| other.marker == index), &mut self.confirming) {
            (Some(at), _) => &mut self.others[at],
            (None, Some(first)) if first.marker != index => {
                self.others.push(new());
                let at = self.others.len() - 1;
                &mut self.others[at]
            }
            (None, first) => first.get_or_insert_with(new),
        };
        let wanted = Wanted { cores, context, from };
        let follows = so_far.follows(after, &wanted, marker.is_space(), last, work);
        let in_space = so_far.read == 0 || so_far.space > CONFIRM_SPACE;
        if follows == Some(true) || marker.names.is_empty() || in_space {
            return follows;
        }
        match so_far.name.follows(&after[so_far.space..], marker, names, last, work) {
            Some(false) => follows,
            named => named,
        }
    }
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
        let whole = Searcher::default().find(text, &MARKERS, Names::ANY, last);
        // However the text is cut, the answer is the same.
        let mut searcher = Searcher::default();
        for end in 0..text.len() {
            if let full @ Candidate::Full { .. } = searcher.find(&text[..end], &MARKERS, Names::ANY, false) {
                assert_eq!(full, whole, "{} at {end}", text.escape_ascii());
                return whole;
            }
        }
        assert_eq!(searcher.find(text, &MARKERS, Names::ANY, last), whole, "{}", text.escape_ascii());
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

    /// The rarest byte of the first marker is not its last one. Around it the text is full of beginnings of markers, so that the
    /// search leaps.
    #[test]
    fn a_leap_misses_no_marker() {
        static MARKERS: Markers = Markers::new(const { &[Marker::new("<|s|>assistant"), Marker::new("<tool>")] });
        let near = "<tool<|s|assistant".repeat(200);
        for (marker, index) in [("<|s|>assistant", 0), ("<tool>", 1)] {
            let text = [&near, marker, &near].concat();
            let found = Searcher::default().find(text.as_bytes(), &MARKERS, Names::ANY, true);
            assert_eq!(found, Candidate::Full { index, at: near.len() }, "{marker}");
            // The end of the text may cut it off.
            for length in 1..marker.len() {
                let text = [&near, &marker[..length]].concat();
                let found = Searcher::default().find(text.as_bytes(), &MARKERS, Names::ANY, false);
                assert_eq!(found, Candidate::Partial { at: near.len() }, "{marker} after {length} bytes");
            }
        }
    }

    #[test]
    fn of_two_alike_the_first_counts_if_it_does() {
        static MARKERS: Markers = Markers::new(const { &[Marker::new("<s>").at_end(&[]), Marker::new("<s>")] });
        let find = |text: &[u8], last| Searcher::default().find(text, &MARKERS, Names::ANY, last);
        assert_eq!(find(b"<s>", false), Candidate::Partial { at: 0 });
        assert_eq!(find(b"<s>\n", true), Candidate::Full { index: 0, at: 0 });
        assert_eq!(find(b"<s>\nx", false), Candidate::Full { index: 1, at: 0 });
    }

    #[test]
    fn text_that_spells_a_special_token_confirms_nothing() {
        let texts: std::sync::Arc<[String]> = ["</f>".to_owned()].into();
        for (special, found) in [(true, Candidate::Full { index: 0, at: 1 }), (false, Candidate::None)] {
            for text in ["x</p>\n</f>", "x</p>\n</f> and more text after it"] {
                let mut tokens = crate::engine::special_tokens::SpecialTokens::new(&texts);
                if special {
                    tokens.add(6, 10);
                }
                let mut searcher = Searcher::default();
                searcher.context.tokens = Some(Box::new(tokens));
                assert_eq!(searcher.find(text.as_bytes(), &MARKERS, Names::ANY, false), found, "{text}");
            }
        }
    }

    #[test]
    fn a_marker_counts_only_where_it_is_confirmed() {
        assert_eq!(find(b"x</p> y", false), Candidate::None);
        assert_eq!(find(b"x</p>\n</", false), Candidate::Partial { at: 1 });
        assert_eq!(find(b"x</p>\n</f>", false), Candidate::Full { index: 0, at: 1 });
        assert_eq!(find(b"x</p>\n", true), Candidate::Full { index: 0, at: 1 });
        assert_eq!(find(b"x</p>\n<", true), Candidate::Full { index: 0, at: 1 });
        assert_eq!(find(b"x</p>\n>", true), Candidate::None);
        let spaces = |count: usize| [b"</p>".as_slice(), &b" ".repeat(count)].concat();
        assert_eq!(find(&spaces(CONFIRM_SPACE), true), Candidate::Full { index: 0, at: 0 });
        assert_eq!(find(&spaces(CONFIRM_SPACE + 1), true), Candidate::None);
    }
}
