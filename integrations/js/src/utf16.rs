//! Positions in texts, as JavaScript counts them: in units of UTF-16.

/// How long a text is in JavaScript.
pub(crate) fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Translates offsets of bytes in a text, which come in order.
pub(crate) struct Indexes<'t> {
    text: &'t str,
    byte: usize,
    index: usize,
}

impl<'t> Indexes<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, byte: 0, index: 0 }
    }

    /// The index of a byte that is not before the last one.
    pub(crate) fn of(&mut self, byte: usize) -> usize {
        self.index += length(self.text.get(self.byte..byte).unwrap_or_default());
        self.byte = byte;
        self.index
    }
}
