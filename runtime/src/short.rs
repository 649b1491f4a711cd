//! Short texts of bounded length, kept in place: names and ids are read without allocating.

use std::fmt;

use crate::io::MAX_NAME;

/// A text of at most [`MAX_NAME`] bytes.
#[derive(Clone)]
pub(crate) struct Short {
    bytes: [u8; MAX_NAME],
    len: usize,
}

impl Short {
    pub(crate) const fn new() -> Self {
        Self { bytes: [0; MAX_NAME], len: 0 }
    }

    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// The text; what is no UTF-8 ends it.
    pub(crate) fn as_str(&self) -> &str {
        match std::str::from_utf8(self.as_bytes()) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&self.bytes[..error.valid_up_to()]).unwrap_or_default(),
        }
    }

    /// Makes it this text, as far as there is room. Returns whether all of it fitted.
    pub(crate) fn set(&mut self, bytes: &[u8]) -> bool {
        self.clear();
        self.push(bytes)
    }

    /// Makes it this text; what is no UTF-8 becomes U+FFFD. Returns whether nothing had to.
    pub(crate) fn set_text(&mut self, bytes: &[u8]) -> bool {
        let text = String::from_utf8_lossy(bytes);
        self.set(text.as_bytes());
        matches!(text, std::borrow::Cow::Borrowed(_))
    }

    /// Appends bytes, as far as there is room. Returns whether all of them fitted.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> bool {
        let room = MAX_NAME - self.len;
        let taken = &bytes[..bytes.len().min(room)];
        self.bytes[self.len..self.len + taken.len()].copy_from_slice(taken);
        self.len += taken.len();
        taken.len() == bytes.len()
    }
}

impl Default for Short {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_as_much_as_there_is_room_for() {
        let mut short = Short::new();
        assert!(short.set("né".as_bytes()) && short.as_str() == "né");
        assert!(short.push(&[0xC3]) && short.as_str() == "né");
        assert!(short.set(&[b'x'; MAX_NAME]) && !short.push(b"y"));
        assert_eq!(short.as_bytes(), [b'x'; MAX_NAME]);
        assert!(!short.set(&[b'y'; MAX_NAME + 1]) && !short.is_empty());
    }
}
