//! Speculation: text that looks like a call is held back until it is certain that it is one. If it stops fitting, it becomes
//! plain text.
//!
//! Text is read again at most once, so that the time stays linear in the input.

use super::cursor::Cursor;
use crate::limits::MAX_HELD;
use crate::program::StateId;

/// Text that is held back, if any. Offsets count from the start of the text at hand.
#[derive(Default)]
pub(crate) struct Speculation {
    held: Option<Held>,
    /// Text before it was read twice already.
    retried: usize,
}

/// Text that looks like a call and is not one yet.
#[derive(Clone, Copy, Debug)]
struct Held {
    /// Where the text begins that becomes plain text if it is no call after all.
    text: usize,
    /// Where the opening marker begins.
    marker: usize,
    /// The state that goes on with the plain text then.
    state: StateId,
}

impl Speculation {
    /// A call may begin with the marker at `marker`; the text before its layout ends at `text`. If it is none, `state` goes
    /// on. Does nothing if text is held back already.
    pub(super) fn begin(&mut self, text: usize, marker: usize, state: StateId) {
        if self.held.is_none() {
            self.held = Some(Held { text, marker, state });
        }
    }

    /// It is a call.
    pub(super) fn confirm(&mut self) {
        self.held = None;
    }

    /// Whether text is held back.
    pub(super) fn is_open(&self) -> bool {
        self.held.is_some()
    }

    /// Where the text that is held back begins.
    pub(super) fn start(&self) -> Option<usize> {
        self.held.map(|held| held.text)
    }

    /// The offset up to which text may be held back. Without held text it counts from `pos`.
    pub(super) fn limit(&self, pos: usize) -> usize {
        self.start().unwrap_or(pos) + MAX_HELD
    }

    /// The first `count` bytes of the text at hand are gone.
    pub(super) fn rebase(&mut self, count: usize) {
        self.retried = self.retried.saturating_sub(count);
        if let Some(held) = &mut self.held {
            held.text -= count;
            held.marker -= count;
        }
    }

    /// The text does not fit: takes the cursor back to its start. Returns the state that reads it as plain text; `None` if
    /// nothing was held back.
    pub(super) fn give_up(&mut self, cursor: &mut Cursor) -> Option<StateId> {
        let held = self.held.take()?;
        let mismatch = cursor.looked_at().max(held.marker + 1);
        // The text is read again once, so that a marker inside it is found. After that it is just text.
        let from = if held.marker < self.retried {
            self.retried.min(mismatch).max(held.marker + 1)
        } else {
            self.retried = mismatch;
            held.marker + 1
        };
        cursor.go_back(held.text, from);
        Some(held.state)
    }
}
