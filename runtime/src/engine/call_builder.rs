//! The call builder: a call is announced, with its name and id, with the first byte of its arguments or with its closer; its arguments
//! are sent as JSON, and it ends. If something else follows the name, the call is broken markup.
//!
//! It must not look at text to find out what comes next; it is told what was read.

use super::emitter::{Emitter, Sink};
use super::input::Input;
use super::refusal::Refusal;
use crate::inline_string::InlineString;
use crate::limits::{MAX_HELD, PIECE};
use crate::message::{Diagnostic, DiagnosticKind, Event};
use crate::options::Options;
use crate::readers::json::escape_bytes_into;
use crate::tools::Tools;

/// The open call, and what was read of the next one.
#[derive(Default)]
pub(crate) struct CallBuilder {
    pub(super) open: Option<OpenCall>,
    pub(super) count: usize,
    /// The id that was read for the next call.
    pub(super) id: InlineString,
    /// The name of the open call, or of the next one.
    pub(super) name: InlineString,
    /// Where the name of the open call begins in it, after a namespace that was not offered.
    bare: usize,
    pub(super) argument: InlineString,
    /// The next call has a recipient that is no tool.
    pub(super) is_lost: bool,
    /// The text of a call that does not count, or not yet.
    pub(super) refusal: Refusal,
    /// What is odd about the open call, until it is announced.
    later: Vec<Diagnostic>,
    /// Broken markup in the open call, which waits for the call's end.
    unparsed: Vec<u8>,
    /// A line of text ended before the calls.
    after_line: bool,
}

#[derive(Debug)]
pub(super) struct OpenCall {
    pub(super) index: usize,
    /// Where it begins in the output.
    at: Option<usize>,
    /// The tool of that name, by its position in the options.
    pub(super) tool: Option<usize>,
    pub(super) written: Written,
    /// The last member is a list whose next item may follow.
    pub(super) list: bool,
    malformed: bool,
    /// Something was read that is no part of a call.
    astray: bool,
    /// The caller ruled the call out, or it was abandoned. Nothing of it is sent.
    refused: bool,
    /// It is not announced yet, and its text is kept until then.
    waits: bool,
    /// The call counts only if it is complete, and its text is kept until then.
    kept: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Written {
    Nothing,
    /// The model's own JSON.
    Whole,
    /// At least one member of an object that the parser puts together.
    Members,
}

impl CallBuilder {
    /// The index of the open call, if its parts are sent.
    pub(super) fn index(&self) -> Option<usize> {
        self.open.as_ref().filter(|call| !call.refused).map(|call| call.index)
    }

    /// The position of the open call's tool among those that are offered.
    pub(super) fn tool(&self) -> Option<usize> {
        self.open.as_ref().and_then(|call| call.tool)
    }

    pub(super) fn is_refused(&self) -> bool {
        self.open.as_ref().is_some_and(|call| call.refused)
    }

    /// Whether a call is open that is not announced yet.
    pub(super) fn waits(&self) -> bool {
        self.open.as_ref().is_some_and(|call| call.waits)
    }

    /// Whether the text of the open call is kept until the call is complete.
    pub(super) fn is_kept(&self) -> bool {
        self.open.as_ref().is_some_and(|call| call.kept)
    }

    /// A call of the name that was kept begins with the text at `from`, at this place of the output. No call is open.
    pub(super) fn begin(
        &mut self,
        from: usize,
        at: Option<usize>,
        options: &Options,
        emitter: &mut Emitter,
        sink: Sink<'_>,
    ) {
        let index = self.count;
        self.after_line = emitter.last == b'\n';
        let tools = &options.tools;
        let name = offered_without_namespace(self.name.as_str(), tools);
        let tool = tools.position(name);
        let is_lost = std::mem::take(&mut self.is_lost);
        let why = match &options.callable {
            Some(callable) if !callable.iter().any(|callable| callable == name) => Some(DiagnosticKind::ForbiddenCall),
            _ if is_lost => Some(DiagnosticKind::UnknownTool),
            _ => (index > 0 && !options.parallel_tool_calls).then_some(DiagnosticKind::ParallelCall),
        };
        let refused = why.is_some();
        let unknown = (!refused && tool.is_none() && !tools.is_empty())
            .then(|| Diagnostic { at, ..Diagnostic::new(DiagnosticKind::UnknownTool, Some(index), name) });
        self.bare = self.name.as_str().len() - name.len();
        if let Some(why) = why {
            emitter.note(Diagnostic { at, ..Diagnostic::new(why, None, name) }, sink);
            self.refusal.begin(from);
            self.id.clear();
        } else {
            self.count += 1;
            emitter.call = index;
            self.refusal.keep(from, emitter);
        }
        self.later.extend(unknown);
        self.open = Some(OpenCall {
            index,
            at,
            tool,
            written: Written::Nothing,
            list: false,
            malformed: false,
            astray: false,
            refused,
            waits: !refused,
            kept: !refused && options.drops_calls,
        });
    }

    /// The open call counts: it is announced, unless it was already.
    #[inline]
    pub(super) fn announce(&mut self, emitter: &mut Emitter, sink: Sink<'_>) {
        if self.waits() {
            self.send_start(emitter, sink);
        }
    }

    #[inline(never)]
    fn send_start(&mut self, emitter: &mut Emitter, sink: Sink<'_>) {
        let Some(call) = &mut self.open else { return };
        call.waits = false;
        let id = (!self.id.is_empty()).then(|| self.id.as_str());
        sink(Event::ToolCallStart {
            index: call.index,
            name: self.name.as_str().get(self.bare..).unwrap_or_default(),
            id,
        });
        if !call.kept {
            self.refusal.forget(emitter);
        }
        self.id.clear();
        self.later.drain(..).for_each(|diagnostic| sink(Event::Diagnostic(diagnostic)));
    }

    /// The output ends within the open call. That alone is no reason to abandon it.
    pub(super) fn cut_off(&mut self, emitter: &mut Emitter, sink: Sink<'_>) {
        match &self.open {
            Some(call) if call.waits && call.astray => self.abandon(emitter, sink),
            _ => self.announce(emitter, sink),
        }
    }

    /// The call is announced if its text, which ends at `to` for now, is too long to wait.
    pub(super) fn announce_long(&mut self, to: usize, emitter: &mut Emitter, sink: Sink<'_>) {
        if self.waits() && self.refusal.kept_bytes(to, emitter) > MAX_HELD {
            self.announce(emitter, sink);
        }
    }

    /// What was read of the open call holds something that is no part of a call.
    pub(super) fn note_astray(&mut self, astray: bool) {
        if let Some(call) = &mut self.open {
            call.astray |= astray;
        }
    }

    /// Sends the id that was read, unless it goes with the announcement of a call.
    pub(super) fn send_id(&mut self, emitter: &mut Emitter, sink: Sink<'_>) {
        let Some(call) = self.open.as_ref().filter(|call| !call.waits) else { return };
        emitter.flush(sink);
        if !call.refused {
            sink(Event::ToolCallId { index: call.index, id: self.id.as_str() });
        }
        self.id.clear();
    }

    /// Reports something about the open call.
    pub(super) fn note(&mut self, kind: DiagnosticKind, detail: &str, emitter: &mut Emitter, sink: Sink<'_>) {
        let Some(call) = &self.open else { return };
        self.note_at(Diagnostic { at: call.at, ..Diagnostic::new(kind, Some(call.index), detail) }, emitter, sink);
    }

    /// Reports this about the open call, if there is one.
    pub(super) fn note_at(&mut self, diagnostic: Diagnostic, emitter: &mut Emitter, sink: Sink<'_>) {
        match &self.open {
            Some(call) if call.refused => {}
            Some(call) if call.waits => self.later.push(diagnostic),
            _ => emitter.note(diagnostic, sink),
        }
    }

    /// Begins the next member of the arguments: writes its key.
    pub(super) fn begin_argument(&mut self, name: Option<&str>, emitter: &mut Emitter, sink: Sink<'_>) {
        let first = self.open.as_ref().is_none_or(|call| call.written == Written::Nothing);
        let list = self.open.as_mut().is_some_and(|call| std::mem::take(&mut call.list));
        let out = &mut emitter.arguments;
        if list {
            out.push(b']');
        }
        out.extend_from_slice(if first { b"{\"" } else { b", \"" });
        let name = name.unwrap_or_else(|| self.argument.as_str());
        escape_bytes_into(name.as_bytes(), out);
        out.extend_from_slice(b"\": ");
        self.wrote(Written::Members, emitter, sink);
    }

    /// Arguments may have been written to the emitter. They are dropped if no call is open.
    pub(super) fn wrote(&mut self, written: Written, emitter: &mut Emitter, sink: Sink<'_>) {
        if emitter.arguments.is_empty() {
            return;
        }
        self.announce(emitter, sink);
        match &mut self.open {
            Some(call) if !call.refused => call.written = written,
            _ => emitter.arguments.clear(),
        }
        emitter.flush_if_long(sink);
    }

    /// Sends arguments that need no translation: the input holds them verbatim.
    pub(super) fn pass_arguments(
        &mut self,
        input: &Input<'_>,
        from: usize,
        to: usize,
        emitter: &mut Emitter,
        sink: Sink<'_>,
    ) {
        if let Some(json) = input.slice(from, to) {
            return self.send_arguments(json, emitter, sink);
        }
        for chunk in input.bytes[from..to].utf8_chunks() {
            self.send_arguments(chunk.valid(), emitter, sink);
            if !chunk.invalid().is_empty() {
                self.send_arguments("\u{FFFD}", emitter, sink);
                emitter.note_invalid_utf8(sink);
            }
        }
    }

    fn send_arguments(&mut self, json: &str, emitter: &mut Emitter, sink: Sink<'_>) {
        if json.is_empty() {
            return;
        }
        emitter.flush(sink);
        self.announce(emitter, sink);
        if let Some(call) = self.open.as_mut().filter(|call| !call.refused) {
            call.written = Written::Whole;
            sink(Event::ToolCallArguments { index: call.index, json });
        }
    }

    /// Reports, once for each call, that its arguments broke a rule.
    pub(super) fn note_malformed(&mut self, malformed: bool, emitter: &mut Emitter, sink: Sink<'_>) {
        let Some(call) = &mut self.open else { return };
        if malformed && !call.malformed {
            call.malformed = true;
            self.note(DiagnosticKind::MalformedArguments, "", emitter, sink);
        }
    }

    /// The open call is over, at the offset `to` of the buffered text. If it is complete, its arguments are closed.
    pub(super) fn close(&mut self, complete: bool, to: usize, emitter: &mut Emitter, sink: Sink<'_>) {
        let Some(call) = &self.open else { return };
        // What was written in the place of the arguments may be no `{}`.
        let complete = complete && !((call.astray || call.malformed) && call.written == Written::Nothing);
        self.announce_long(to, emitter, sink);
        if complete {
            self.announce(emitter, sink);
        } else if self.waits() {
            self.abandon(emitter, sink);
        }
        let Some(call) = &self.open else { return };
        let (refused, dropped, at) = (call.refused, call.kept && !complete, call.at);
        if complete && !refused {
            match call.written {
                Written::Nothing => emitter.arguments.extend_from_slice(b"{}"),
                Written::Members if call.list => emitter.arguments.extend_from_slice(b"]}"),
                Written::Members => emitter.arguments.push(b'}'),
                Written::Whole => {}
            }
        }
        emitter.flush(sink);
        if dropped {
            emitter.note(Diagnostic { at, ..Diagnostic::new(DiagnosticKind::IncompleteCall, None, "") }, sink);
        } else if !complete {
            self.note(DiagnosticKind::IncompleteCall, "", emitter, sink);
        }
        let Some(call) = self.open.take() else { return };
        // Arguments that were sent are no text.
        emitter.last = if self.after_line { b'\n' } else { 0 };
        if refused {
            // Its text is delivered as it is.
            self.unparsed.clear();
            return;
        }
        sink(Event::ToolCallEnd { index: call.index, complete });
        if dropped {
            self.count -= 1;
            self.unparsed.clear();
            return self.refusal.release(emitter, sink);
        }
        self.refusal.forget(emitter);
        self.send_unparsed(emitter, sink);
    }

    /// Something else follows the name of the open call: all of it is broken markup.
    #[cold]
    fn abandon(&mut self, emitter: &mut Emitter, sink: Sink<'_>) {
        let Some(call) = &mut self.open else { return };
        (call.waits, call.kept, call.refused) = (false, false, true);
        let name = self.name.as_str().get(self.bare..).unwrap_or_default();
        emitter.note(Diagnostic { at: call.at, ..Diagnostic::new(DiagnosticKind::AbandonedCall, None, name) }, sink);
        self.count -= 1;
        self.id.clear();
        self.later.clear();
        self.refusal.release(emitter, sink);
    }

    /// Keeps broken markup in the open call. It is sent after the call, so that no text comes inside a call, unless it
    /// is so long that it would take too much memory.
    pub(super) fn keep_unparsed(&mut self, text: &[u8], emitter: &mut Emitter, sink: Sink<'_>) {
        if self.is_refused() {
            return;
        }
        self.unparsed.extend_from_slice(text);
        if self.unparsed.len() >= PIECE && !self.is_kept() && !self.waits() {
            self.send_unparsed(emitter, sink);
        }
    }

    fn send_unparsed(&mut self, emitter: &mut Emitter, sink: Sink<'_>) {
        if !self.unparsed.is_empty() {
            emitter.unparsed(&self.unparsed, sink);
            self.unparsed.clear();
        }
    }
}

/// The namespace of the functions that a request offers. Models write it also where their template does not.
const NAMESPACE: &str = "functions.";

/// A name without that namespace, if only so it was offered.
fn offered_without_namespace<'n>(name: &'n str, tools: &Tools) -> &'n str {
    let bare = name.strip_prefix(NAMESPACE).filter(|bare| tools.get(name).is_none() && tools.get(bare).is_some());
    bare.unwrap_or(name)
}
