//! Whether a call in reasoning is a call, or quoted there: what follows it tells.
//!
//! It sees the events of a trial, and must not know how they are made.

use crate::message::{DiagnosticKind, Event};

/// What becomes of a call in reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It counts, if it is a call.
    Counts,
    /// It is text of the reasoning, up to this offset.
    Quoted(usize),
}

/// The events of a trial, as far as they have come.
#[derive(Debug, Default)]
pub(super) struct Watch {
    has_call: bool,
    verdict: Option<bool>,
}

impl Watch {
    /// One more event. The end of the turn or another call confirms the call; text after it does not.
    pub(super) fn see(&mut self, event: &Event<'_>) {
        let counts = match event {
            Event::ToolCallStart { .. } if !self.has_call => {
                self.has_call = true;
                return;
            }
            Event::ToolCallStart { .. } => true,
            Event::Reasoning(text) | Event::Content(text) if !text.trim_ascii().is_empty() => !self.has_call,
            // No call has begun.
            Event::Unparsed(_) if !self.has_call => true,
            Event::Diagnostic(diagnostic) if diagnostic.kind == DiagnosticKind::AfterEnd => true,
            _ => return,
        };
        self.verdict.get_or_insert(counts);
    }

    /// What becomes of the call, if that is certain. `call_end` is where it ended.
    pub(super) fn verdict(&self, call_end: Option<usize>) -> Option<Verdict> {
        self.verdict.map(|counts| if counts { Verdict::Counts } else { Verdict::Quoted(call_end.unwrap_or_default()) })
    }
}
