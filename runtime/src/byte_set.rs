//! Sets of bytes, as bits: which bytes a marker may begin with, which bytes end a stretch of text.
//!
//! This module must not know what the bytes mean.

/// A set of bytes.
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

    #[inline]
    pub(crate) const fn has(&self, byte: u8) -> bool {
        self.0[(byte >> 6) as usize] >> (byte & 63) & 1 != 0
    }
}

/// A set of pairs of bytes, in the space of 256 bits. It contains every pair that was added. Pairs with the same first byte
/// are told apart exactly; a pair with a first byte that was never added may be contained by accident.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pairs(ByteSet);

impl Pairs {
    pub(crate) const NONE: Self = Self(ByteSet::EMPTY);

    /// All pairs: the set of a marker of one byte that needs no confirmation.
    pub(crate) const ALL: Self = Self(ByteSet::ALL);

    /// Adds the pairs of `first` with each of `seconds`.
    pub(crate) const fn with(mut self, first: u8, seconds: &ByteSet) -> Self {
        let mut second = 0;
        loop {
            if seconds.has(second) {
                self.0 = self.0.with(Self::place(first, second));
            }
            if second == u8::MAX {
                return self;
            }
            second += 1;
        }
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

/// The bytes with which some markers begin: the first byte, and the first two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begins {
    /// The first bytes.
    pub(crate) firsts: ByteSet,
    /// The first two bytes.
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
