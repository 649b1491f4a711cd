//! Calls that the caller ruled out: a second one where parallel calls are off, or one of a tool that may not be called. The
//! machine reads such a call as any other, so that it is certain where it ends. Its text, and the syntax after it up to what
//! comes next in the turn, is broken markup.
//!
//! It must not decide which call is ruled out.

use super::emitter::{Emitter, Sink};
use super::input::Input;
use crate::message::Channel;
use crate::utf8::whole_characters;

/// The text of a call that was ruled out, as far as it was not delivered. Offsets count from the start of the buffered
/// text.
#[derive(Default)]
pub(crate) struct Refusal {
    /// Where that text begins; `None` if there is no such call.
    from: Option<usize>,
    /// A character that was cut by the end of a push.
    cut: Vec<u8>,
}

impl Refusal {
    /// A call that was ruled out begins.
    pub(super) fn begin(&mut self, from: usize) {
        self.from = Some(from);
    }

    /// Whether text of such a call is not delivered.
    pub(super) fn is_open(&self) -> bool {
        self.from.is_some()
    }

    /// Delivers the text that comes before `to`. If `more` may come, a character that is cut there waits.
    pub(super) fn deliver(&mut self, input: &Input<'_>, to: usize, more: bool, emitter: &mut Emitter, sink: Sink<'_>) {
        let Some(from) = self.from else { return };
        let to = to.max(from);
        self.from = more.then_some(to);
        if self.cut.is_empty() {
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

    /// The first `count` bytes of the buffered text are gone.
    pub(super) fn rebase(&mut self, count: usize) {
        self.from = self.from.map(|from| from.saturating_sub(count));
    }
}
