//! The text of calls that do not count. A call that the caller ruled out is one: a second one where parallel calls are off, or
//! one of a tool that may not be called. The machine reads such a call as any other, so that it is certain where it ends. Its
//! text, and the syntax after it up to what comes next in the turn, is broken markup. A call that counts only if it is complete
//! may become one: its text is kept until that is known.
//!
//! It must not decide which call counts.

use super::emitter::{Emitter, Sink};
use super::input::Input;
use crate::message::Channel;
use crate::utf8::whole_characters;

/// The text of a call that does not count, as far as it was not delivered. Offsets count from the start of the buffered
/// text.
#[derive(Default)]
pub(crate) struct Refusal {
    /// Where that text begins; `None` if there is no such call.
    from: Option<usize>,
    /// A character that was cut by the end of a push.
    cut: Vec<u8>,
    /// What ends the turn, unless more follows it.
    end: Vec<u8>,
    /// The text of a call that may still count, which is not delivered.
    kept: Option<Kept>,
}

struct Kept {
    text: Vec<u8>,
    /// Where it begins in the output.
    at: i64,
}

impl Refusal {
    /// A call that was ruled out begins.
    pub(super) fn begin(&mut self, from: usize) {
        self.from = Some(from);
        self.end.clear();
    }

    /// A call begins that counts only if it is complete.
    pub(super) fn keep(&mut self, from: usize, emitter: &mut Emitter) {
        self.begin(from);
        let at = emitter.base + from.max(emitter.begun) as i64;
        self.kept = Some(Kept { text: Vec::new(), at });
        emitter.tokens.keep_from(Some(at));
    }

    /// How long the text of a call is that is kept, up to `to`.
    pub(super) fn kept_bytes(&self, to: usize, emitter: &Emitter) -> usize {
        let at = self.kept.as_ref().map_or(i64::MAX, |kept| kept.at);
        usize::try_from((emitter.base + to as i64).saturating_sub(at)).unwrap_or_default()
    }

    /// The call counts.
    pub(super) fn forget(&mut self, emitter: &mut Emitter) {
        if self.kept.take().is_some() {
            self.from = None;
            emitter.tokens.keep_from(None);
        }
    }

    /// The call does not count: its text is delivered, and so is what follows up to what comes next in the turn.
    pub(super) fn release(&mut self, emitter: &mut Emitter, sink: Sink<'_>) {
        let Some(Kept { text, at }) = self.kept.take() else { return };
        let whole = if self.from.is_some() { whole_characters(&text) } else { text.len() };
        emitter.kept_text(&text[..whole], at, sink);
        self.cut.extend_from_slice(&text[whole..]);
        emitter.tokens.keep_from(None);
    }

    /// Whether text of such a call is not delivered.
    pub(super) fn is_open(&self) -> bool {
        self.from.is_some()
    }

    /// Delivers the text that comes before `to`, or keeps it. If `more` may come, a character that is cut there waits.
    pub(super) fn deliver(&mut self, input: &Input<'_>, to: usize, more: bool, emitter: &mut Emitter, sink: Sink<'_>) {
        let Some(from) = self.from else { return };
        let to = to.max(from);
        self.from = more.then_some(to);
        self.cut.append(&mut self.end);
        if let Some(kept) = &mut self.kept {
            let from = from.max(emitter.begun).min(to);
            kept.text.append(&mut self.cut);
            kept.text.extend_from_slice(&input.bytes[from..to]);
        } else if self.cut.is_empty() {
            let whole = if more { from + input.whole_characters(from, to) } else { to };
            emitter.text(Channel::Unparsed, input, from, whole, sink);
            self.cut.extend_from_slice(&input.bytes[whole..to]);
        } else {
            self.cut.extend_from_slice(&input.bytes[from..to]);
            let whole = if more { whole_characters(&self.cut) } else { self.cut.len() };
            emitter.unparsed(&self.cut[..whole], sink);
            self.cut.drain(..whole);
        }
    }

    /// The same where the text from `end` on, which is read up to `to`, ends the turn unless `more` follows.
    pub(super) fn deliver_turn(
        &mut self,
        input: &Input<'_>,
        (end, to): (usize, usize),
        more: bool,
        emitter: &mut Emitter,
        sink: Sink<'_>,
    ) {
        let read = std::mem::take(&mut self.end);
        self.deliver(input, end.min(to), more, emitter, sink);
        if let Some(from) = &mut self.from {
            self.end = read;
            self.end.extend_from_slice(&input.bytes[(*from).min(to)..to]);
            *from = to.max(*from);
        }
    }

    /// The first `count` bytes of the buffered text are gone.
    pub(super) fn rebase(&mut self, count: usize) {
        self.from = self.from.map(|from| from.saturating_sub(count));
    }
}
