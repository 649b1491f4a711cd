//! The emitter: text and JSON become events, in whole characters and in the order of the text.
//!
//! It must not decide what a piece of text is. It keeps arguments that were written but not sent yet; everything else sends
//! them first.

use std::borrow::Cow;

use super::input::Input;
use super::token_counts::TokenCounter;
use crate::limits::PIECE;
use crate::message::{Channel, Diagnostic, DiagnosticKind, Event};
use crate::options::{Filter, Options, Unparsed};
use crate::utf8::lossy;

pub(super) type Sink<'s> = &'s mut dyn FnMut(Event<'_>);

/// What is kept of the output between two events.
pub(crate) struct Emitter {
    /// Arguments of the open call, as JSON, that were written and not sent yet. They are sent together with those that
    /// follow, and at the end of a push at the latest.
    pub(super) arguments: Vec<u8>,
    /// The call that they belong to, by its index.
    pub(super) call: usize,
    /// Room to put together what waited and the piece after it.
    pub(super) joined: String,
    /// What the answer goes through, if the options ask for it.
    filter: Option<Box<dyn Filter>>,
    extract_reasoning: bool,
    /// If reasoning is left in the content: its opening marker, until there is reasoning.
    opener: Vec<u8>,
    reasoning_written: bool,
    invalid_utf8: bool,
    unparsed: Unparsed,
    /// How many bytes at the start of the buffered text the prompt wrote as the beginning of a marker. They are no text
    /// of the message.
    pub(super) begun: usize,
    /// The last byte of text that was sent before what is open.
    pub(super) last: u8,
    /// Where the buffered text begins in the output, in bytes. Negative while it holds what the prompt wrote.
    pub(super) base: i64,
    /// The tokens that were pushed, and what they became.
    pub(super) tokens: TokenCounter,
}

impl Emitter {
    #[inline]
    pub(super) fn new(options: &Options) -> Self {
        Self {
            arguments: Vec::new(),
            call: 0,
            joined: String::new(),
            filter: options.filter.map(|make| make()),
            extract_reasoning: options.extract_reasoning,
            opener: Vec::new(),
            reasoning_written: false,
            invalid_utf8: false,
            unparsed: options.unparsed,
            begun: 0,
            last: 0,
            base: 0,
            tokens: TokenCounter::default(),
        }
    }

    /// Plain text of a channel, between two offsets of the input.
    pub(super) fn text(&mut self, channel: Channel, input: &Input<'_>, from: usize, to: usize, sink: Sink<'_>) {
        if channel == Channel::Reasoning && !self.extract_reasoning {
            if !self.opener.is_empty() {
                let mut opener = std::mem::take(&mut self.opener);
                self.bytes(Channel::Content, &opener, sink);
                opener.clear();
                self.opener = opener;
            }
            self.reasoning_written = true;
            return self.range(Channel::Content, input, from, to, sink);
        }
        self.range(channel, input, from, to, sink);
    }

    fn range(&mut self, channel: Channel, input: &Input<'_>, from: usize, to: usize, sink: Sink<'_>) {
        let from = from.max(self.begun).min(to);
        self.count(channel, self.base + from as i64, self.base + to as i64);
        match input.slice(from, to) {
            Some(text) => self.str(channel, text, sink),
            None => self.bytes(channel, &input.bytes[from..to], sink),
        }
    }

    fn count(&mut self, channel: Channel, from: i64, to: i64) {
        let delivered = match channel {
            Channel::Unparsed if self.unparsed == Unparsed::Content => Channel::Content,
            channel => channel,
        };
        self.tokens.text(delivered, from, to);
    }

    /// Broken markup that was kept, and that begins at this place of the output.
    pub(super) fn kept_text(&mut self, text: &[u8], at: i64, sink: Sink<'_>) {
        self.count(Channel::Unparsed, at, at + text.len() as i64);
        self.unparsed(text, sink);
    }

    /// Broken markup that was taken out of the input.
    pub(super) fn unparsed(&mut self, text: &[u8], sink: Sink<'_>) {
        self.bytes(Channel::Unparsed, text, sink);
    }

    fn bytes(&mut self, channel: Channel, bytes: &[u8], sink: Sink<'_>) {
        if let Ok(text) = std::str::from_utf8(bytes) {
            return self.str(channel, text, sink);
        }
        for chunk in bytes.utf8_chunks() {
            if !chunk.valid().is_empty() {
                self.str(channel, chunk.valid(), sink);
            }
            if !chunk.invalid().is_empty() {
                self.str(channel, "\u{FFFD}", sink);
                self.note_invalid_utf8(sink);
            }
        }
    }

    fn str(&mut self, channel: Channel, text: &str, sink: Sink<'_>) {
        if text.is_empty() {
            return;
        }
        self.flush(sink);
        if channel != Channel::Unparsed {
            self.last = text.as_bytes().last().copied().unwrap_or_default();
        }
        match channel {
            Channel::Reasoning => sink(Event::Reasoning(text)),
            Channel::Unparsed if self.unparsed == Unparsed::Separate => sink(Event::Unparsed(text)),
            Channel::Content | Channel::Unparsed => match &mut self.filter {
                Some(filter) => filter.push(text, &mut |text| sink(Event::Content(text))),
                None => sink(Event::Content(text)),
            },
        }
    }

    /// The channel in which text of `channel` may be passed on unchanged; `None` if something has to look at it first.
    pub(super) fn passes_unchanged(&self, channel: Channel) -> Option<Channel> {
        match channel {
            Channel::Reasoning if self.extract_reasoning => Some(Channel::Reasoning),
            Channel::Unparsed if self.unparsed == Unparsed::Separate => Some(Channel::Unparsed),
            _ if self.filter.is_some() || !self.opener.is_empty() => None,
            _ => Some(Channel::Content),
        }
    }

    pub(super) fn open_reasoning(&mut self, marker: &[u8]) {
        self.reasoning_written = false;
        self.opener.clear();
        self.keep_opener(marker);
    }

    /// The generation prompt opened reasoning with this text, or the opening marker continues with it.
    pub(super) fn keep_opener(&mut self, text: &[u8]) {
        if !self.extract_reasoning {
            self.opener.extend_from_slice(text);
        }
    }

    /// White space after a marker was taken as its layout.
    pub(super) fn layout_taken(&mut self, layout: &[u8]) {
        if !self.opener.is_empty() {
            self.keep_opener(layout);
        }
    }

    /// A marker closed reasoning. `from..to` is the marker's range in the input, with its layout. Returns whether it
    /// was left in the content.
    pub(super) fn close_reasoning(&mut self, input: &Input<'_>, from: usize, to: usize, sink: Sink<'_>) -> bool {
        let left_in = !self.extract_reasoning && self.reasoning_written;
        if left_in {
            self.text(Channel::Content, input, from, to, sink);
        }
        self.opener.clear();
        self.reasoning_written = false;
        self.last = 0;
        left_in
    }

    /// Sends arguments that were written if they are long, so that little is kept.
    pub(super) fn flush_if_long(&mut self, sink: Sink<'_>) {
        if self.arguments.len() >= PIECE {
            self.flush(sink);
        }
    }

    /// Sends arguments that were written.
    #[inline]
    pub(super) fn flush(&mut self, sink: Sink<'_>) {
        if !self.arguments.is_empty() {
            self.send_arguments(sink);
        }
    }

    #[inline(never)]
    fn send_arguments(&mut self, sink: Sink<'_>) {
        let json = lossy(&self.arguments);
        let invalid = matches!(json, Cow::Owned(_));
        sink(Event::ToolCallArguments { index: self.call, json: &json });
        self.arguments.clear();
        if invalid {
            self.note_invalid_utf8(sink);
        }
    }

    /// Reports, once for each turn, that bytes were not UTF-8.
    pub(super) fn note_invalid_utf8(&mut self, sink: Sink<'_>) {
        if !self.invalid_utf8 {
            self.invalid_utf8 = true;
            self.note(Diagnostic::new(DiagnosticKind::InvalidUtf8, None, ""), sink);
        }
    }

    /// Reports something odd about the output.
    #[cold]
    #[inline(never)]
    pub(super) fn note(&mut self, diagnostic: Diagnostic, sink: Sink<'_>) {
        self.flush(sink);
        sink(Event::Diagnostic(diagnostic));
    }

    /// Where an offset of the buffered text is in the output; `None` if the prompt wrote it.
    pub(super) fn place(&self, offset: usize) -> Option<usize> {
        usize::try_from(self.base.saturating_add_unsigned(offset as u64)).ok()
    }

    pub(super) fn finish(&mut self, sink: Sink<'_>) {
        if let Some(mut filter) = self.filter.take() {
            filter.finish(&mut |text| sink(Event::Content(text)));
        }
    }
}
