//! Everything that a parser keeps between two pushes, except the text itself.

use super::call_builder::CallBuilder;
use super::cursor::Cursor;
use super::emitter::Emitter;
use super::fast_path::FastPath;
use super::speculation::Speculation;
use super::value_readers::ValueReaders;
use crate::options::Options;

/// Everything that a parser keeps between two pushes. Offsets count from the start of the buffered text.
pub(crate) struct Memory {
    pub(super) cursor: Cursor,
    pub(super) speculation: Speculation,
    pub(super) calls: CallBuilder,
    pub(super) readers: ValueReaders,
    pub(super) emitter: Emitter,
    /// What may be done with the next piece without a look at the machine.
    pub(super) fast_path: FastPath<Memory>,
}

impl Memory {
    #[inline]
    pub(super) fn new(options: &Options) -> Self {
        // First, because it calls a function: what is built before a call is moved afterwards.
        let emitter = Emitter::new(options);
        Self {
            cursor: Cursor::default(),
            speculation: Speculation::default(),
            calls: CallBuilder::default(),
            readers: ValueReaders::default(),
            emitter,
            fast_path: FastPath::NONE,
        }
    }

    /// How many bytes at the start of the buffered text are not needed any more.
    pub(super) fn settled(&self) -> usize {
        self.speculation.start().unwrap_or(self.cursor.pos)
    }

    /// The first `count` bytes of the buffered text are gone.
    pub(super) fn rebase(&mut self, count: usize) {
        self.emitter.base += count as i64;
        self.emitter.begun = self.emitter.begun.saturating_sub(count);
        self.cursor.rebase(count);
        self.speculation.rebase(count);
        self.calls.refusal.rebase(count);
    }
}
