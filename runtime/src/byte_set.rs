//! Sets of bytes, as bits: which bytes a marker may begin with, which bytes end a stretch of text.
//!
//! This module must not know what the bytes mean.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteSet([u64; 4]);

impl ByteSet {
    pub(crate) const EMPTY: Self = Self([0; 4]);

    pub(crate) const ALL: Self = Self([u64::MAX; 4]);

    /// The bytes that JSON strings treat specially: quotes, backslashes and control characters.
    pub(crate) const JSON_TEXT: Self = Self([0xffff_ffff, 0, 0, 0]).with(b'"').with(b'\\');

    /// The bytes of names in text: letters, digits, `_`, `-` and `.`.
    pub(crate) const NAME: Self = Self([0x03ff_6000_0000_0000, 0x07ff_fffe_87ff_fffe, u64::MAX, u64::MAX]);

    pub(crate) const fn with(mut self, byte: u8) -> Self {
        self.0[(byte >> 6) as usize] |= 1 << (byte & 63);
        self
    }

    pub(crate) const fn of(bytes: &[u8]) -> Self {
        let mut set = Self::EMPTY;
        let mut at = 0;
        while at < bytes.len() {
            set = set.with(bytes[at]);
            at += 1;
        }
        set
    }

    pub(crate) const fn is_ascii(&self) -> bool {
        self.0[2] == 0 && self.0[3] == 0
    }

    pub(crate) const fn union(self, other: Self) -> Self {
        let (a, b) = (self.0, other.0);
        Self([a[0] | b[0], a[1] | b[1], a[2] | b[2], a[3] | b[3]])
    }

    const fn without(self, other: Self) -> Self {
        let (a, b) = (self.0, other.0);
        Self([a[0] & !b[0], a[1] & !b[1], a[2] & !b[2], a[3] & !b[3]])
    }

    const fn count(self) -> u32 {
        self.0[0].count_ones() + self.0[1].count_ones() + self.0[2].count_ones() + self.0[3].count_ones()
    }

    fn first(self) -> Option<u8> {
        let (at, word) = self.0.iter().enumerate().find(|(_, word)| **word != 0)?;
        Some((64 * at) as u8 + word.trailing_zeros() as u8)
    }

    fn last(self) -> Option<u8> {
        let (at, word) = self.0.iter().enumerate().rfind(|(_, word)| **word != 0)?;
        Some((64 * at) as u8 + 63 - word.leading_zeros() as u8)
    }

    #[inline]
    pub(crate) const fn has(&self, byte: u8) -> bool {
        self.0[(byte >> 6) as usize] >> (byte & 63) & 1 != 0
    }
}

/// A set of bytes that short texts are searched for, as many bytes at a time as a word has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Needles {
    set: ByteSet,
    /// The bytes of the set that JSON strings contain unchanged, each in all places of a word; one byte may be there twice.
    words: [u64; 2],
    /// What the set is made of.
    kind: SetKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SetKind {
    /// One or two bytes.
    Few,
    /// One or two bytes, and those that JSON strings treat specially.
    FewAndJson,
    /// Anything else. It is not searched for by words.
    Other,
}

impl Needles {
    pub(crate) const NONE: Self = Self { set: ByteSet::EMPTY, words: [0; 2], kind: SetKind::Other };

    #[inline]
    pub(crate) fn of(set: ByteSet) -> Self {
        let json = set.union(ByteSet::JSON_TEXT) == set;
        let few = if json { set.without(ByteSet::JSON_TEXT) } else { set };
        let kind = match (few.count(), json) {
            (1 | 2, false) => SetKind::Few,
            (0..=2, true) => SetKind::FewAndJson,
            _ => SetKind::Other,
        };
        let [first, last] = [few.first().unwrap_or(b'"'), few.last().unwrap_or(b'"')];
        Self { set, words: [first, last].map(|byte| u64::from_le_bytes([byte; 8])), kind }
    }

    #[inline]
    pub(crate) fn set(&self) -> ByteSet {
        self.set
    }

    #[inline]
    pub(crate) fn has(&self, byte: u8) -> bool {
        self.set.has(byte)
    }

    /// Whether one of the bytes is in the set. There is no branch for each byte, because usually none is.
    #[inline(always)]
    pub(crate) fn any(&self, bytes: &[u8]) -> bool {
        if let Some(word) = short_word(bytes)
            && self.kind != SetKind::Other
        {
            let json = if self.kind == SetKind::FewAndJson { special_bits(word, b'"') } else { 0 };
            return json | ((below(word ^ self.words[0], 1) | below(word ^ self.words[1], 1)) & HIGH) != 0;
        }
        bytes.iter().fold(false, |found, &byte| found | self.set.has(byte))
    }
}

const ONES: u64 = u64::from_le_bytes([1; 8]);

pub(crate) const HIGH: u64 = ONES << 7;

/// Four to eight bytes as a word: the first four and the last four, which may be partly the same.
#[inline(always)]
fn short_word(bytes: &[u8]) -> Option<u64> {
    let (first, last) = (bytes.first_chunk::<4>()?, bytes.last_chunk::<4>()?);
    let word = u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32;
    (bytes.len() <= 8).then_some(word)
}

/// Marks the bytes of a word that are smaller than `than`, which is at most 128, by their high bits. The lowest mark is
/// exact; marks above it may be wrong.
#[inline(always)]
fn below(word: u64, than: u64) -> u64 {
    // If a byte is below the subtracted number, the subtraction borrows into its high bit.
    word.wrapping_sub(ONES * than) & !word
}

/// Marks the bytes of a word that JSON strings treat specially, and `other`, by their high bits. The lowest mark is exact;
/// marks above it may be wrong.
#[inline(always)]
pub(crate) fn special_bits(word: u64, other: u8) -> u64 {
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (below(word, 0x20) | equal(b'"') | equal(b'\\') | equal(other)) & HIGH
}

/// A set of pairs of bytes, in the space of 256 bits. It contains every pair that was added. Pairs with the same first byte
/// are told apart exactly; a pair with a first byte that was never added may be contained by accident.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pairs(ByteSet);

impl Pairs {
    pub(crate) const NONE: Self = Self(ByteSet::EMPTY);

    /// All pairs: the set of a marker of one byte that needs no confirmation.
    pub(crate) const ALL: Self = Self(ByteSet::ALL);

    /// Adds the pairs of `first` with each of `seconds`. The bit of a pair is that of its second byte, with some bits of its
    /// number turned; so whole words are moved, and not one byte after the other: all parsers do this when they are compiled.
    pub(crate) const fn with(self, first: u8, seconds: &ByteSet) -> Self {
        let turned = Self::place(first, 0);
        let mut moved = [0; 4];
        let mut word = 0;
        while word < moved.len() {
            moved[word ^ (turned >> 6) as usize] = turn(seconds.0[word], turned & 63);
            word += 1;
        }
        Self(self.0.union(ByteSet(moved)))
    }

    pub(crate) const fn union(self, other: Self) -> Self {
        Self(self.0.union(other.0))
    }

    pub(crate) const fn one(first: u8, second: u8) -> Self {
        Self(ByteSet::EMPTY.with(Self::place(first, second)))
    }

    #[inline]
    pub(crate) fn has(&self, first: u8, second: u8) -> bool {
        self.0.has(Self::place(first, second))
    }

    /// The bit of a pair: different pairs with the same first byte have different bits.
    const fn place(first: u8, second: u8) -> u8 {
        first.wrapping_mul(0x9d) ^ second
    }
}

/// Moves the bit `n` of a word to `n ^ turned`, for each `n`.
const fn turn(mut word: u64, turned: u8) -> u64 {
    // Where the bit 1, 2, 4, … of a number is not set.
    const LOW: [u64; 6] = [!0 / 3, !0 / 5, !0 / 17, !0 / 257, !0 / 65537, !0 >> 32];
    let mut bit = 0;
    while bit < LOW.len() {
        if turned >> bit & 1 == 1 {
            word = (word & LOW[bit]) << (1 << bit) | word >> (1 << bit) & LOW[bit];
        }
        bit += 1;
    }
    word
}

/// The bytes with which some markers begin: the first byte, and the first two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Begins {
    pub(crate) firsts: ByteSet,
    pub(crate) pairs: Pairs,
}

impl Begins {
    /// No marker begins anywhere.
    pub(crate) const NOTHING: Self = Self { firsts: ByteSet::EMPTY, pairs: Pairs::NONE };

    /// Whether a marker may begin at `at`, as far as the byte there and the next one show.
    #[inline]
    pub(crate) fn at(&self, bytes: &[u8], at: usize) -> bool {
        bytes.get(at).is_some_and(|&byte| {
            self.firsts.has(byte) && bytes.get(at + 1).is_none_or(|&next| self.pairs.has(byte, next))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needles_are_found_in_texts_of_every_length() {
        let json = ByteSet::JSON_TEXT;
        for set in [
            ByteSet::EMPTY,
            ByteSet::of(b"<"),
            ByteSet::of(b"<]"),
            ByteSet::of(b"\x80\xff"),
            ByteSet::of(b"<[{("),
            json,
            json.with(b'<'),
            json.with(b'\'').with(0x7f),
            json.with(b'<').with(b'[').with(b'{'),
        ] {
            let needles = Needles::of(set);
            for byte in 0..=u8::MAX {
                assert_eq!(needles.has(byte), set.has(byte));
                for length in 1..12 {
                    for at in 0..length {
                        let mut text = vec![b'x'; length];
                        text[at] = byte;
                        assert_eq!(needles.any(&text), set.has(byte), "{set:?} in {text:?}");
                    }
                }
            }
            assert!(!needles.any(b"") && !Needles::NONE.any(b"<\"x\0"));
        }
    }
}
