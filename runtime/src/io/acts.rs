//! What a step does when it has found something: a call is announced, an argument begins, reasoning ends. And what
//! the engine does when the text does not fit, or is over.

use super::{Call, Hold, Io, Reader, Written};
use crate::event::{Channel, Event};
use crate::json;
use crate::machine::State;
use crate::message::DiagnosticKind;
use crate::value::{Types, ValueWriter};

impl Io<'_> {
    /// The marker that was just found may open a call. Until [`start_call`](Self::start_call) everything from it on
    /// is held back; if the text stops fitting, `state` goes on with it as plain text.
    pub fn hold(&mut self, state: State) {
        if self.memory.hold.is_none() {
            self.memory.hold = Some(Hold { text: self.memory.text_end, marker: self.memory.marker_at, state });
        }
    }

    /// Like [`hold`](Self::hold), where no marker but the text at hand itself may open a call.
    pub fn hold_here(&mut self, state: State) {
        if self.memory.hold.is_none() {
            let here = self.memory.pos;
            self.memory.hold = Some(Hold { text: here, marker: here, state });
        }
    }

    /// The name that was read announces a call.
    pub fn start_call(&mut self) {
        self.memory.name.clear();
        let capture = std::mem::take(&mut self.memory.capture);
        self.memory.name.push_str(&capture);
        self.memory.capture = capture;
        self.announce();
    }

    /// The label that was read is an id that holds the name: `prefix`, name, `separator`, index.
    pub fn start_call_labelled(&mut self, prefix: &str, separator: &str) {
        let label = std::mem::take(&mut self.memory.capture);
        let name = label.strip_prefix(prefix).unwrap_or(&label);
        let name = match name.rsplit_once(separator) {
            Some((name, index)) if !separator.is_empty() && index.bytes().all(|b| b.is_ascii_digit()) => name,
            _ => name,
        };
        self.memory.name.clear();
        self.memory.name.push_str(name);
        if name.len() < label.len() {
            self.memory.id.clear();
            self.memory.id.push_str(&label);
        }
        self.memory.capture = label;
        self.announce();
    }

    /// The text that was read is the call's id.
    pub fn id(&mut self) {
        let id = std::mem::take(&mut self.memory.capture);
        self.call_id(&id);
        self.memory.capture = id;
    }

    /// The name that was read announces a call, but only where it is among the tools offered. Returns whether it is.
    pub fn start_offered_call(&mut self) -> bool {
        let offered = self.memory.options.tools.get(&self.memory.capture).is_some();
        if offered {
            self.start_call();
        }
        offered
    }

    /// The text that was read is an argument's name; raw text follows, typed by the tool's schema. With `python`,
    /// values that are no strings may be Python literals.
    pub fn argument(&mut self, python: bool) {
        let types = self.memory.options.tools.argument_types(&self.memory.name, &self.memory.capture);
        self.begin_argument();
        self.memory.reader = Reader::Value(ValueWriter::new(types, python));
    }

    /// The text that was read is an argument's name; a string follows as raw text.
    pub fn argument_text(&mut self) {
        self.begin_argument();
        self.memory.reader = Reader::Value(ValueWriter::new(Types::STRING, false));
    }

    /// The text that was read is an argument's name; raw text follows that is no string.
    pub fn argument_other(&mut self, python: bool) {
        self.begin_argument();
        self.memory.reader = Reader::Value(ValueWriter::new(Types::NOT_STRING, python));
    }

    /// The text that was read is an argument's name; a literal follows.
    pub fn argument_literal(&mut self) {
        self.begin_argument();
        self.memory.reader = Reader::None;
    }

    pub(super) fn begin_argument(&mut self) {
        std::mem::swap(&mut self.memory.argument, &mut self.memory.capture);
        let mut out = std::mem::take(&mut self.memory.out);
        out.clear();
        let first = self.memory.call.as_ref().is_none_or(|call| call.written == Written::Nothing);
        out.extend_from_slice(if first { b"{\"" } else { b", \"" });
        json::escape_into(&self.memory.argument, &mut out);
        out.extend_from_slice(b"\": ");
        self.emit_out(out, Written::Members);
    }

    /// The value that was being read is complete.
    pub fn end_argument(&mut self) {
        if let Reader::Value(mut writer) = std::mem::take(&mut self.memory.reader) {
            let mut out = std::mem::take(&mut self.memory.out);
            out.clear();
            writer.finish(&mut out);
            self.emit_out(out, Written::Members);
            if writer.mismatch() {
                let argument = std::mem::take(&mut self.memory.argument);
                let call = self.memory.call.as_ref().map(|call| call.index);
                self.note(DiagnosticKind::ArgumentTypeMismatch, call, &argument);
                self.memory.argument = argument;
            }
            if writer.invalid_utf8() {
                self.note_invalid_utf8();
            }
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
        if !self.memory.options.extract_reasoning {
            self.memory.opener.extend_from_slice(&self.text[self.memory.marker_at..self.memory.pos]);
        }
    }

    /// The marker that was just found closes reasoning.
    pub fn close_reasoning(&mut self) {
        if !self.memory.options.extract_reasoning && self.memory.reasoning_written {
            let (from, to) = (self.memory.text_end, self.memory.pos);
            self.emit_text(Channel::Content, from, to);
            self.memory.skip.clear();
        }
        self.memory.opener.clear();
        self.memory.reasoning_written = false;
    }

    /// The text does not fit: what was held becomes plain text. Returns the state that reads it.
    pub(crate) fn recover(&mut self) -> Option<State> {
        let hold = self.memory.hold.take()?;
        let memory = &mut *self.memory;
        let misfit = memory.scan.max(memory.pos).max(hold.marker + 1);
        // Text is read again once, so that a marker inside it is found; a second time it is just text.
        memory.scan = if hold.marker < memory.retried {
            memory.retried.min(misfit).max(hold.marker + 1)
        } else {
            memory.retried = misfit;
            hold.marker + 1
        };
        memory.pos = hold.text;
        memory.reader = Reader::None;
        memory.capture.clear();
        memory.id.clear();
        memory.skip.clear();
        Some(hold.state)
    }

    pub(crate) fn holding(&self) -> bool {
        self.memory.hold.is_some()
    }

    /// Settles what the end of the text leaves open.
    pub(crate) fn settle(&mut self) {
        if let Reader::Value(writer) = &mut self.memory.reader {
            let mut out = std::mem::take(&mut self.memory.out);
            out.clear();
            writer.abort(&mut out);
            self.emit_out(out, Written::Members);
        }
        self.memory.reader = Reader::None;
        self.close_call(false);
        if let Some(mut fence) = self.memory.fence.take() {
            fence.finish(&mut |text| (self.sink)(Event::Content(text)));
        }
    }

    pub(super) fn announce(&mut self) {
        self.close_call(false);
        self.memory.hold = None;
        let index = self.memory.calls;
        self.memory.calls += 1;
        let id = (!self.memory.id.is_empty()).then_some(self.memory.id.as_str());
        (self.sink)(Event::ToolCallStart { index, name: &self.memory.name, id });
        let tools = &self.memory.options.tools;
        if !tools.is_empty() && tools.get(&self.memory.name).is_none() {
            let name = self.memory.name.clone();
            self.note(DiagnosticKind::UnknownTool, Some(index), &name);
        }
        if index > 0 && !self.memory.options.parallel_tool_calls {
            self.note(DiagnosticKind::ParallelCall, Some(index), "");
        }
        self.memory.call = Some(Call { index, written: Written::Nothing, malformed: false });
        self.memory.id.clear();
    }

    pub(super) fn call_id(&mut self, id: &str) {
        match &self.memory.call {
            Some(call) => (self.sink)(Event::ToolCallId { index: call.index, id }),
            None => {
                self.memory.id.clear();
                self.memory.id.push_str(id);
            }
        }
    }

    pub(super) fn send_arguments(&mut self, json: &str, written: Written) {
        if json.is_empty() {
            return;
        }
        if let Some(call) = &mut self.memory.call {
            call.written = written;
            (self.sink)(Event::ToolCallArguments { index: call.index, json });
        }
    }

    pub(super) fn emit_arguments(&mut self, from: usize, to: usize, written: Written) {
        let text = self.text;
        for chunk in text[from..to].utf8_chunks() {
            self.send_arguments(chunk.valid(), written);
            if !chunk.invalid().is_empty() {
                self.send_arguments("\u{FFFD}", written);
                self.note_invalid_utf8();
            }
        }
    }

    pub(super) fn emit_out(&mut self, out: Vec<u8>, written: Written) {
        match std::str::from_utf8(&out) {
            Ok(json) => self.send_arguments(json, written),
            Err(_) => self.send_arguments(&String::from_utf8_lossy(&out), written),
        }
        self.memory.out = out;
    }

    pub(super) fn close_call(&mut self, complete: bool) {
        let Some(call) = self.memory.call.take() else { return };
        if complete {
            match call.written {
                Written::Nothing => (self.sink)(Event::ToolCallArguments { index: call.index, json: "{}" }),
                Written::Members => (self.sink)(Event::ToolCallArguments { index: call.index, json: "}" }),
                Written::Whole => {}
            }
        } else {
            self.note(DiagnosticKind::IncompleteCall, Some(call.index), "");
        }
        (self.sink)(Event::ToolCallEnd { index: call.index, complete });
    }
}
