//! An output: what each of its bytes is taken for, and where it does not match the format.

use serde::Serialize;
use unjinja_runtime::trace::{Expected, Reading, Stop, Why, states};
use unjinja_runtime::{Interpreter, Message, Options};

use super::options::ExplainOptions;
use super::parser::Rules;

/// An output, and how it is read.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OutputView {
    /// Its length in bytes.
    pub bytes: usize,
    /// Whether it is complete.
    pub over: bool,
    /// How the bytes are read: every byte once, in order.
    pub spans: Vec<SpanView>,
    /// Where the output does not match the format.
    pub stops: Vec<StopView>,
    /// The state in which reading ended.
    pub state: String,
    /// The markers that this state waits for.
    pub expected: Vec<Expected>,
    /// The message.
    pub message: Message,
    /// The diagnostics of the parser.
    pub diagnostics: Vec<DiagnosticView>,
}

/// A piece of an output.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SpanView {
    /// The offset of its first byte.
    pub start: usize,
    /// The offset after its last byte.
    pub end: usize,
    /// How it is read.
    pub taken: &'static str,
    /// The key of the marker, if it is one.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub key: &'static str,
    /// The rule that tolerates it, if no template writes it there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<&'static str>,
    /// The index of its call, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<usize>,
    /// The text. Invalid UTF-8 is replaced by U+FFFD.
    pub text: String,
}

/// A diagnostic of the parser, and where its text begins in the output.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DiagnosticView {
    /// The offset; absent if it concerns the whole output, or what the prompt wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<usize>,
    /// The sentence.
    pub text: String,
}

/// A place where an output does not match the format.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct StopView {
    /// The offset of the byte that does not fit.
    pub at: usize,
    /// Its line, from 1.
    pub line: usize,
    /// Its column in characters, from 1.
    pub column: usize,
    /// Why it does not fit.
    pub why: Why,
    /// The state that was reading.
    pub state: String,
    /// What that state reads in addition to markers.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub reads: &'static str,
    /// The markers that would have been accepted.
    pub expected: Vec<Expected>,
    /// The text there; empty at the end of the output.
    pub found: String,
    /// Where the text begins that was held back and then became plain text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_from: Option<usize>,
    /// The index of the call that was abandoned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<usize>,
    /// What happened there, as a clause.
    pub sentence: String,
    /// The consequence, as a clause.
    pub consequence: String,
}

/// Reads an output.
pub(super) fn reading(
    parser: &Interpreter,
    rules: &Rules,
    output: &[u8],
    explained: &ExplainOptions<'_>,
) -> OutputView {
    let mut options = Options::new();
    if let Some(tools) = explained.tools {
        options = options.tools(tools);
    }
    if let Some(prompt) = explained.generation_prompt {
        options = options.generation_prompt(prompt);
    }
    let Reading { spans, stops, state, message, .. } = parser.read(output, &options, explained.over);
    let text = |from: usize, to: usize| String::from_utf8_lossy(output.get(from..to).unwrap_or_default()).into_owned();
    let spans = spans.into_iter().map(|span| SpanView {
        start: span.start,
        end: span.end,
        taken: span.taken.name(),
        key: span.key,
        rule: span.row.and_then(|(state, marker)| *rules.get(state)?.get(marker)?),
        call: span.call,
        text: text(span.start, span.end),
    });
    let stops = stops.into_iter().map(|stop| {
        let before = text(0, stop.at);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        StopView {
            sentence: sentence(&stop),
            consequence: consequence(&stop),
            at: stop.at,
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            why: stop.why,
            state: stop.state,
            reads: stop.reads,
            expected: stop.expected,
            found: text(stop.at, (stop.at + EXCERPT).min(output.len())),
            held_from: stop.held_from,
            call: stop.call,
        }
    });
    OutputView {
        bytes: output.len(),
        over: explained.over,
        spans: spans.collect(),
        stops: stops.collect(),
        expected: waits_for(parser, &state),
        state,
        diagnostics: message
            .diagnostics
            .iter()
            .map(|one| DiagnosticView { at: one.at, text: one.to_string() })
            .collect(),
        message,
    }
}

/// The markers of a state.
fn waits_for(parser: &Interpreter, state: &str) -> Vec<Expected> {
    let states = states(parser.program());
    let markers = states.iter().filter(|known| known.name == state).flat_map(|known| &known.markers);
    markers.map(|marker| Expected { key: marker.key, text: marker.text.clone() }).collect()
}

/// How much of the unexpected text is shown, in bytes.
const EXCERPT: usize = 32;

/// What happened at a stop, as a clause.
fn sentence(stop: &Stop) -> String {
    match stop.why {
        Why::Ended if stop.held_from.is_some() => {
            "the output ended before it was certain that this is a call".to_owned()
        }
        Why::Ended => "the output ended before the call was closed".to_owned(),
        Why::NotOffered => {
            "no tool with this name was offered, and only the name of an offered tool makes this a call".to_owned()
        }
        Why::NotClosed => "the call is complete, but its closing marker is missing".to_owned(),
        _ if stop.reads.is_empty() => "only a marker may come here, and there is none".to_owned(),
        _ => format!("this cannot be {}", stop.reads),
    }
}

/// The consequence of a stop, as a clause.
fn consequence(stop: &Stop) -> String {
    match (stop.held_from, stop.call) {
        (Some(from), _) => format!("the text that was held back from byte {from} on is plain text"),
        (None, Some(call)) => format!("call {call} is incomplete"),
        (None, None) => "the text that follows is plain text".to_owned(),
    }
}
