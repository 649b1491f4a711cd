//! Speculation: text that looks like a call is held back until it is certain that it is one. If it stops fitting, it becomes
//! plain text.
//!
//! Text is read again at most once, so that the time stays linear in the input.

use super::cursor::Cursor;
use crate::limits::MAX_HELD;
use crate::program::{StateId, is_mention, is_special_token};

/// Text that is held back, if any. Offsets count from the start of the buffered text.
#[derive(Default)]
pub(crate) struct Speculation {
    held: Option<Held>,
    /// What was expected where the text was seen not to fit.
    pub(super) expected: String,
    /// Text before it was read twice already.
    retried: usize,
    /// What is known of calls in reasoning.
    doubt: Doubt,
    /// Where the last call ended, in the whole output.
    pub(super) last_end: Option<usize>,
    /// Where each call ended, likewise, if all calls count.
    ends: Vec<usize>,
    /// Where reasoning was closed after calls, and how many of them had ended there.
    closed: Option<(usize, usize)>,
}

/// Whether calls in reasoning count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Doubt {
    /// Each of them is in doubt.
    #[default]
    Any,
    /// The one that is held back is in doubt.
    This,
    /// The one whose marker is at this offset counts.
    NotAt(usize),
    /// All count.
    Never,
}

/// Text that looks like a call and is not one yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    /// Where the text begins that becomes plain text if it is no call after all.
    pub(super) text: usize,
    /// Where the opening marker begins.
    pub(super) marker: usize,
    /// Where the opening marker ends; `marker` if no marker opened it.
    opened: usize,
    /// Where the text was seen not to fit, if the closer of a broken call is looked for since.
    broken: Option<usize>,
    /// The state that reads the plain text then.
    state: StateId,
}

impl Speculation {
    /// A call may begin with the marker from `marker` to `opened`; the text before its layout ends at `text`. If it is
    /// no call, `state` continues. Does nothing if text is held back already.
    pub(super) fn begin(&mut self, text: usize, marker: usize, opened: usize, state: StateId) {
        if self.held.is_none() {
            self.held = Some(Held { text, marker, opened, broken: None, state });
        }
    }

    /// Marks held text that does not fit as a broken call, if it begins with a special token. Returns whether it did: whether the
    /// closer, which has to follow, must be looked for.
    pub(super) fn mark_broken(&mut self, text: &[u8], cursor: &Cursor) -> bool {
        let Some(held) = &mut self.held else { return false };
        // After another marker, what follows the opener fitted.
        let mentioned =
            cursor.marker_end == held.opened && text.get(cursor.marker_end).is_some_and(|next| is_mention(*next));
        if held.broken.is_some() || mentioned || !is_special_token(held.opener(text)) {
            return false;
        }
        held.broken = Some(cursor.looked_at());
        true
    }

    /// Whether the text that is held back is a call that the end of the output cuts off, if all of it fits. `begins_line`: the
    /// text before it ended with a line. `may_be_words`: what follows the marker may as well be words of a sentence.
    pub(super) fn is_cut_call(&self, text: &[u8], begins_line: bool, may_be_words: bool) -> bool {
        let Some(held) = &self.held else { return false };
        let opens_line = begins_line && held.text == held.marker || text[held.text..held.marker].contains(&b'\n');
        let continues = !may_be_words && !self.ends_in_opener(text);
        held.opener(text).starts_with(b"<") && held.broken.is_none() && (opens_line || continues)
    }

    /// Whether the held text is more than the marker between two calls. It begins at `start` in the whole output.
    pub(super) fn is_next_call(&self, text: &[u8], start: Option<usize>) -> bool {
        let Some((held, (start, end))) = self.held.zip(start.zip(self.last_end)) else { return false };
        // The marker between two calls may be what showed that the first one was over.
        let follows = (start..=start + (held.opened - held.text)).contains(&end);
        let is_marked = held.marker < held.opened && held.broken.is_none();
        is_marked && follows && !self.ends_in_opener(text)
    }

    /// Whether the text that is held back is a marker with nothing but white space after it.
    pub(super) fn ends_in_opener(&self, text: &[u8]) -> bool {
        self.held.is_some_and(|held| held.marker < held.opened && text[held.opened..].trim_ascii().is_empty())
    }

    /// A call is held back that opens in reasoning. Returns whether it counts; if not, it is in doubt.
    pub(super) fn counts_in_reasoning(&mut self) -> bool {
        let counts = match (self.doubt, self.held) {
            (Doubt::Never, _) => true,
            (Doubt::NotAt(at), Some(held)) => at == held.marker,
            _ => false,
        };
        if !counts {
            self.doubt = Doubt::This;
        }
        counts
    }

    pub(super) fn trust_calls(&mut self) {
        self.doubt = Doubt::Never;
    }

    pub(super) fn trusts_calls(&self) -> bool {
        self.doubt == Doubt::Never
    }

    pub(super) fn call_ended(&mut self, at: Option<usize>) {
        self.last_end = at;
        self.ends.extend(at.filter(|_| self.doubt == Doubt::Never));
    }

    pub(super) fn reasoning_closed(&mut self, at: Option<usize>) {
        if !self.ends.is_empty() {
            self.closed = self.closed.or(at.map(|at| (at, self.ends.len())));
        }
    }

    /// How many calls had ended where reasoning was closed, if it was closed after a call.
    pub(super) fn calls_before_closer(&self) -> Option<usize> {
        self.closed.map(|(_, calls)| calls)
    }

    /// Where the last of the first calls ended. The closer of reasoning is no part of it, even if it was what showed the end.
    pub(super) fn end_of(&self, calls: usize) -> usize {
        let end = calls.checked_sub(1).and_then(|last| self.ends.get(last)).copied().unwrap_or_default();
        self.closed.map_or(end, |(at, _)| end.min(at))
    }

    pub(super) fn is_in_doubt(&self) -> bool {
        self.doubt == Doubt::This
    }

    /// The call that was in doubt is read again, as a call, or as text up to `text_to`.
    pub(super) fn settle_doubt(&mut self, cursor: &mut Cursor, text_to: Option<usize>) {
        let Some(held) = self.held.take() else { return };
        self.doubt = if text_to.is_some() { Doubt::Any } else { Doubt::NotAt(held.marker) };
        cursor.go_back(held.text, text_to.map_or(held.marker, |to| held.text + to));
    }

    /// Whether text is held back.
    pub(super) fn is_open(&self) -> bool {
        self.held.is_some()
    }

    pub(super) fn start(&self) -> Option<usize> {
        self.held.map(|held| held.text)
    }

    /// The offset up to which text may be held back. Without held text it counts from `pos`.
    pub(super) fn limit(&self, pos: usize) -> usize {
        self.start().unwrap_or(pos) + MAX_HELD
    }

    /// The first `count` bytes of the buffered text are gone.
    pub(super) fn rebase(&mut self, count: usize) {
        self.retried = self.retried.saturating_sub(count);
        if let Doubt::NotAt(at) = self.doubt {
            self.doubt = at.checked_sub(count).map_or(Doubt::Any, Doubt::NotAt);
        }
        if let Some(held) = &mut self.held {
            held.text -= count;
            held.marker -= count;
            held.opened -= count;
            held.broken = held.broken.map(|at| at.saturating_sub(count));
        }
    }

    /// The text that is held back, if any. It is settled now.
    pub(super) fn take(&mut self) -> Option<Held> {
        self.held.take()
    }

    /// The state that continues if the text is no call.
    pub(super) fn state(&self) -> Option<StateId> {
        self.held.map(|held| held.state)
    }

    /// The text does not fit: takes the cursor back to its start. Returns the state that reads it as plain text; `None` if
    /// nothing was held back.
    pub(super) fn release(&mut self, cursor: &mut Cursor) -> Option<StateId> {
        let held = self.held.take()?;
        let mismatch = cursor.looked_at().max(held.broken.unwrap_or(0)).max(held.marker + 1);
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

impl Held {
    /// The opening marker in the buffered text.
    pub(super) fn opener<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        text.get(self.marker..self.opened).unwrap_or_default()
    }
}
