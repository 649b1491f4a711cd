//! Letters and digits for ids. The module imports nothing, so JavaScript gives the seed, from its own source of random numbers.

use std::cell::Cell;

use unjinja_dynamic::CallIds;

thread_local! {
    static STATE: Cell<u64> = const { Cell::new(0) };
}

/// Begins with this number.
pub(crate) fn seed(number: u64) {
    STATE.set(number);
}

/// The next number: SplitMix64.
fn next() -> u64 {
    let state = STATE.get().wrapping_add(0x9E37_79B9_7F4A_7C15);
    STATE.set(state);
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// So many letters and digits.
pub(crate) fn letters(length: usize) -> String {
    const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    (0..length).map(|_| char::from(LETTERS[usize::try_from(next() % 62).unwrap_or_default()])).collect()
}

/// The same ids with these letters. There is no clock and no process here, of which their own would be made.
pub(crate) fn with_letters(ids: CallIds) -> CallIds {
    ids.source(letters)
}
