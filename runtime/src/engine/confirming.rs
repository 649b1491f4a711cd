//! What follows a marker, byte by byte.

use super::next_name::NameProbe;
use super::special_tokens::SpecialTokens;
use super::work::Work;
use crate::limits::CONFIRM_SPACE;
use crate::program::{InText, MAX_MARKERS, Marker, Text};

/// What decides, besides the text of a marker, whether it may be somewhere.
#[derive(Clone, Debug, Default)]
pub(super) struct MarkerContext {
    /// Where the text begins that is searched. Only a marker after a line of it is on a line of its own.
    pub(super) begin: usize,
    /// Text other than white space was read before it, and no marker since.
    pub(super) in_text: bool,
    /// Before this offset no text comes before a marker, but white space. It holds for plain text.
    pub(super) lead_end: usize,
    /// From this offset to the one before `lead_end` there is white space.
    pub(super) lead_from: usize,
    pub(super) tokens: Option<Box<SpecialTokens>>,
}

impl MarkerContext {
    /// Whether a marker whose core is at `at` may be there.
    #[inline]
    pub(super) fn allows(&self, marker: &Marker, text: &[u8], at: usize) -> bool {
        self.fits(marker, text, at) && self.has_tokens(marker.core.as_bytes(), at)
    }

    /// The same before all of the core is known.
    #[inline]
    pub(super) fn fits(&self, marker: &Marker, text: &[u8], at: usize) -> bool {
        marker.may_be_at(text, self.begin, at, self.lead_end)
    }

    /// Whether a marker is text if it is mentioned here.
    #[inline]
    pub(super) fn asks_for_mention(&self, marker: &Marker, at: usize) -> bool {
        marker.in_text == InText::Unmentioned && at >= self.lead_end
    }

    /// Whether every special token in this core, which is at `at`, arrived as one.
    #[inline]
    pub(super) fn has_tokens(&self, core: &[u8], at: usize) -> bool {
        self.tokens.as_ref().is_none_or(|tokens| tokens.allow(core, at))
    }
}

/// The bits of the first `count` members of a list.
pub(super) fn all(count: usize) -> u64 {
    if count >= MAX_MARKERS { u64::MAX } else { (1 << count) - 1 }
}

pub(super) fn members(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let next = (set != 0).then(|| set.trailing_zeros() as usize);
        set &= set.wrapping_sub(1);
        next
    })
}

/// What follows a marker, as far as it was compared with what confirms it.
#[derive(Clone, Debug)]
pub(super) struct Confirming {
    pub(super) marker: usize,
    pub(super) space: usize,
    /// How many bytes after the white space were compared.
    pub(super) read: usize,
    /// The cores that begin with those bytes.
    alive: u64,
    /// None of the cores follows.
    refused: bool,
    /// A name that may follow.
    pub(super) name: NameProbe,
}

/// What confirms a marker.
pub(super) struct Wanted<'m> {
    pub(super) cores: &'m [Text],
    pub(super) context: &'m MarkerContext,
    /// Where the text after the marker begins.
    pub(super) from: usize,
}

impl Confirming {
    pub(super) fn new(marker: usize, cores: usize) -> Self {
        Self { marker, space: 0, read: 0, alive: all(cores), refused: false, name: NameProbe::default() }
    }

    /// Whether one of the cores follows that counts in its place, or the end of the text. With `exact`, no white space
    /// may come before it.
    pub(super) fn follows(
        &mut self,
        after: &[u8],
        wanted: &Wanted<'_>,
        exact: bool,
        last: bool,
        work: &mut Work,
    ) -> Option<bool> {
        while !self.refused {
            let Some(&byte) = after.get(self.space + self.read) else {
                // Where the text is over, it may cut off one of the cores, even before the first byte of it.
                let cut = &after[self.space..self.space + self.read];
                return last.then(|| wanted.context.has_tokens(cut, wanted.from + self.space));
            };
            work.add(1);
            if self.read == 0 && byte.is_ascii_whitespace() && !exact {
                self.space += 1;
                self.refused = self.space > CONFIRM_SPACE;
                continue;
            }
            self.read += 1;
            let mut alive = 0;
            for core in members(self.alive) {
                let bytes = wanted.cores[core].as_bytes();
                if bytes.get(self.read - 1) != Some(&byte) {
                    continue;
                }
                match bytes.len() == self.read {
                    true if wanted.context.has_tokens(bytes, wanted.from + self.space) => return Some(true),
                    true => {}
                    false => alive |= 1 << core,
                }
            }
            self.alive = alive;
            self.refused = alive == 0;
        }
        Some(false)
    }
}
