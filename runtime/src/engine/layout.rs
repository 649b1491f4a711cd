//! Layout: the white space that a template writes on either side of a marker. It is syntax where it is present, and is not
//! required.

use crate::program::Markers;

/// The length of `text` without the white space at its end that belongs to a marker after it: as much of `layout` as is
/// there.
pub(super) fn trim_before(text: &[u8], layout: &str) -> usize {
    let mut end = text.len();
    for byte in layout.bytes().rev() {
        if end > 0 && text[end - 1] == byte {
            end -= 1;
        }
    }
    end
}

/// How many bytes at the end of `text` could still belong to a marker after it.
pub(super) fn trailing_layout(text: &[u8], markers: &Markers) -> usize {
    text.iter().rev().take(markers.layout_length).take_while(|byte| markers.layout.has(**byte)).count()
}

/// The white space that still belongs to the marker before it, until other text comes.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingLayout {
    /// Usual lengths need no memory of their own.
    bytes: [u8; Self::IN_PLACE],
    longer: Vec<u8>,
    from: usize,
    len: usize,
    /// Any white space belongs to it.
    any: bool,
}

impl PendingLayout {
    const IN_PLACE: usize = 24;

    pub(super) fn is_empty(&self) -> bool {
        self.from == self.len && !self.any
    }

    pub(super) fn clear(&mut self) {
        self.from = 0;
        self.len = 0;
        self.any = false;
    }

    /// Any white space belongs to the marker.
    pub(super) fn set_any(&mut self) {
        self.clear();
        self.any = true;
    }

    #[inline]
    pub(super) fn set(&mut self, layout: &str) {
        self.clear();
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

    /// Takes the white space at the start of `text` that belongs to the marker. Returns how many bytes were taken. Nothing is
    /// pending any more as soon as another byte was seen.
    pub(super) fn take(&mut self, text: &[u8]) -> usize {
        let mut taken = 0;
        if self.any {
            taken = text.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            self.any = taken == text.len();
            return taken;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_is_taken_as_far_as_it_is_there() {
        assert_eq!(trim_before(b"a\n\n", "\n"), 2);
        assert_eq!(trim_before(b"a\n", "\n\n"), 1);
        assert_eq!(trim_before(b"a\n", "\n  "), 1);
        assert_eq!(trim_before(b"a ", "\n"), 2);
        for long in [0, 40] {
            let mut pending = PendingLayout::default();
            pending.set(&["\n\n", &" ".repeat(long)].concat());
            assert_eq!(pending.take(b"\n"), 1);
            assert!(!pending.is_empty());
            assert_eq!(pending.take(b"\n\n"), 1);
            assert!(pending.is_empty());
        }
        let mut pending = PendingLayout::default();
        pending.set_any();
        assert_eq!(pending.take(b"\n \n"), 3);
        assert_eq!((pending.take(b" a\n"), pending.is_empty()), (1, true));
    }
}
