//! A fast hash for names and rules, the same on every machine. It does not resist deliberate collisions.

use std::hash::{BuildHasherDefault, Hasher};

/// The fast hash. Names that are chosen to collide only make their own grammar slow, within its limits.
pub(super) type Quick = BuildHasherDefault<Folded>;

/// Folds eight bytes at a time with a multiplication.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Folded(u64);

impl Folded {
    fn fold(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word ^ 0x9E37_79B9_7F4A_7C15) * 0xA076_1D64_78BD_642F;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}

impl Hasher for Folded {
    fn write(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            self.fold(word.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)));
        }
        self.fold(words.remainder().iter().fold(1, |word, &byte| word << 8 | u64::from(byte)));
    }

    fn write_u8(&mut self, value: u8) {
        self.fold(value.into());
    }

    fn write_u32(&mut self, value: u32) {
        self.fold(value.into());
    }

    fn write_usize(&mut self, value: usize) {
        self.fold(value as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
