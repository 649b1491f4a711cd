//! What a parser is fed with: chunks of a model's output, and the text that is buffered during one push.
//!
//! This module must not know markers or states.

use crate::utf8::whole_characters;

/// A piece of a model's output, cut anywhere: text, or bytes, which may also be cut inside a character.
///
/// Text is faster, for it need not be checked.
///
/// ```
/// use unjinja_runtime::Chunk;
///
/// for chunk in [Chunk::from("né"), Chunk::from("né".as_bytes()), Chunk::from(&String::from("né"))] {
///     assert_eq!(chunk.as_bytes(), [b'n', 0xC3, 0xA9]);
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Chunk<'t> {
    /// Whole characters.
    Text(&'t str),
    /// Any bytes.
    Bytes(&'t [u8]),
}

impl<'t> Chunk<'t> {
    /// Its bytes.
    #[inline]
    pub fn as_bytes(self) -> &'t [u8] {
        match self {
            Chunk::Text(text) => text.as_bytes(),
            Chunk::Bytes(bytes) => bytes,
        }
    }

    /// Splits it at `at`, or at the next boundary of a character if it is text.
    pub(super) fn split(self, at: usize) -> (Self, Self) {
        match self {
            Chunk::Text(text) => {
                let at = (at.min(text.len())..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
                let (head, tail) = text.split_at(at);
                (Chunk::Text(head), Chunk::Text(tail))
            }
            Chunk::Bytes(bytes) => {
                let (head, tail) = bytes.split_at(at.min(bytes.len()));
                (Chunk::Bytes(head), Chunk::Bytes(tail))
            }
        }
    }

    /// Checks bytes: those that are UTF-8 become text.
    pub(super) fn checked(self) -> Self {
        match self {
            Chunk::Bytes(bytes) => std::str::from_utf8(bytes).map_or(self, Chunk::Text),
            text => text,
        }
    }

    /// The text, if it is known to be UTF-8.
    pub(super) fn as_text(self) -> Option<&'t str> {
        match self {
            Chunk::Text(text) => Some(text),
            Chunk::Bytes(_) => None,
        }
    }
}

/// A token of a model's output: its text, or its bytes, because many tokens end inside a character.
///
/// ```
/// use unjinja_runtime::Token;
///
/// assert!(!Token::text("Hello").is_special());
/// assert!(Token::special("<|im_end|>").is_special());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Token<'t> {
    piece: Chunk<'t>,
    is_special: bool,
}

impl<'t> Token<'t> {
    /// An ordinary token.
    pub fn text(piece: impl Into<Chunk<'t>>) -> Self {
        Self { piece: piece.into(), is_special: false }
    }

    /// One of the tokens that [`Options::special_tokens`](crate::Options::special_tokens) names.
    pub fn special(piece: impl Into<Chunk<'t>>) -> Self {
        Self { piece: piece.into(), is_special: true }
    }

    /// Its text or its bytes.
    pub fn piece(self) -> Chunk<'t> {
        self.piece
    }

    /// Whether it is a special token.
    pub fn is_special(self) -> bool {
        self.is_special
    }
}

impl<'t> From<&'t str> for Chunk<'t> {
    #[inline]
    fn from(text: &'t str) -> Self {
        Chunk::Text(text)
    }
}

impl<'t> From<&'t String> for Chunk<'t> {
    #[inline]
    fn from(text: &'t String) -> Self {
        Chunk::Text(text)
    }
}

impl<'t> From<&'t [u8]> for Chunk<'t> {
    #[inline]
    fn from(bytes: &'t [u8]) -> Self {
        Chunk::Bytes(bytes)
    }
}

impl<'t> From<&'t Vec<u8>> for Chunk<'t> {
    #[inline]
    fn from(bytes: &'t Vec<u8>) -> Self {
        Chunk::Bytes(bytes)
    }
}

impl<'t, const N: usize> From<&'t [u8; N]> for Chunk<'t> {
    #[inline]
    fn from(bytes: &'t [u8; N]) -> Self {
        Chunk::Bytes(bytes)
    }
}

/// The buffered text: what waited from earlier pushes, and the new chunk. Offsets everywhere in the engine count from
/// its start.
#[derive(Clone, Copy)]
pub(crate) struct Input<'t> {
    pub(super) bytes: &'t [u8],
    /// The bytes as text, if they are known to be UTF-8.
    pub(super) text: Option<&'t str>,
    /// No more text comes.
    pub(super) last: bool,
}

impl<'t> Input<'t> {
    /// A chunk; `last` says that nothing comes after it.
    pub(super) fn new(chunk: Chunk<'t>, last: bool) -> Self {
        Self { bytes: chunk.as_bytes(), text: chunk.as_text(), last }
    }

    /// The text between two offsets, if it is known to be UTF-8.
    #[inline]
    pub(super) fn slice(&self, from: usize, to: usize) -> Option<&'t str> {
        self.text?.get(from..to)
    }

    /// How many bytes between two offsets are whole characters. The last character may be cut by the end of the chunk.
    #[inline]
    pub(super) fn whole_characters(&self, from: usize, to: usize) -> usize {
        if self.text.is_some_and(|text| text.is_char_boundary(to)) {
            return to - from;
        }
        whole_characters(&self.bytes[from..to])
    }

    /// The offset of the first byte between two offsets that is not UTF-8. A character that is cut at the end may still be.
    pub(super) fn invalid_utf8(&self, from: usize, to: usize) -> Option<usize> {
        if self.text.is_some() {
            return None;
        }
        let bytes = &self.bytes[from..to];
        let error = std::str::from_utf8(&bytes[..whole_characters(bytes)]).err()?;
        Some(from + error.valid_up_to())
    }
}
