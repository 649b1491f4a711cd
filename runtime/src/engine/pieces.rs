//! Passes on a piece, or gives it to the reader of the open value, as the fast path allows.
//!
//! Everything here works on the memory only; it must not take a step of the machine.

use std::borrow::Cow;

use super::fast_path::{LONGEST, Taken, Target};
use super::memory::Memory;
use crate::byte_set::{Begins, Pairs};
use crate::message::Event;
use crate::readers::json::{MOST_BLANKS, Progress, Scanner, is_space};
use crate::readers::structure::StringEnd;
use crate::utf8::lossy;

impl Memory {
    /// Escapes a piece of a string, or gives it to the reader of the open value. Returns whether the piece is done with. If
    /// not, the machine continues with what the reader left of it. `carry` is what waits from earlier pieces, and afterwards
    /// what waits from now on.
    pub(super) fn read_piece(&mut self, text: &str, carry: &mut Vec<u8>, sink: &mut impl FnMut(Event<'_>)) -> bool {
        if let Some(escape) = self.fast_path.escape
            && let Target::Arguments(_) = self.fast_path.target
            && let Some(end) = escape(&self.fast_path, carry, text, &mut self.emitter.joined)
        {
            self.cursor.search.work.add(text.len());
            self.send_and_wait(&text[end..], carry, sink);
            return true;
        }
        let (Some(read), Some(index)) = (self.fast_path.read, self.calls.index()) else { return false };
        let Some(taken) = read(self, text, carry) else { return false };
        if !taken.unchanged {
            let arguments = &mut self.emitter.arguments;
            let json = lossy(arguments);
            if !json.is_empty() {
                sink(Event::ToolCallArguments { index, json: &json });
            }
            // The piece is text, but bytes from before it may have waited in the reader.
            let invalid = matches!(json, Cow::Owned(_));
            arguments.clear();
            if invalid {
                self.emitter.note_invalid_utf8(sink);
            }
        } else {
            let (json, rest) = text.split_at(taken.count);
            if !carry.is_empty() {
                // Long text is not copied.
                let (head, tail) = if json.len() <= LONGEST { (json, "") } else { ("", json) };
                self.join(carry, head);
                sink(Event::ToolCallArguments { index, json: &self.emitter.joined });
                self.emitter.joined.clear();
                carry.clear();
                if !tail.is_empty() {
                    sink(Event::ToolCallArguments { index, json: tail });
                }
            } else if !json.is_empty() {
                sink(Event::ToolCallArguments { index, json });
            }
            if taken.more && !rest.is_empty() {
                self.wait(rest.as_bytes(), carry);
            }
        }
        self.note_taken(&taken)
    }

    /// Puts together what waits and the text after it. Only ASCII waits: no other byte can end a piece and belong to a
    /// marker.
    #[inline]
    pub(super) fn join(&mut self, waiting: &[u8], text: &str) {
        debug_assert!(waiting.is_ascii());
        let joined = &mut self.emitter.joined;
        waiting.iter().for_each(|&byte| joined.push(char::from(byte & 0x7f)));
        joined.push_str(text);
    }

    /// Sends the text that was put together, and keeps the end of the piece.
    #[inline]
    pub(super) fn send_and_wait(&mut self, end: &str, carry: &mut Vec<u8>, sink: &mut impl FnMut(Event<'_>)) {
        self.emitter.last = self.emitter.joined.as_bytes().last().copied().unwrap_or_default();
        sink(self.fast_path.event(&self.emitter.joined));
        self.emitter.joined.clear();
        self.wait(end.as_bytes(), carry);
    }

    /// The end of a piece waits: white space, and the first byte of a marker.
    #[inline]
    fn wait(&mut self, end: &[u8], carry: &mut Vec<u8>) {
        carry.clear();
        // Usually a byte or two; a loop is cheaper than a call that copies.
        end.iter().for_each(|&byte| carry.push(byte));
        let begins = end.last().is_some_and(|&last| self.fast_path.markers.has(last));
        self.cursor.search.restart(end.len() - usize::from(begins));
    }

    #[inline]
    fn note_taken(&mut self, taken: &Taken) -> bool {
        let cursor = &mut self.cursor;
        cursor.search.work.add(taken.count);
        if !taken.more {
            cursor.pos += taken.count;
            cursor.search.restart(cursor.pos);
        }
        taken.more
    }

    /// Continues JSON. The first byte of a marker may wait at its end, and so does a comma, with blanks after it.
    #[inline]
    fn read_json(
        &mut self,
        text: &str,
        carry: &mut Vec<u8>,
        scanner: impl FnOnce(&mut Self) -> &mut Scanner,
    ) -> Option<Taken> {
        let stops = Begins { firsts: self.fast_path.markers.set(), pairs: self.fast_path.pairs };
        let bytes = text.as_bytes();
        let scanner = scanner(self);
        if let Some(b',') = carry.first() {
            match bytes.iter().find(|&&byte| !is_space(byte)) {
                Some(b'}' | b']') => return None,
                Some(_) => {}
                None if carry.len() + bytes.len() > MOST_BLANKS || stops.firsts.has(b',') => return None,
                None => {
                    carry.extend_from_slice(bytes);
                    return Some(Taken { count: bytes.len(), more: true, unchanged: false });
                }
            }
        }
        if !carry.is_empty() && !feed_held_bytes(carry, bytes, scanner, &stops) {
            return None;
        }
        let (count, more) = match scanner.feed_until(bytes, 0, &stops) {
            Progress::More => (bytes.len(), !scanner.malformed()),
            Progress::Done(n) => (n, false),
            // A bracket may be the last of the arguments, so it does not wait.
            Progress::Stop(n) => {
                let waits = matches!(&bytes[n..], [first] if !matches!(first, b'}' | b']')) && !scanner.in_string();
                (n, waits && stops.pairs != Pairs::ALL && !scanner.malformed() && !scanner.is_at_fault())
            }
            Progress::Wait(n) => (n, bytes.get(n) == Some(&b',')),
        };
        // In the middle of a string not even the scanner has to look.
        let plain = scanner.in_plain_string();
        self.fast_path.target = match self.calls.index() {
            Some(index) if plain => Target::Arguments(index),
            _ => Target::Nothing,
        };
        Some(Taken { count, more, unchanged: true })
    }

    pub(super) fn read_json_arguments(&mut self, text: &str, carry: &mut Vec<u8>) -> Option<Taken> {
        self.read_json(text, carry, |memory| &mut memory.readers.json)
    }

    pub(super) fn read_object_arguments(&mut self, text: &str, carry: &mut Vec<u8>) -> Option<Taken> {
        self.read_json(text, carry, |memory| memory.readers.object.scanner())
    }

    pub(super) fn read_raw_value(&mut self, text: &str, carry: &mut Vec<u8>) -> Option<Taken> {
        let bytes = text.as_bytes();
        let end = self.fast_path.end(bytes, carry.last().copied(), &self.fast_path.markers)?;
        let (value, out) = (&mut self.readers.tagged, &mut self.emitter.arguments);
        value.feed(carry, out);
        value.feed(&bytes[..end], out);
        if let Some(index) = self.calls.index().filter(|_| value.writes_text()) {
            self.fast_path.target = Target::Arguments(index);
        }
        self.wait(&bytes[end..], carry);
        Some(Taken { count: bytes.len(), more: true, unchanged: false })
    }

    #[inline]
    pub(super) fn read_literal(&mut self, fed: Fed, length: usize) -> Option<Taken> {
        let (count, more) = match fed.progress {
            Progress::More => (length, !fed.malformed),
            Progress::Done(n) | Progress::Stop(n) | Progress::Wait(n) => (n, false),
        };
        if let Some(index) = self.calls.index() {
            self.fast_path.in_string(index, fed.string_end);
        }
        Some(Taken { count, more, unchanged: false })
    }
}

/// Gives the bytes that were held back to the scanner, if `text` after them rules out that they begin a marker. Returns
/// whether it did.
#[inline(never)]
fn feed_held_bytes(held: &[u8], text: &[u8], scanner: &mut Scanner, stops: &Begins) -> bool {
    let pair = held.last().zip(text.first());
    let marker = pair.is_none_or(|(&first, &second)| stops.pairs.has(first, second));
    !marker && scanner.feed(held) == Progress::More
}

/// What the reader of a literal said to some bytes.
pub(super) struct Fed {
    pub(super) progress: Progress,
    /// The literal broke a rule until here.
    pub(super) malformed: bool,
    /// What may end the string that the literal is in, if it is in one.
    pub(super) string_end: Option<StringEnd>,
}
