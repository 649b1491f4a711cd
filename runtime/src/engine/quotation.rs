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
    begun: usize,
    over: usize,
    /// The end of the output cuts off a call before its name, after the calls that have begun.
    cut: bool,
    evidence: Option<Evidence>,
    /// How many calls had begun before the evidence came, and whether one had been cut off.
    before: (usize, bool),
}

/// What follows the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evidence {
    /// The calls count, if there is one.
    Counts,
    /// The first calls, this many, are quoted.
    Quoted(usize),
}

impl Watch {
    /// One more event. The end of the turn confirms the calls; text after them does not.
    pub(super) fn see(&mut self, event: &Event<'_>) {
        let evidence = match event {
            Event::ToolCallStart { .. } => {
                self.begun += 1;
                return;
            }
            Event::ToolCallEnd { .. } => {
                self.over += 1;
                return;
            }
            Event::Content(text) if self.begun > 0 && !text.trim_ascii().is_empty() => Evidence::Quoted(self.over),
            // Reasoning was opened anew, or no call has begun.
            Event::Reasoning(text) | Event::Content(text) if !text.trim_ascii().is_empty() => Evidence::Counts,
            // No call has begun.
            Event::Unparsed(_) if self.begun == 0 => Evidence::Counts,
            Event::Diagnostic(diagnostic) if diagnostic.kind == DiagnosticKind::AfterEnd => Evidence::Counts,
            Event::Diagnostic(diagnostic) => {
                let cut = matches!(diagnostic.kind, DiagnosticKind::AbandonedCall | DiagnosticKind::CutMarker);
                self.cut |= cut && self.begun > 0;
                return;
            }
            _ => return,
        };
        if self.evidence.is_none() {
            (self.evidence, self.before) = (Some(evidence), (self.begun, self.cut));
        }
    }

    /// What is known of the calls, if that is certain. A call after the closer of reasoning is the one that the model wants: those
    /// before the closer, `before_closer` calls, were drafts. What comes first decides, however much is read at a time.
    pub(super) fn evidence(&self, before_closer: Option<usize>) -> Option<Evidence> {
        let (begun, cut) = if self.evidence.is_some() { self.before } else { (self.begun, self.cut) };
        let drafts = before_closer.filter(|calls| begun > *calls || cut);
        drafts.map(Evidence::Quoted).or(self.evidence)
    }
}
