//! What a step does when it has found something: a call is announced, an argument begins, reasoning ends. And what
//! the engine does when the text does not fit, or is over.

use std::borrow::Cow;

use super::names::SoFar;
use super::{Call, Hold, Io, PIECE, Reading, Written};
use crate::event::{Channel, Event};
use crate::json;
use crate::message::DiagnosticKind;
use crate::program::StateId;
use crate::value::Types;

impl<'a> Io<'a> {
    /// The marker that was just found may open a call. Until [`start_call`](Self::start_call) everything from it on
    /// is held back; if the text stops fitting, `state` goes on with it as plain text.
    pub fn speculate(&mut self, state: StateId) {
        if self.memory.hold.is_none() {
            self.memory.hold = Some(Hold { text: self.memory.text_end, marker: self.memory.marker_at, state });
        }
    }

    /// Like [`speculate`](Self::speculate), where no marker but the text at hand itself may open a call.
    pub fn speculate_here(&mut self, state: StateId) {
        if self.memory.hold.is_none() {
            let here = self.memory.pos;
            self.memory.hold = Some(Hold { text: here, marker: here, state });
        }
    }

    /// The name that was read announces a call.
    pub fn start_call(&mut self) {
        let memory = &mut *self.memory;
        if self.captured.is_none() {
            memory.name.set(memory.capture.as_bytes());
        }
        self.announce(self.captured);
    }

    /// The label that was read is an id that holds the name: `prefix`, name, `separator`, index.
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
        let memory = &mut *self.memory;
        let label = self.captured.unwrap_or_else(|| memory.capture.as_str());
        let name = without_affixes(label);
        memory.name.set(label[name.clone()].as_bytes());
        if name.len() < label.len() {
            memory.id.set(label.as_bytes());
            self.captured_id = self.captured;
        }
        self.announce(self.captured.map(|label| &label[name]));
    }

    /// The text that was read is the call's id.
    pub fn id(&mut self) {
        let memory = &mut *self.memory;
        match &memory.call {
            &Some(Call { index, .. }) => {
                self.send_written();
                let id = self.captured.unwrap_or_else(|| self.memory.capture.as_str());
                (self.sink)(Event::ToolCallId { index, id });
            }
            None => {
                memory.id.set(memory.capture.as_bytes());
                self.captured_id = self.captured;
            }
        }
    }

    /// The name that was read announces a call, but only where it is among the tools offered. Returns whether it is.
    pub fn start_offered_call(&mut self) -> bool {
        let name = self.captured.unwrap_or_else(|| self.memory.capture.as_str());
        let offered = self.options.tools.get(name).is_some();
        if offered {
            self.start_call();
        }
        offered
    }

    /// The text that was read is an argument's name; raw text follows, typed by the tool's schema. With `python`,
    /// values that are no strings may be Python literals.
    pub fn argument(&mut self, python: bool) {
        let tool = self.memory.call.as_ref().and_then(|call| call.tool);
        let argument = self.captured.unwrap_or_else(|| self.memory.capture.as_str());
        let types = tool.map_or(Types::UNKNOWN, |tool| self.options.tools.types_of(tool, argument));
        self.begin_argument();
        self.read_value(types, python);
    }

    /// The text that was read is an argument's name; a string follows as raw text.
    pub fn argument_text(&mut self) {
        self.begin_argument();
        self.read_value(Types::STRING, false);
    }

    /// The text that was read is an argument's name; raw text follows that is no string.
    pub fn argument_other(&mut self, python: bool) {
        self.begin_argument();
        self.read_value(Types::NOT_STRING, python);
    }

    /// The text that was read is an argument's name; a literal follows.
    pub fn argument_literal(&mut self) {
        self.begin_argument();
        self.memory.reading = Reading::Nothing;
    }

    fn read_value(&mut self, types: Types, python: bool) {
        self.memory.reading = Reading::Value;
        self.memory.abort = Some(|readers, out| {
            readers.value.abort(out);
            readers.value.invalid_utf8()
        });
        self.memory.readers.value.restart(types, python);
    }

    fn begin_argument(&mut self) {
        let memory = &mut *self.memory;
        memory.argument.set(memory.capture.as_bytes());
        let first = memory.call.as_ref().is_none_or(|call| call.written == Written::Nothing);
        memory.out.extend_from_slice(if first { b"{\"" } else { b", \"" });
        let name = self.captured.unwrap_or_else(|| memory.argument.as_str());
        json::escape_bytes_into(name.as_bytes(), &mut memory.out);
        memory.out.extend_from_slice(b"\": ");
        self.wrote(Written::Members);
    }

    /// The value that was being read is complete.
    pub fn end_argument(&mut self) {
        if self.memory.reading != Reading::Value {
            return;
        }
        let memory = &mut *self.memory;
        memory.reading = Reading::Nothing;
        memory.readers.value.finish(&mut memory.out);
        let (mismatch, invalid) = (memory.readers.value.mismatch(), memory.readers.value.invalid_utf8());
        self.wrote(Written::Members);
        if mismatch {
            let argument = self.memory.argument.clone();
            let call = self.memory.call.as_ref().map(|call| call.index);
            self.note(DiagnosticKind::ArgumentTypeMismatch, call, argument.as_str());
        }
        if invalid {
            self.note_invalid_utf8();
        }
    }

    /// The call that is open is closed as its format wants it.
    pub fn end_call(&mut self) {
        self.close_call(true);
    }

    /// The call that is open is over, though what should close it is missing.
    pub fn end_call_incomplete(&mut self) {
        self.close_call(false);
    }

    /// The marker that was just found opens reasoning.
    pub fn open_reasoning(&mut self) {
        self.memory.reasoning_written = false;
        self.memory.opener.clear();
        if !self.options.extract_reasoning {
            self.memory.opener.extend_from_slice(&self.text[self.memory.marker_at..self.memory.pos]);
        }
    }

    /// The marker that was just found closes reasoning.
    pub fn close_reasoning(&mut self) {
        if !self.options.extract_reasoning && self.memory.reasoning_written {
            let (from, to) = (self.memory.text_end, self.memory.pos);
            self.emit_text(Channel::Content, from, to);
            self.memory.skip.clear();
        }
        self.memory.opener.clear();
        self.memory.reasoning_written = false;
    }

    /// The text does not fit: what was held becomes plain text. Returns the state that reads it.
    pub(crate) fn recover(&mut self) -> Option<StateId> {
        let hold = self.memory.hold.take()?;
        let memory = &mut *self.memory;
        let looked_at = memory.look.from.max(memory.pos + memory.name_so_far.read());
        let misfit = looked_at.max(hold.marker + 1);
        // Text is read again once, so that a marker inside it is found; a second time it is just text.
        let from = if hold.marker < memory.retried {
            memory.retried.min(misfit).max(hold.marker + 1)
        } else {
            memory.retried = misfit;
            hold.marker + 1
        };
        memory.look.restart(from);
        memory.pos = hold.text;
        memory.reading = Reading::Nothing;
        memory.name_so_far = SoFar::default();
        memory.capture.clear();
        (self.captured, self.captured_id) = (None, None);
        memory.id.clear();
        memory.skip.clear();
        Some(hold.state)
    }

    pub(crate) fn holding(&self) -> bool {
        self.memory.hold.is_some()
    }

    /// Settles what the end of the text leaves open.
    pub(crate) fn settle(&mut self) {
        if self.memory.reading == Reading::Value
            && let Some(abort) = self.memory.abort
        {
            let memory = &mut *self.memory;
            let invalid = abort(&mut memory.readers, &mut memory.out);
            self.wrote(Written::Members);
            if invalid {
                self.note_invalid_utf8();
            }
        }
        self.memory.reading = Reading::Nothing;
        self.close_call(false);
        if let Some(mut filter) = self.memory.filter.take() {
            filter.finish(&mut |text| (self.sink)(Event::Content(text)));
        }
    }

    /// A call begins, of the function of this name, or else of that in the memory.
    pub(super) fn announce(&mut self, name: Option<&'a str>) {
        self.close_call(false);
        self.memory.hold = None;
        let index = self.memory.calls;
        self.memory.calls += 1;
        let id = || (!self.memory.id.is_empty()).then(|| self.memory.id.as_str());
        let id = self.captured_id.take().or_else(id);
        let name = name.unwrap_or_else(|| self.memory.name.as_str());
        let tools = &self.options.tools;
        let tool = tools.position(name);
        let unknown = (tool.is_none() && !tools.is_empty()).then(|| name.to_owned());
        (self.sink)(Event::ToolCallStart { index, name, id });
        if let Some(name) = unknown {
            self.note(DiagnosticKind::UnknownTool, Some(index), &name);
        }
        if index > 0 && !self.options.parallel_tool_calls {
            self.note(DiagnosticKind::ParallelCall, Some(index), "");
        }
        self.memory.call = Some(Call { index, tool, written: Written::Nothing, malformed: false });
        self.memory.id.clear();
    }

    fn send_arguments(&mut self, json: &str, written: Written) {
        if json.is_empty() {
            return;
        }
        self.send_written();
        if let Some(call) = &mut self.memory.call {
            call.written = written;
            (self.sink)(Event::ToolCallArguments { index: call.index, json });
        }
    }

    pub(super) fn emit_arguments(&mut self, from: usize, to: usize, written: Written) {
        if let Some(json) = self.valid.and_then(|text| text.get(from..to)) {
            return self.send_arguments(json, written);
        }
        let text = self.text;
        for chunk in text[from..to].utf8_chunks() {
            self.send_arguments(chunk.valid(), written);
            if !chunk.invalid().is_empty() {
                self.send_arguments("\u{FFFD}", written);
                self.note_invalid_utf8();
            }
        }
    }

    /// Arguments of the open call may have been written to `out`. They are sent together with those that follow, before
    /// anything else, and with the end of the text at hand at the latest.
    pub(super) fn wrote(&mut self, written: Written) {
        let memory = &mut *self.memory;
        if memory.out.is_empty() {
            return;
        }
        match &mut memory.call {
            Some(call) => call.written = written,
            None => memory.out.clear(),
        }
        if memory.out.len() >= PIECE {
            self.send_written();
        }
    }

    /// Sends what was written to `out`.
    #[inline]
    pub(crate) fn send_written(&mut self) {
        if !self.memory.out.is_empty() {
            self.send_out();
        }
    }

    #[inline(never)]
    fn send_out(&mut self) {
        let memory = &mut *self.memory;
        let mut invalid = false;
        if let Some(Call { index, .. }) = memory.call {
            let json = json::lossy(&memory.out);
            invalid = matches!(json, Cow::Owned(_));
            (self.sink)(Event::ToolCallArguments { index, json: &json });
        }
        memory.out.clear();
        if invalid {
            self.note_invalid_utf8();
        }
    }

    pub(super) fn emit_value(&mut self, from: usize, to: usize) {
        let memory = &mut *self.memory;
        memory.look.work.add(to - from);
        if memory.reading != Reading::Value {
            return;
        }
        let mut from = from;
        while from < to {
            // Piece by piece what is written stays small, however long the value is.
            let end = match self.valid {
                Some(text) if to - from > PIECE => {
                    (from + PIECE..to).find(|&at| text.is_char_boundary(at)).unwrap_or(to)
                }
                _ => to,
            };
            let memory = &mut *self.memory;
            let value = &mut memory.readers.value;
            value.begin(&mut memory.out);
            match self.valid.filter(|_| value.writes_text()).and_then(|text| text.get(from..end)) {
                Some(text) => json::escape_bytes_into(text.as_bytes(), &mut memory.out),
                None => value.feed(&self.text[from..end], &mut memory.out),
            }
            self.wrote(Written::Members);
            from = end;
        }
    }

    pub(super) fn close_call(&mut self, complete: bool) {
        let Some(call) = &self.memory.call else { return };
        if complete {
            match call.written {
                Written::Nothing => self.memory.out.extend_from_slice(b"{}"),
                Written::Members => self.memory.out.push(b'}'),
                Written::Whole => {}
            }
        }
        self.send_written();
        let Some(call) = self.memory.call.take() else { return };
        if !complete {
            self.note(DiagnosticKind::IncompleteCall, Some(call.index), "");
        }
        (self.sink)(Event::ToolCallEnd { index: call.index, complete });
    }
}
