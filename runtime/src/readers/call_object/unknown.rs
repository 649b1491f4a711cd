//! Text in a call object that its format does not know: members with other keys, and bytes that do not fit.

use crate::inline_string::InlineString;
use crate::limits::MAX_NAME;

/// Collects that text, byte for byte, until it is sent.
#[derive(Debug, Clone, Default)]
pub(super) struct Unknown {
    /// The member that is being read is unknown.
    pub(super) in_member: bool,
    /// The text is no member: white space in it is text, too.
    pub(super) in_junk: bool,
    /// The key that is being read, and what follows it, until it is known whether the member is unknown.
    key: InlineString,
    text: Vec<u8>,
    /// The keys of unknown members, each after a zero byte.
    keys: Vec<u8>,
    /// How many bytes of keys were reported in this object. The rest is not, so that a broken object gives few diagnostics.
    reported: usize,
}

impl Unknown {
    pub(super) fn reset(&mut self) {
        (self.in_member, self.in_junk) = (false, false);
        self.key.clear();
        self.text.clear();
        self.keys.clear();
        self.reported = 0;
    }

    /// Bytes of a member whose role is not known yet: they wait. A key without an end does not wait for ever.
    pub(super) fn hold(&mut self, bytes: &[u8]) {
        self.in_member |= self.key.as_bytes().len() + bytes.len() > MAX_NAME;
        if self.in_member {
            self.append(bytes);
        } else {
            self.key.push(bytes);
        }
    }

    /// Bytes of a member whose role is known. If it is an unknown member, they are text, and so is what waited.
    pub(super) fn append(&mut self, bytes: &[u8]) {
        if self.in_member {
            self.text.extend_from_slice(self.key.as_bytes());
            self.text.extend_from_slice(bytes);
        }
        self.key.clear();
    }

    /// A byte that fits nowhere.
    pub(super) fn byte(&mut self, byte: u8) {
        self.in_junk = true;
        self.text.push(byte);
    }

    /// The key of an unknown member, to report it.
    pub(super) fn report(&mut self, key: &[u8]) {
        if self.reported < MAX_NAME {
            self.reported += key.len() + 1;
            self.keys.push(0);
            self.keys.extend_from_slice(key);
        }
    }

    /// The text and the keys that were collected since the last time.
    pub(super) fn take(&mut self) -> Option<(Vec<u8>, Vec<u8>)> {
        let nothing = self.text.is_empty() && self.keys.is_empty();
        (!nothing).then(|| (std::mem::take(&mut self.text), std::mem::take(&mut self.keys)))
    }
}
