//! Names of functions and arguments, and ids: short, without white space inside, and never held longer than they can
//! still be one.

use super::{Io, MAX_NAME};
use crate::machine::Found;
use crate::markers::Markers;
use crate::search::{self, Candidate};

/// How far the text that may be a name was looked at. Offsets count from its start.
#[derive(Clone, Debug, Default)]
pub(super) struct SoFar {
    read: usize,
    /// Where the name begins, after white space.
    begin: Option<usize>,
    /// Where the white space after it begins.
    end: Option<usize>,
}

impl SoFar {
    /// Looks at the rest of `bytes`, which may become a name with white space around it. The offset of the byte that
    /// shows that it can't.
    fn go_on(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, &byte) in bytes.iter().enumerate().take(MAX_NAME).skip(self.read) {
            if byte.is_ascii_whitespace() {
                if self.begin.is_some() {
                    self.end.get_or_insert(at);
                }
            } else if byte.is_ascii_control() || matches!(byte, b'<' | b'>' | b'"' | b'{' | b'}') {
                return Some(at);
            } else if let Some(end) = self.end {
                return Some(end);
            } else {
                self.begin.get_or_insert(at);
            }
        }
        self.read = self.read.max(bytes.len());
        (bytes.len() > MAX_NAME).then_some(MAX_NAME)
    }
}

impl Io<'_> {
    /// A function's name, an argument's name or an id, up to one of `markers`. `Found::Other` where it cannot be one.
    pub fn name(&mut self, markers: &Markers<'_>) -> Found {
        if !self.skip_layout() {
            return Found::Wait;
        }
        let start = self.memory.pos;
        self.memory.look.from = self.memory.look.from.max(start);
        let (at, found) = match self.memory.look.find(self.text, markers, self.last) {
            Candidate::Full { index, at } => (at, Some(index)),
            Candidate::Partial { at } => (at, None),
            Candidate::None => (self.text.len(), None),
        };
        let bytes = &self.text[start..at];
        self.memory.look.work.add(bytes.len().saturating_sub(self.memory.name_so_far.read));
        let name = bytes.trim_ascii();
        let invalid = match std::str::from_utf8(&name[..search::whole_characters(name)]) {
            Err(error) if self.valid.is_none() => Some(error.valid_up_to()),
            _ => None,
        };
        let odd = self.memory.name_so_far.go_on(bytes);
        if let Some(odd) = odd.into_iter().chain(invalid).min() {
            return self.no_name(start + odd);
        }
        let Some(index) = found else { return Found::Wait };
        if name.is_empty() || std::str::from_utf8(name).is_err() {
            return self.no_name(at);
        }
        self.memory.capture.set(name);
        self.memory.name_so_far = SoFar::default();
        self.take(&markers.list[index], at, at);
        Found::Marker(index)
    }

    /// It is none, as the text at `at` shows.
    fn no_name(&mut self, at: usize) -> Found {
        self.memory.name_so_far = SoFar::default();
        self.memory.look.restart(at);
        Found::Other
    }
}
