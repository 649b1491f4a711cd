//! A string of bounded length that is kept in place, for names and ids: nothing is allocated unless it is unusually
//! long.

use std::fmt;

use crate::limits::MAX_NAME;

/// A text of at most [`MAX_NAME`] bytes.
#[derive(Clone)]
pub(crate) struct InlineString {
    /// Text of usual length. It is kept small, because each parser has a few of these and is made new for each turn.
    bytes: [u8; Self::IN_PLACE],
    len: usize,
    longer: Vec<u8>,
}

impl InlineString {
    /// The longest text that is kept in place, in bytes.
    pub(crate) const IN_PLACE: usize = 48;

    pub(crate) const fn new() -> Self {
        Self { bytes: [0; Self::IN_PLACE], len: 0, longer: Vec::new() }
    }

    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&self.longer)
    }

    /// The text up to the first byte that is not UTF-8.
    pub(crate) fn as_str(&self) -> &str {
        let bytes = self.as_bytes();
        match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
        }
    }

    /// Sets the text. What exceeds the room is cut off; returns whether all of it fitted.
    pub(crate) fn set(&mut self, bytes: &[u8]) -> bool {
        self.clear();
        self.push(bytes)
    }

    /// Sets the text. Bytes that are not UTF-8 become U+FFFD; returns whether there were none.
    pub(crate) fn set_text(&mut self, bytes: &[u8]) -> bool {
        let valid = std::str::from_utf8(bytes).is_ok();
        if valid {
            self.set(bytes);
        } else {
            self.set(String::from_utf8_lossy(bytes).as_bytes());
        }
        valid
    }

    /// Appends bytes, as far as there is room. Returns whether all of them fitted.
    #[inline(never)]
    pub(crate) fn push(&mut self, bytes: &[u8]) -> bool {
        let taken = &bytes[..bytes.len().min(MAX_NAME - self.len)];
        let end = self.len + taken.len();
        match self.bytes.get_mut(self.len..end) {
            Some(room) => room.copy_from_slice(taken),
            None => self.push_longer(taken),
        }
        self.len = end;
        taken.len() == bytes.len()
    }

    #[cold]
    fn push_longer(&mut self, bytes: &[u8]) {
        if self.len <= Self::IN_PLACE {
            self.longer.clear();
            self.longer.extend_from_slice(&self.bytes[..self.len]);
        }
        self.longer.extend_from_slice(bytes);
    }
}

impl Default for InlineString {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for InlineString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_as_much_as_there_is_room_for() {
        let mut short = InlineString::new();
        assert!(short.set("né".as_bytes()) && short.as_str() == "né");
        assert!(short.push(&[0xC3]) && short.as_str() == "né");
        assert!(short.set(&[b'x'; MAX_NAME]) && !short.push(b"y"));
        assert_eq!(short.as_bytes(), [b'x'; MAX_NAME]);
        assert!(!short.set(&[b'y'; MAX_NAME + 1]) && !short.is_empty());
        // At every length, however it comes.
        let text: Vec<u8> = (0..MAX_NAME).map(|at| b'a' + (at % 26) as u8).collect();
        for step in [1, 5, 47, 48, 49, 200] {
            short.clear();
            let mut len = 0;
            for piece in text.chunks(step) {
                assert!(short.push(piece));
                len += piece.len();
                assert_eq!(short.as_bytes(), &text[..len]);
            }
        }
    }
}
