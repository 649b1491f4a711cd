//! The log of a reading: which piece of the output was taken for what, and where the text stopped fitting.

use std::ops::Range;

use serde::{Serialize, Serializer};

use crate::message::{Diagnostic, DiagnosticKind, Event};

/// What a piece of an output is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// The answer.
    Content,
    /// The chain of thought.
    Reasoning,
    /// Broken markup.
    Unparsed,
    /// A function's name.
    FunctionName,
    /// A call's id.
    CallId,
    /// An argument's name.
    ArgumentName,
    /// The arguments of a call, or the value of one argument.
    Arguments,
    /// A marker with its layout. The key of the marker in the spec; empty if it has none.
    Syntax(&'static str),
    /// Text that is held back: what comes next decides what it is.
    Held,
}

impl Taken {
    /// The name of the kind, in snake case.
    pub fn name(self) -> &'static str {
        match self {
            Taken::Content => "content",
            Taken::Reasoning => "reasoning",
            Taken::Unparsed => "unparsed",
            Taken::FunctionName => "function_name",
            Taken::CallId => "call_id",
            Taken::ArgumentName => "argument_name",
            Taken::Arguments => "arguments",
            Taken::Syntax(_) => "syntax",
            Taken::Held => "held",
        }
    }
}

impl Serialize for Taken {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// A piece of an output and what it is taken for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The offset after the last byte.
    pub end: usize,
    /// What it is taken for.
    pub taken: Taken,
    /// The key of the marker in the spec; empty if there is none.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub key: &'static str,
    /// The call that it belongs to, by its position from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<usize>,
    /// The state that read it, and which of its markers it is, both by position in the program.
    #[serde(skip)]
    pub row: Option<(usize, usize)>,
}

/// A place where the text did not fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stop {
    /// The offset of the byte that does not fit. If the end of the output does not fit, the length of the output.
    pub at: usize,
    /// The state that was reading.
    pub state: String,
    /// What the state reads besides markers; empty if only markers may come.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub reads: &'static str,
    /// The markers that would have fitted.
    pub expected: Vec<Expected>,
    /// Why it does not fit.
    pub why: Why,
    /// Where the text begins that was held back and became plain text; absent if nothing was held back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_from: Option<usize>,
    /// The call that was given up, by its position from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<usize>,
}

/// A marker that would have fitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Expected {
    /// Its key in the spec.
    pub key: &'static str,
    /// Its text.
    pub text: String,
}

/// Why a text does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Why {
    /// Something else came.
    Unexpected,
    /// No tool of this name was offered, and only an offered name makes it a call.
    NotOffered,
    /// The output ended.
    Ended,
    /// The call is over, but its closing marker is missing.
    NotClosed,
}

/// What was logged until now. Offsets count from the start of the text that the prompt wrote.
#[derive(Default)]
pub(super) struct Log {
    pub(super) spans: Vec<Span>,
    pub(super) stops: Vec<Stop>,
    /// The key of the last marker: white space after it is its layout.
    pub(super) key: &'static str,
    /// The call that is being read.
    pub(super) call: Option<usize>,
    /// The marker that is being read: its state, and its position there.
    pub(super) row: Option<(usize, usize)>,
    /// The addresses of the buffered text. Arguments that are passed on unchanged are pieces of it.
    pub(super) text: Range<usize>,
    /// The arguments that the current step passed on unchanged, as a range of the buffered text.
    pub(super) passed: Option<Range<usize>>,
    /// Bytes that are not UTF-8 follow them. They are arguments, too.
    pub(super) replaced: bool,
    /// How many bytes of the text the prompt wrote.
    prompt: usize,
    /// Where broken markup begins that goes to the end of the text.
    pub(super) tail: Option<usize>,
}

impl Log {
    pub(super) fn covered(&self) -> usize {
        self.spans.last().map_or(0, |span| span.end)
    }

    /// Text from `at` on is read again: forgets what it was taken for.
    pub(super) fn rewind(&mut self, at: usize) {
        while self.spans.last().is_some_and(|span| span.end > at) {
            match self.spans.last_mut() {
                Some(span) if span.start < at => span.end = at,
                _ => drop(self.spans.pop()),
            }
        }
    }

    /// A step begins.
    pub(super) fn begin(&mut self, text: &[u8], prompt: usize) {
        self.prompt = prompt;
        let start = text.as_ptr().addr();
        self.text = start..start + text.len();
        self.passed = None;
        self.replaced = false;
    }

    /// Notes which bytes of the text are arguments, if an event passes on a piece of the text itself. A call that is abandoned is
    /// broken markup.
    pub(super) fn note(&mut self, event: &Event<'_>) {
        if let Event::Diagnostic(Diagnostic { kind: DiagnosticKind::AbandonedCall, at: Some(at), .. }) = event {
            let call = self.prompt + at..self.covered();
            self.rewind(call.start);
            self.mark(call, Taken::Unparsed, None);
        }
        if let Event::Unparsed(text) = event {
            let start = text.as_ptr().addr().checked_sub(self.text.start);
            self.tail = start.filter(|start| start + text.len() == self.text.len()).or(self.tail);
        }
        let Event::ToolCallArguments { json, .. } = event else { return };
        let start = json.as_ptr().addr().checked_sub(self.text.start);
        match start.map(|start| start..start + json.len()) {
            Some(piece) if piece.end <= self.text.len() && !piece.is_empty() => {
                let from = self.passed.as_ref().map_or(piece.start, |passed| passed.start);
                self.passed = Some(from..piece.end);
                self.replaced = false;
            }
            _ => self.replaced = *json == "\u{FFFD}",
        }
    }

    pub(super) fn mark(&mut self, range: Range<usize>, taken: Taken, call: Option<usize>) {
        let start = range.start.max(self.covered());
        if start >= range.end {
            return;
        }
        let (key, call) = match taken {
            Taken::Syntax(key) => (key, call),
            Taken::Content | Taken::Reasoning | Taken::Held => ("", None),
            _ => ("", call),
        };
        match self.spans.last_mut() {
            // White space around a marker is a part of it.
            Some(last)
                if last.taken == taken
                    && last.call == call
                    && (last.row == self.row || last.row.is_none() || self.row.is_none()) =>
            {
                (last.end, last.row) = (range.end, last.row.or(self.row));
            }
            _ => self.spans.push(Span { start, end: range.end, taken, key, call, row: self.row }),
        }
    }

    /// Marks a name, or a value that says itself where it ends. White space before it is syntax. White space after a
    /// name is left to the next marker.
    pub(super) fn mark_trimmed(&mut self, text: &[u8], range: Range<usize>, taken: Taken, call: Option<usize>) {
        let piece = text.get(range.clone()).unwrap_or_default();
        let from = range.start + (piece.len() - piece.trim_ascii_start().len());
        let to = if taken == Taken::Arguments { range.end } else { from + piece.trim_ascii().len() };
        self.mark(range.start..from, Taken::Syntax(self.key), call);
        self.mark(from..to, taken, call);
    }
}
