//! What a step does with what it has read: a call is announced, an argument begins, reasoning ends.
//!
//! The parts of the memory do the work; an action tells them what was read.

use std::ops::Range;

use super::call_builder::{CallBuilder, Written};
use super::io::Io;
use super::memory::Memory;
use super::quotation::Verdict;
use super::special_tokens::SpecialTokens;
use super::value_readers::Reading;

use crate::message::{Channel, Diagnostic, DiagnosticKind};
use crate::program::StateId;
use crate::tools::{Tools, Types};

impl Io<'_> {
    /// The marker that was just read may open a call. Until [`start_call`](Self::start_call), everything from it on is held
    /// back. If the text stops fitting, `state` reads it as plain text.
    pub fn speculate(&mut self, state: StateId) {
        self.deliver_refused(self.memory.cursor.text_end);
        let Memory { cursor, speculation, .. } = &mut *self.memory;
        speculation.begin(cursor.text_end, cursor.marker_at, cursor.pos, state);
    }

    /// Like [`speculate`](Self::speculate), where no marker was read: the text from here on may be a call.
    pub fn speculate_here(&mut self, state: StateId) {
        self.deliver_refused(self.memory.cursor.pos);
        let Memory { cursor, speculation, .. } = &mut *self.memory;
        speculation.begin(cursor.pos, cursor.pos, cursor.pos, state);
    }

    /// A call may begin with the marker that was just read, in reasoning. Returns whether it may end the reasoning.
    pub fn speculate_in_reasoning(&mut self, state: StateId) -> bool {
        self.speculate(state);
        self.options.may_end_reasoning() && self.memory.speculation.counts_in_reasoning()
    }

    /// Whether the text does not fit only because the call that is held back is in doubt.
    pub(crate) fn is_call_in_doubt(&self) -> bool {
        self.memory.speculation.is_in_doubt()
    }

    /// Where the text of the call begins that is in doubt, and the state of the reasoning before it.
    pub(super) fn call_in_doubt(&self) -> Option<(usize, StateId)> {
        self.memory.speculation.start().zip(self.memory.speculation.state())
    }

    pub(super) fn tokens_from(&self, from: usize) -> Option<SpecialTokens> {
        let mut tokens = self.memory.cursor.search.context.tokens.as_deref().cloned()?;
        tokens.rebase(from);
        Some(tokens)
    }

    /// It is known what becomes of the call that was in doubt.
    pub(super) fn settle_doubt(&mut self, verdict: Verdict) {
        let text_to = match verdict {
            Verdict::Counts => None,
            Verdict::Quoted(to) => Some(to),
        };
        let Memory { cursor, speculation, .. } = &mut *self.memory;
        speculation.settle_doubt(cursor, text_to);
    }

    /// The name that was read announces a call.
    pub fn start_call(&mut self) {
        let begins = self.end_last_call();
        let Memory { cursor, calls, .. } = &mut *self.memory;
        // A marker later in the call may repeat the name.
        calls.name.set(self.captured.unwrap_or_else(|| cursor.capture.as_str()).as_bytes());
        self.begin_call(begins);
    }

    /// The label that was read announces a call. A label is an id that holds the name: `prefix`, name, `separator`, index.
    pub fn start_call_labelled(&mut self, prefix: &str, separator: &str) {
        let without_affixes = |label: &str| {
            let start = if label.starts_with(prefix) { prefix.len() } else { 0 };
            let end = match label[start..].rsplit_once(separator) {
                Some((name, index)) if !separator.is_empty() && index.bytes().all(|b| b.is_ascii_digit()) => {
                    start + name.len()
                }
                _ => label.len(),
            };
            start..end
        };
        let begins = self.end_last_call();
        let Memory { cursor, calls, .. } = &mut *self.memory;
        let label = self.captured.unwrap_or_else(|| cursor.capture.as_str());
        let mut name = without_affixes(label);
        let tools = &self.options.tools;
        if !tools.is_empty() && tools.get(&label[name.clone()]).is_none() {
            name = offered_in(label, prefix, tools).unwrap_or(name);
        }
        calls.name.set(label[name.clone()].as_bytes());
        if name.len() < label.len() {
            calls.id.set(label.as_bytes());
        }
        self.begin_call(begins);
    }

    /// The name that was read announces a call, if it is among the tools offered. Returns whether it is.
    pub fn start_offered_call(&mut self) -> bool {
        let name = self.captured.unwrap_or_else(|| self.memory.cursor.capture.as_str());
        let offered = self.options.tools.get(name).is_some();
        if offered {
            self.start_call();
        }
        offered
    }

    /// The name that was read announces a call, if it is among the tools offered or there are none. Returns whether it does.
    pub fn start_known_call(&mut self) -> bool {
        if self.options.tools.is_empty() {
            self.start_call();
            return true;
        }
        self.start_offered_call()
    }

    /// The name that was read is the recipient of a message. It announces a call if it is among the tools offered. If not, nobody
    /// can receive the message: all of it is broken markup.
    pub fn start_recipient(&mut self) {
        let name = self.captured.unwrap_or_else(|| self.memory.cursor.capture.as_str());
        self.memory.calls.is_lost = self.options.tools.get(name).is_none();
        self.start_call();
    }

    /// The name that was read holds the name of an offered function, and directly after it the name of one of its
    /// arguments. Returns whether that is so; then it announces a call, and the argument's name is the one that was
    /// read.
    pub fn start_split_call(&mut self) -> bool {
        let text = self.captured.unwrap_or_else(|| self.memory.cursor.capture.as_str()).to_owned();
        let tools = &self.options.tools;
        let fits = |name: &&str| {
            let argument = text.strip_prefix(*name).map(str::trim_start);
            argument.is_some_and(|argument| tools.declares(name, argument))
        };
        let name = tools.iter().map(|tool| tool.name.as_str()).filter(fits).max_by_key(|name| name.len());
        let Some(name) = name else { return false };
        let argument = text[name.len()..].trim_start();
        let begins = self.end_last_call();
        let Memory { cursor, calls, .. } = &mut *self.memory;
        calls.name.set(name.as_bytes());
        cursor.capture.set(argument.as_bytes());
        self.captured = None;
        self.begin_call(begins);
        true
    }

    /// The text that was read is the call's id.
    pub fn id(&mut self) {
        let Memory { cursor, calls, emitter, .. } = &mut *self.memory;
        let id = self.captured.unwrap_or_else(|| cursor.capture.as_str());
        calls.id.set(id.as_bytes());
        calls.send_id(emitter, self.sink);
    }

    /// The text that was read is an argument's name. Raw text follows, typed by the tool's schema. With `python`, values that
    /// are no strings may be Python literals.
    pub fn argument(&mut self, python: bool) {
        let Memory { cursor, calls, .. } = &*self.memory;
        let tool = calls.open.as_ref().and_then(|call| call.tool);
        let argument = self.captured.unwrap_or_else(|| cursor.capture.as_str());
        let types = tool.map_or(Types::UNKNOWN, |tool| self.options.tools.types_of(tool, argument));
        self.begin_argument();
        self.begin_tagged(types, python);
    }

    /// Like [`argument`](Self::argument), where a string may also be in quotes.
    pub fn argument_quotable(&mut self, python: bool) {
        self.argument(python);
        self.memory.readers.tagged.allow_quotes();
    }

    /// The text that was read is an argument's name. A string follows, as raw text.
    pub fn argument_text(&mut self) {
        self.begin_argument();
        self.begin_tagged(Types::STRING, false);
    }

    /// The text that was read is an argument's name. Raw text follows that is no string.
    pub fn argument_other(&mut self, python: bool) {
        self.begin_argument();
        self.begin_tagged(Types::NOT_STRING, python);
    }

    /// The text that was read is an argument's name. A literal follows.
    pub fn argument_literal(&mut self) {
        self.begin_argument();
        self.memory.readers.reading = Reading::Nothing;
        self.memory.readers.python.read_arguments(false);
    }

    /// The text that was read is an argument's name. A literal follows, and after it perhaps a name without a
    /// separator.
    pub fn argument_tight_literal(&mut self) {
        self.argument_literal();
        self.memory.readers.python.read_arguments(true);
    }

    /// Raw text follows, of one of these types.
    pub(super) fn begin_tagged(&mut self, types: Types, python: bool) {
        let readers = &mut self.memory.readers;
        readers.reading = Reading::Tagged;
        readers.abort = Some(|readers, out| {
            readers.tagged.abort(out);
            readers.tagged.invalid_utf8()
        });
        readers.tagged.restart(types, python);
    }

    fn begin_argument(&mut self) {
        let Memory { cursor, calls, emitter, .. } = &mut *self.memory;
        calls.argument.set(cursor.capture.as_bytes());
        calls.begin_argument(self.captured, emitter, self.sink);
        let tool = calls.open.as_ref().and_then(|call| call.tool);
        let argument = self.captured.unwrap_or_else(|| cursor.capture.as_str());
        if tool.is_some_and(|tool| !self.options.tools.has_place_for(tool, argument)) {
            calls.note(DiagnosticKind::UnknownArgument, argument, emitter, self.sink);
        }
    }

    /// The value that was being read is complete.
    pub fn end_argument(&mut self) {
        let Memory { calls, readers, emitter, .. } = &mut *self.memory;
        if readers.reading != Reading::Tagged {
            return;
        }
        readers.reading = Reading::Nothing;
        let value = &mut readers.tagged;
        value.finish(&mut emitter.arguments);
        calls.wrote(Written::Members, emitter, self.sink);
        if value.mismatch() {
            let argument = calls.argument.as_str().to_owned();
            calls.note(DiagnosticKind::ArgumentTypeMismatch, &argument, emitter, self.sink);
        }
        if value.invalid_utf8() {
            emitter.note_invalid_utf8(self.sink);
        }
    }

    /// This marker, which opens or closes a value, is missing here.
    pub fn missing_marker(&mut self, marker: &str) {
        let Memory { cursor, calls, emitter, .. } = &mut *self.memory;
        let diagnostic = Diagnostic::new(DiagnosticKind::MissingMarker, calls.index(), calls.argument.as_str());
        let diagnostic = diagnostic.expected(format!("`{}`", marker.escape_debug()));
        calls.note_at(Diagnostic { at: emitter.place(cursor.pos), ..diagnostic }, emitter, self.sink);
    }

    /// The open call was closed as its format wants.
    pub fn end_call(&mut self) {
        self.close_call(true);
    }

    /// The open call is over, but what should close it is missing: a marker that was just read, or the end of the output, ends it, or
    /// text that is read up to the next marker.
    pub fn end_call_incomplete(&mut self) {
        if self.memory.cursor.turn_end.is_some() {
            let Memory { calls, emitter, .. } = &mut *self.memory;
            calls.cut_off(emitter, self.sink);
        }
        self.close_call(false);
    }

    /// The same where any other text follows. Returns `false` if the call was not announced yet: then that does
    /// not fit.
    pub fn end_unclosed_call(&mut self) -> bool {
        let fits = !self.memory.calls.waits();
        if fits {
            self.close_call(false);
        }
        fits
    }

    fn close_call(&mut self, complete: bool) {
        let Memory { cursor, speculation, calls, emitter, .. } = &mut *self.memory;
        speculation.call_ended(emitter.place(cursor.pos));
        calls.close(complete, cursor.pos, emitter, self.sink);
    }

    /// The marker that was just read closes nothing, or it closes a broken call that was held back: this is broken markup.
    pub fn unparsed(&mut self) {
        self.broken_markup(DiagnosticKind::StrayMarker);
    }

    /// The special token that was just read means nothing here: it is broken markup.
    pub fn other_token(&mut self) {
        self.broken_markup(DiagnosticKind::SpecialToken);
    }

    /// The marker that was just read ended the turn, and more text follows. The marker is broken markup, as that text is.
    pub fn after_end(&mut self) {
        self.broken_markup(DiagnosticKind::AfterEnd);
    }

    fn broken_markup(&mut self, stray: DiagnosticKind) {
        // In a call whose text does not count, or not yet, it is part of that text.
        if self.memory.calls.open.is_none() {
            self.deliver_refused(self.memory.speculation.start().unwrap_or(self.memory.cursor.text_end));
        }
        let Memory { cursor, speculation, calls, emitter, .. } = &mut *self.memory;
        let bytes = self.input.bytes;
        let expected = std::mem::take(&mut speculation.expected);
        let (kind, marker, from) = match speculation.take() {
            // A header that is complete, and that no template writes.
            Some(held) if stray == DiagnosticKind::SpecialToken => (stray, &bytes[held.text..cursor.pos], held.text),
            Some(held) if held.opener(bytes).is_empty() => {
                (DiagnosticKind::UnexpectedText, bytes[held.text..cursor.pos].trim_ascii(), held.text)
            }
            Some(held) => (DiagnosticKind::AbandonedCall, held.opener(bytes), held.text),
            None => (stray, &bytes[cursor.marker_at..cursor.pos], cursor.text_end),
        };
        let diagnostic = Diagnostic::new(kind, None, String::from_utf8_lossy(marker)).expected(expected);
        emitter.note(Diagnostic { at: emitter.place(from), ..diagnostic }, self.sink);
        match calls.open.is_some() {
            true => calls.keep_unparsed(&bytes[from..cursor.pos], emitter, self.sink),
            false => emitter.text(Channel::Unparsed, &self.input, from, cursor.pos, self.sink),
        }
        cursor.layout.clear();
    }

    /// The calls are over, and perhaps text follows. If a line ended before them, white space is no part of that text.
    pub fn end_calls(&mut self) {
        let Memory { cursor, emitter, .. } = &mut *self.memory;
        if emitter.last == b'\n' {
            cursor.layout.set_any();
        }
    }

    /// The marker that was just read opens a code fence if it begins a line. It is text of the answer. Returns whether a fence
    /// opens.
    pub fn open_fence(&mut self) -> bool {
        let begins_line = matches!(self.memory.emitter.last, b'\n' | 0);
        self.close_fence();
        begins_line
    }

    /// The marker that was just read closes a code fence. It is text of the answer.
    pub fn close_fence(&mut self) {
        self.deliver_refused(self.memory.cursor.text_end);
        let Memory { cursor, emitter, .. } = &mut *self.memory;
        emitter.text(Channel::Content, &self.input, cursor.text_end, cursor.pos, self.sink);
        cursor.read_text(&self.input.bytes[cursor.marker_at..cursor.pos]);
        cursor.layout.clear();
    }

    /// The marker that was just read opens reasoning.
    pub fn open_reasoning(&mut self) {
        self.deliver_refused(self.memory.cursor.text_end);
        let Memory { cursor, emitter, .. } = &mut *self.memory;
        emitter.open_reasoning(&self.input.bytes[cursor.marker_at..cursor.pos]);
    }

    /// The marker that was just read closes reasoning.
    pub fn close_reasoning(&mut self) {
        let Memory { cursor, speculation, emitter, .. } = &mut *self.memory;
        speculation.reasoning_closed(emitter.place(cursor.text_end));
        let left_in = emitter.close_reasoning(&self.input, cursor.text_end, cursor.pos, self.sink);
        if left_in {
            cursor.layout.clear();
        }
    }

    /// Another call begins: the last one is over. Returns where the text of the next one begins, and its marker in the output.
    pub(super) fn end_last_call(&mut self) -> (usize, Option<usize>) {
        let Memory { cursor, speculation, .. } = &mut *self.memory;
        let held = speculation.take();
        let from = held.map_or(cursor.text_end, |held| held.text);
        self.deliver_refused(from);
        let Memory { calls, emitter, .. } = &mut *self.memory;
        calls.close(false, from, emitter, self.sink);
        (from, held.and_then(|held| emitter.place(held.marker)))
    }

    /// A call begins, of the name that the call builder keeps.
    pub(super) fn begin_call(&mut self, (from, at): (usize, Option<usize>)) {
        let Memory { speculation, calls, emitter, .. } = &mut *self.memory;
        calls.begin(from, at, self.options, emitter, self.sink);
        // Whether calls in reasoning count is asked of all that have a name.
        if speculation.trusts_calls() {
            calls.announce(emitter, self.sink);
        }
    }

    /// Something else begins at this offset, so what belongs to a call that was ruled out ends there.
    #[inline]
    pub(super) fn deliver_refused(&mut self, to: usize) {
        let Memory { calls: CallBuilder { refusal, .. }, emitter, .. } = &mut *self.memory;
        if refusal.is_open() {
            refusal.deliver(&self.input, to, false, emitter, self.sink);
        }
    }
}

/// The name of an offered tool in a label whose prefix or separator is written otherwise: without its punctuation, or with another.
fn offered_in(label: &str, prefix: &str, tools: &Tools) -> Option<Range<usize>> {
    let is_joint = |c: char| !c.is_alphanumeric();
    let word = prefix.trim_end_matches(is_joint);
    let after = if label.starts_with(word) { word.len() } else { 0 };
    let without_joint = label[after..].trim_start_matches(is_joint);
    let numbered = label.trim_end_matches(|c: char| c.is_ascii_digit());
    let starts = [0, after, label.len() - without_joint.len()];
    let ends = [label.len(), numbered.len(), numbered.trim_end_matches(is_joint).len()];
    let all = starts.into_iter().flat_map(|start| ends.into_iter().map(move |end| start..end));
    let is_offered = |name: &Range<usize>| label.get(name.clone()).is_some_and(|name| tools.get(name).is_some());
    all.filter(is_offered).max_by_key(ExactSizeIterator::len)
}
