//! Recognises names of functions and arguments, and ids: short text without white space inside, unless a tool names an
//! argument so, or the name of an argument is in a tag. Text is held no longer than it can still be a name.

use crate::limits::MAX_NAME;

/// How far text that may be a name was looked at. Offsets count from its start.
#[derive(Clone, Debug, Default)]
pub(super) struct NameProgress {
    read: usize,
    /// The name has begun, after white space.
    begun: bool,
    /// The offset of the white space after it.
    end: Option<usize>,
}

impl NameProgress {
    pub(super) fn read(&self) -> usize {
        self.read
    }

    pub(super) fn is_blank(&self) -> bool {
        !self.begun
    }

    /// Takes the next byte. If the byte shows that the text is no name: the offset where it stops being one. A name in a tag may have
    /// several words.
    pub(super) fn take(&mut self, byte: u8, in_tag: bool) -> Option<usize> {
        let at = self.read;
        if byte.is_ascii_whitespace() {
            if self.begun {
                self.end.get_or_insert(at);
            }
        } else if byte.is_ascii_control() || matches!(byte, b'<' | b'>' | b'"' | b'{' | b'}') {
            return self.end.or(Some(at));
        } else if self.end.is_some() && !in_tag {
            return self.end;
        } else {
            self.begun = true;
        }
        self.read += 1;
        (self.read > MAX_NAME).then_some(MAX_NAME)
    }

    /// The byte that does not fit belongs to the name of an argument all the same.
    pub(super) fn accept(&mut self) {
        (self.begun, self.end) = (true, None);
        self.read += 1;
    }
}
