//! UTF-8 that arrives in pieces: a piece may end inside a character.

use std::borrow::Cow;

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

/// Turns bytes that are cut anywhere, also inside a character, into text.
///
/// Invalid sequences become U+FFFD, one for each, just as [`String::from_utf8_lossy`] does for the whole.
#[derive(Debug, Clone, Default)]
pub(crate) struct Utf8Carry {
    bytes: [u8; 4],
    len: u8,
}

impl Utf8Carry {
    /// Nothing carried yet.
    pub(crate) const fn new() -> Self {
        Self { bytes: [0; 4], len: 0 }
    }

    /// Whether no unfinished character waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Gives the text of the bytes; an unfinished character at their end waits for the next call. Returns whether
    /// an invalid sequence was met.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], on: &mut dyn FnMut(&str)) -> bool {
        let mut invalid = false;
        while self.len > 0 {
            let Some((&byte, rest)) = bytes.split_first() else { return invalid };
            let len = usize::from(self.len);
            self.bytes[len] = byte;
            match std::str::from_utf8(&self.bytes[..=len]) {
                Ok(char) => {
                    on(char);
                    self.len = 0;
                    bytes = rest;
                }
                Err(error) if error.error_len().is_none() => {
                    self.len += 1;
                    bytes = rest;
                }
                // What was carried does not continue validly; the current byte is looked at afresh.
                Err(_) => {
                    on("\u{fffd}");
                    invalid = true;
                    self.len = 0;
                }
            }
        }
        loop {
            let error = match std::str::from_utf8(bytes) {
                Ok("") => return invalid,
                Ok(text) => {
                    on(text);
                    return invalid;
                }
                Err(error) => error,
            };
            let (valid, rest) = bytes.split_at(error.valid_up_to());
            if let Ok(text) = std::str::from_utf8(valid)
                && !text.is_empty()
            {
                on(text);
            }
            let Some(bad) = error.error_len() else {
                self.bytes[..rest.len()].copy_from_slice(rest);
                self.len = rest.len() as u8;
                return invalid;
            };
            on("\u{fffd}");
            invalid = true;
            bytes = &rest[bad..];
        }
    }

    /// The input ends here: an unfinished character becomes U+FFFD. Returns whether there was one.
    pub(crate) fn finish(&mut self, on: &mut dyn FnMut(&str)) -> bool {
        let unfinished = std::mem::take(&mut self.len) > 0;
        if unfinished {
            on("\u{fffd}");
        }
        unfinished
    }
}

/// The same as `String::from_utf8_lossy`, and faster if the bytes are UTF-8.
#[inline]
pub(crate) fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readers::json::testkit::Random;

    #[test]
    fn a_character_is_never_cut() {
        assert_eq!(whole_characters("aé".as_bytes()), 3);
        assert_eq!(whole_characters(&"aé".as_bytes()[..2]), 1);
        assert_eq!(whole_characters(&"a😀".as_bytes()[..4]), 1);
        assert_eq!(whole_characters(b"a\xFF"), 2);
        assert_eq!(whole_characters(b"a\x80"), 2);
    }

    #[test]
    fn bytes_become_text_at_every_cut_as_if_whole() {
        let mut random = Random::new(31);
        for _ in 0..30_000 {
            let bytes: Vec<u8> = (0..random.below(20))
                .map(|_| b"a\x80\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xff\xed\xa0\xf4\x90"[random.below(16)])
                .collect();
            let expected = String::from_utf8_lossy(&bytes);
            for step in 1..5 {
                let (mut carry, mut text) = (Utf8Carry::new(), String::new());
                let mut invalid = false;
                for piece in bytes.chunks(step) {
                    invalid |= carry.feed(piece, &mut |piece| text.push_str(piece));
                }
                invalid |= carry.finish(&mut |piece| text.push_str(piece));
                assert_eq!(text, expected, "{bytes:x?} by {step}");
                assert_eq!(invalid, std::str::from_utf8(&bytes).is_err());
            }
        }
    }

    #[test]
    fn what_is_no_text_becomes_what_the_standard_library_makes_of_it() {
        let mut random = Random::new(37);
        for _ in 0..2_000 {
            let bytes = random.bytes(40);
            assert_eq!(lossy(&bytes), String::from_utf8_lossy(&bytes));
        }
        assert!(matches!(lossy("é".as_bytes()), Cow::Borrowed("é")));
    }
}
