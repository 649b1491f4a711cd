//! The way out: text and JSON become events, in whole characters.

use super::Io;
use crate::event::{Channel, Event};
use crate::message::{Diagnostic, DiagnosticKind};

impl Io<'_> {
    pub(super) fn emit_text(&mut self, channel: Channel, from: usize, to: usize) {
        let text = self.text;
        if channel == Channel::Reasoning && !self.memory.options.extract_reasoning {
            let opener = std::mem::take(&mut self.memory.opener);
            self.memory.reasoning_written = true;
            self.send_text(Channel::Content, &opener);
            self.send_text(Channel::Content, &text[from..to]);
            return;
        }
        self.send_text(channel, &text[from..to]);
    }

    pub(super) fn send_text(&mut self, channel: Channel, bytes: &[u8]) {
        for chunk in bytes.utf8_chunks() {
            if !chunk.valid().is_empty() {
                self.send_str(channel, chunk.valid());
            }
            if !chunk.invalid().is_empty() {
                self.send_str(channel, "\u{FFFD}");
                self.note_invalid_utf8();
            }
        }
    }

    pub(super) fn send_str(&mut self, channel: Channel, text: &str) {
        match channel {
            Channel::Reasoning => (self.sink)(Event::Reasoning(text)),
            Channel::Content => match &mut self.memory.fence {
                Some(fence) => fence.push(text, &mut |text| (self.sink)(Event::Content(text))),
                None => (self.sink)(Event::Content(text)),
            },
        }
    }

    pub(super) fn note_invalid_utf8(&mut self) {
        if !self.memory.invalid_utf8 {
            self.memory.invalid_utf8 = true;
            self.note(DiagnosticKind::InvalidUtf8, None, "");
        }
    }

    pub(super) fn note_malformed(&mut self, malformed: bool) {
        let Some(call) = &mut self.memory.call else { return };
        if malformed && !call.malformed {
            call.malformed = true;
            let index = call.index;
            self.note(DiagnosticKind::MalformedArguments, Some(index), "");
        }
    }

    pub(super) fn note(&mut self, kind: DiagnosticKind, call: Option<usize>, detail: &str) {
        (self.sink)(Event::Diagnostic(Diagnostic { kind, call, detail: detail.to_owned() }));
    }
}
