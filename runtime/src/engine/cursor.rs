//! The position in the buffered text, and what is read at it: text up to a marker, a marker that must come next, a
//! name.
//!
//! The cursor moves and reports what it found. It must not send events and must not know calls.

use super::input::Input;
use super::layout::{PendingLayout, trailing_layout, trim_before};
use super::name::NameProgress;
use super::next_name::Names;
use super::search::{Candidate, Searcher};
use crate::inline_string::InlineString;
use crate::limits::{MAX_NAME, MAX_SPACE};
use crate::program::{Marker, Markers};

/// What a primitive of [`Io`](crate::abi::Io) found in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The marker with this index.
    Marker(usize),
    /// A value that ends by itself is complete.
    Done,
    /// Something that is not one of the markers.
    Other,
    /// More text is needed.
    Wait,
}

/// The position in the buffered text. Offsets count from the start of that text.
#[derive(Default)]
pub(crate) struct Cursor {
    /// Everything before it is read.
    pub(super) pos: usize,
    /// How far the text after it was searched.
    pub(super) search: Searcher,
    /// Where the text before the last marker ended.
    pub(super) text_end: usize,
    /// Where the core of the last marker began.
    pub(super) marker_at: usize,
    pub(super) marker_end: usize,
    /// Where the text before the end of the turn ended, if the last marker was that end.
    pub(super) turn_end: Option<usize>,
    /// Where a marker begins that the end of the output cuts off.
    pub(super) cut: Option<usize>,
    /// White space that still belongs to the last marker.
    pub(super) layout: PendingLayout,
    name: NameProgress,
    pub(super) capture: InlineString,
}

/// A stretch of plain text that ends at a marker, or with the buffered text.
pub(super) struct Stretch {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) found: Found,
    /// All buffered text was read, but for white space that may belong to a marker, or the first byte of one.
    pub(super) all_read: bool,
    /// Where the text ends; after `to` if the end of the output cuts off a marker, which begins there.
    pub(super) end: usize,
}

/// The fewest characters of a marker that show in text that it is one.
const LEAST_OF_MARKER: usize = 4;

/// The markers of which `rest` is the beginning: a tag's, with at least `least` characters.
fn cut_markers<'m>(rest: &'m [u8], markers: &'m Markers, least: usize) -> impl Iterator<Item = &'m Marker> {
    let characters = || rest.iter().filter(|byte| !matches!(byte, 0x80..=0xbf)).take(least).count();
    let begins_tag = matches!(rest.first(), Some(b'<' | b'[' | b']')) && characters() == least;
    let is_cut = move |marker: &&Marker| marker.core.len() > rest.len() && marker.core.as_bytes().starts_with(rest);
    markers.list().iter().filter(move |_| begins_tag).filter(is_cut)
}

impl Cursor {
    /// The first `count` bytes of the buffered text are gone.
    pub(super) fn rebase(&mut self, count: usize) {
        self.pos -= count;
        self.search.rebase(count);
        self.text_end = self.text_end.saturating_sub(count);
        self.marker_at = self.marker_at.saturating_sub(count);
        self.marker_end = self.marker_end.saturating_sub(count);
        self.turn_end = self.turn_end.map(|at| at.saturating_sub(count));
    }

    /// How far the text was looked at.
    pub(super) fn looked_at(&self) -> usize {
        self.search.from.max(self.pos + self.name.read())
    }

    /// Goes back to `pos`, to read the text there in another way. Markers are searched for from `search_from` on.
    pub(super) fn go_back(&mut self, pos: usize, search_from: usize) {
        self.search.restart(search_from);
        self.pos = pos;
        self.name = NameProgress::default();
        self.capture.clear();
        self.layout.clear();
    }

    /// Takes white space that belongs to the last marker. Returns how many bytes were taken.
    #[inline(never)]
    pub(super) fn take_layout(&mut self, input: &Input<'_>) -> usize {
        let taken = self.layout.take(&input.bytes[self.pos..]);
        self.search.work.add(taken);
        self.pos += taken;
        self.search.restart(self.pos);
        if input.last {
            self.layout.clear();
        }
        taken
    }

    /// Takes text up to one of `markers`, and the marker.
    pub(super) fn until(&mut self, input: &Input<'_>, markers: &Markers, names: Names<'_>) -> Stretch {
        let from = self.pos;
        self.search.from = self.search.from.max(from);
        self.search.context.begin = from;
        let (at, found) = match self.search.find(input.bytes, markers, names, input.last) {
            Candidate::Full { index, at } => (at, Some(index)),
            Candidate::Partial { at } => (at, None),
            Candidate::None => (input.bytes.len(), None),
        };
        if let Some(index) = found {
            let marker = &markers.list()[index];
            let to = from + trim_before(&input.bytes[from..at], &marker.before);
            self.take(marker, at, to);
            return Stretch { from, to, found: Found::Marker(index), all_read: false, end: to };
        }
        let layout = if input.last { 0 } else { trailing_layout(&input.bytes[from..at], markers) };
        let to = if input.last { input.bytes.len() } else { from + input.whole_characters(from, at - layout) };
        self.pos = to;
        // The first byte of a marker at the very end may wait as white space does.
        let first = usize::from(at + 1 == input.bytes.len());
        let all_read = to + layout + first == input.bytes.len();
        if all_read {
            self.search.restart(at);
        }
        let cut = if input.last { self.cut_marker(input.bytes, from, markers) } else { to };
        self.cut = (cut < to).then_some(cut);
        Stretch { from, to: cut, found: Found::Wait, all_read, end: to }
    }

    /// Where a marker begins that the end of the output cuts off, with the white space that belongs to it; the end if there is
    /// none. Only the beginning of a tag shows that it is one.
    fn cut_marker(&self, bytes: &[u8], from: usize, markers: &Markers) -> usize {
        let longest = markers.list().iter().map(|marker| marker.core.len()).max().unwrap_or_default();
        let start = from.max(bytes.len().saturating_sub(longest));
        let cut = |at: &usize| {
            let (rest, context) = (&bytes[*at..], &self.search.context);
            let fits = |marker: &&Marker| context.fits(marker, bytes, *at) && context.has_tokens(rest, *at);
            cut_markers(rest, markers, LEAST_OF_MARKER).filter(fits).map(|marker| &*marker.before).collect::<Vec<_>>()
        };
        let tails = (start..bytes.len()).filter(|at| matches!(bytes[*at], b'<' | b'[' | b']'));
        let Some((at, layouts)) = tails.map(|at| (at, cut(&at))).find(|(_, layouts)| !layouts.is_empty()) else {
            return bytes.len();
        };
        let text = &bytes[from..at];
        from + layouts.into_iter().map(|layout| trim_before(text, layout)).min().unwrap_or(text.len())
    }

    /// Whether this is the beginning of a marker, whatever that begins with. A name comes before it, so it is no prose.
    pub(super) fn is_cut(&self, rest: &[u8], markers: &Markers) -> bool {
        let rest = rest.trim_ascii_start();
        markers.list().iter().any(|marker| marker.core.len() > rest.len() && marker.core.as_bytes().starts_with(rest))
    }

    /// Whether the output ends here with the beginning of one of `markers`, which must come next, and white space before it. A
    /// marker comes before it, so one byte is enough.
    pub(super) fn ends_in_marker(&self, bytes: &[u8], markers: &Markers) -> bool {
        let rest = bytes[self.pos..].trim_ascii_start();
        let at = bytes.len() - rest.len();
        cut_markers(rest, markers, 1).next().is_some() && self.search.context.has_tokens(rest, at)
    }

    /// Finds out up to where no text comes before a marker, but white space.
    #[inline]
    pub(super) fn find_lead(&mut self, input: &Input<'_>) {
        let Searcher { context, work, .. } = &mut self.search;
        if context.in_text {
            context.lead_end = 0;
            return;
        }
        // What an earlier push showed of it.
        let known = context.lead_end.saturating_sub(1);
        let from = if (context.lead_from..=known).contains(&self.pos) { known } else { self.pos };
        let space = input.bytes[from..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        work.add(space);
        context.lead_from = self.pos;
        context.lead_end = from + space + 1;
    }

    /// Text was read that is no marker.
    #[inline]
    pub(super) fn read_text(&mut self, text: &[u8]) {
        let context = &mut self.search.context;
        context.in_text = context.in_text || !text.trim_ascii_start().is_empty();
    }

    /// Takes one of `markers`, which must come next. White space may come before it; with `exact` only its own.
    pub(super) fn expect(&mut self, input: &Input<'_>, markers: &Markers, exact: bool) -> Found {
        let pos = self.pos;
        let other = |cursor: &mut Self| {
            cursor.search.restart(pos);
            Found::Other
        };
        // Everything before it was looked at in an earlier push, and is white space.
        let mut at = self.search.from.max(pos);
        if !self.search.pending() {
            let from = at;
            while at - pos <= MAX_SPACE && input.bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
                at += 1;
            }
            self.search.work.add(at - from);
            if at - pos > MAX_SPACE || (at == input.bytes.len() && input.last) {
                return other(self);
            }
            self.search.from = at;
            if at == input.bytes.len() {
                return Found::Wait;
            }
        }
        match self.search.compare(input.bytes, at, markers, Names::ANY, input.last) {
            Candidate::Full { index, .. } => {
                let marker = &markers.list()[index];
                let end = trim_before(&input.bytes[pos..at], &marker.before);
                if exact && end > 0 {
                    return other(self);
                }
                self.take(marker, at, pos + end);
                Found::Marker(index)
            }
            Candidate::Partial { .. } => Found::Wait,
            Candidate::None => other(self),
        }
    }

    /// Takes a name up to one of `markers`, and the marker; [`Found::Other`] if the text cannot be a name. The name is kept in
    /// `capture`; it is also returned if it is known to be UTF-8.
    pub(super) fn name<'t>(
        &mut self,
        input: &Input<'t>,
        markers: &Markers,
        names: Names<'_>,
        in_tag: bool,
    ) -> (Found, Option<&'t str>) {
        let start = self.pos;
        loop {
            let at = start + self.name.read();
            let Some(&byte) = input.bytes.get(at) else { break };
            self.search.work.add(1);
            // White space before a name is no marker.
            let leading = byte.is_ascii_whitespace() && self.name.is_blank();
            if markers.begins.firsts.has(byte) && markers.may_begin(input.bytes, at) && !leading {
                match self.search.compare(input.bytes, at, markers, Names::ANY, input.last) {
                    Candidate::Full { index, .. } => return self.end_name(input, start, at, markers, index),
                    Candidate::Partial { .. } => return (Found::Wait, None),
                    // The end of the output cuts off what comes after the name. White space alone may still end it.
                    Candidate::None
                        if input.last
                            && !input.bytes[at..].trim_ascii().is_empty()
                            && self.is_cut(&input.bytes[at..], markers) =>
                    {
                        return (Found::Wait, None);
                    }
                    Candidate::None => {}
                }
            }
            if let Some(mismatch) = self.name.take(byte, in_tag) {
                if self.name.read() < MAX_NAME && names.begins_argument(&input.bytes[start..=at]) {
                    self.name.accept();
                    continue;
                }
                let mismatch = start + mismatch;
                // If the text came in pieces, bytes that are not UTF-8 would have shown at the end of theirs.
                let invalid = input.invalid_utf8(start, at).unwrap_or(mismatch);
                return (self.no_name(invalid.min(mismatch)), None);
            }
        }
        match input.invalid_utf8(start, input.bytes.len()) {
            Some(mismatch) => (self.no_name(mismatch), None),
            None => (Found::Wait, None),
        }
    }

    /// A marker begins at `at`, after what may be a name.
    fn end_name<'t>(
        &mut self,
        input: &Input<'t>,
        start: usize,
        at: usize,
        markers: &Markers,
        index: usize,
    ) -> (Found, Option<&'t str>) {
        if let Some(mismatch) = input.invalid_utf8(start, at) {
            return (self.no_name(mismatch), None);
        }
        let name = input.bytes[start..at].trim_ascii();
        let captured = match input.text {
            Some(text) => text.get(start..at).map(str::trim_ascii),
            None => std::str::from_utf8(name).ok(),
        };
        if name.is_empty() || captured.is_none() {
            return (self.no_name(at), None);
        }
        self.capture.set(name);
        self.name = NameProgress::default();
        self.take(&markers.list()[index], at, at);
        (Found::Marker(index), captured)
    }

    /// The text is no name, as the byte at `at` shows.
    fn no_name(&mut self, at: usize) -> Found {
        self.name = NameProgress::default();
        self.search.restart(at);
        Found::Other
    }

    /// Takes a marker whose core begins at `at`; `text_end` is where the text before its layout ends.
    pub(super) fn take(&mut self, marker: &Marker, at: usize, text_end: usize) {
        self.text_end = text_end;
        self.marker_at = at;
        self.search.context.in_text = false;
        self.turn_end = marker.confirm.is_end().then(|| self.turn_end.unwrap_or(text_end));
        self.pos = at;
        self.layout.clear();
        if marker.take {
            self.pos += marker.core.len();
            self.layout.set(&marker.after);
        }
        self.marker_end = self.pos;
        self.search.restart(self.pos);
    }
}
