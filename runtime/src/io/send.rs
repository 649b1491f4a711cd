//! The way out: text and JSON become events, in whole characters.

use super::Io;
use crate::event::{Channel, Event};
use crate::message::{Diagnostic, DiagnosticKind};

impl Io<'_> {
    pub(super) fn emit_text(&mut self, channel: Channel, from: usize, to: usize) {
        if channel == Channel::Reasoning && !self.options.extract_reasoning {
            if !self.memory.opener.is_empty() {
                let mut opener = std::mem::take(&mut self.memory.opener);
                self.send_text(Channel::Content, &opener);
                opener.clear();
                self.memory.opener = opener;
            }
            self.memory.reasoning_written = true;
            self.send_range(Channel::Content, from, to);
            return;
        }
        self.send_range(channel, from, to);
    }

    fn send_range(&mut self, channel: Channel, from: usize, to: usize) {
        match self.valid.and_then(|text| text.get(from..to)) {
            Some(text) => self.send_str(channel, text),
            None => self.send_text(channel, &self.text[from..to]),
        }
    }

    fn send_text(&mut self, channel: Channel, bytes: &[u8]) {
        if let Ok(text) = std::str::from_utf8(bytes) {
            return self.send_str(channel, text);
        }
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
        if text.is_empty() {
            return;
        }
        self.send_written();
        match channel {
            Channel::Reasoning => (self.sink)(Event::Reasoning(text)),
            Channel::Content => match &mut self.memory.filter {
                Some(filter) => filter.push(text, &mut |text| (self.sink)(Event::Content(text))),
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

    #[cold]
    #[inline(never)]
    pub(super) fn note(&mut self, kind: DiagnosticKind, call: Option<usize>, detail: &str) {
        self.send_written();
        (self.sink)(Event::Diagnostic(Diagnostic { kind, call, detail: detail.to_owned() }));
    }
}
