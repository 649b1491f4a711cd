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
    /// The name has begun, after white space.
    begun: bool,
    /// Where the white space after it begins.
    end: Option<usize>,
}

impl SoFar {
    /// How many bytes of it were looked at.
    pub(super) fn read(&self) -> usize {
        self.read
    }

    /// Takes the next byte. Where the text stops fitting, if this shows that it is no name.
    fn take(&mut self, byte: u8) -> Option<usize> {
        let at = self.read;
        if byte.is_ascii_whitespace() {
            if self.begun {
                self.end.get_or_insert(at);
            }
        } else if byte.is_ascii_control() || matches!(byte, b'<' | b'>' | b'"' | b'{' | b'}') {
            return Some(at);
        } else if self.end.is_some() {
            return self.end;
        } else {
            self.begun = true;
        }
        self.read += 1;
        (self.read > MAX_NAME).then_some(MAX_NAME)
    }
}

impl Io<'_> {
    /// A function's name, an argument's name or an id, up to one of `markers`. `Found::Other` where it cannot be one.
    pub fn name(&mut self, markers: &Markers) -> Found {
        if !self.skip_layout() {
            return Found::Wait;
        }
        let start = self.memory.pos;
        loop {
            let memory = &mut *self.memory;
            let at = start + memory.name_so_far.read;
            let Some(&byte) = self.text.get(at) else { break };
            memory.look.work.add(1);
            if markers.begins.firsts.has(byte) && markers.may_begin(self.text, at) {
                match memory.look.compare(self.text, at, markers, self.last) {
                    Candidate::Full { index, .. } => return self.named(start, at, markers, index),
                    Candidate::Partial { .. } => return Found::Wait,
                    Candidate::None => {}
                }
            }
            if let Some(misfit) = memory.name_so_far.take(byte) {
                let misfit = start + misfit;
                // In pieces, bytes that are no text would have shown at the end of theirs.
                let odd = self.odd_bytes(start, at).unwrap_or(misfit);
                return self.no_name(odd.min(misfit));
            }
        }
        match self.odd_bytes(start, self.text.len()) {
            Some(misfit) => self.no_name(misfit),
            None => Found::Wait,
        }
    }

    /// A marker stands at `at`, behind what may be a name.
    fn named(&mut self, start: usize, at: usize, markers: &Markers, index: usize) -> Found {
        if let Some(misfit) = self.odd_bytes(start, at) {
            return self.no_name(misfit);
        }
        let name = self.text[start..at].trim_ascii();
        let captured = match self.valid {
            Some(text) => text.get(start..at).map(str::trim_ascii),
            None => std::str::from_utf8(name).ok(),
        };
        if name.is_empty() || captured.is_none() {
            return self.no_name(at);
        }
        self.captured = captured;
        self.memory.capture.set(name);
        self.memory.name_so_far = SoFar::default();
        self.take(&markers.list()[index], at, at);
        Found::Marker(index)
    }

    /// Where bytes stand that are no UTF-8.
    fn odd_bytes(&self, start: usize, end: usize) -> Option<usize> {
        let bytes = &self.text[start..end];
        let odd = |bytes: &[u8]| std::str::from_utf8(&bytes[..search::whole_characters(bytes)]).err();
        match self.valid {
            Some(_) => None,
            None => odd(bytes).map(|error| start + error.valid_up_to()),
        }
    }

    /// It is none, as the text at `at` shows.
    fn no_name(&mut self, at: usize) -> Found {
        self.memory.name_so_far = SoFar::default();
        self.memory.look.restart(at);
        Found::Other
    }
}
