//! What is known of the string or number that is being read.

use super::number::Number;

/// The maximum number of bytes of a value that are kept for messages.
const SHOWN: usize = 40;

/// The scalar that is being read.
#[derive(Clone, Debug, Default)]
pub(super) struct Scalar {
    pub(super) number: Number,
    /// The number of characters and bytes of a string that were read.
    pub(super) characters: u64,
    pub(super) bytes: usize,
    /// The beginning, for messages.
    pub(super) text: String,
    pub(super) cut: bool,
}

impl Scalar {
    /// Forgets the value before.
    pub(super) fn clear(&mut self) {
        self.number.clear();
        (self.characters, self.bytes, self.cut) = (0, 0, false);
        self.text.clear();
    }

    /// Keeps the character for messages, if there is room.
    pub(super) fn show(&mut self, character: char) {
        let fits = !self.cut && self.text.len() + character.len_utf8() <= SHOWN;
        if fits {
            self.text.push(character);
        }
        self.cut |= !fits;
    }
}
