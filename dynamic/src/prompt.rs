//! A rendered prompt, and where in it the assistant's turn begins.

use serde_json::Value;
use unjinja_render::{Clock, Labels};
use unjinja_runtime::{Channel, Event, Interpreter, Options, Stream};
use unjinja_spec::{TurnMarkers, WrittenTags};

/// A rendered prompt with the origin of each byte. [`Model::render_labelled`](crate::Model::render_labelled) makes it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LabelledPrompt {
    /// All of it: what the model reads.
    pub text: String,
    /// Where each part comes from. The paths are those of `context`.
    pub labels: Labels,
    /// The variables that the template got, in an object: the messages as they were handed over.
    pub context: Value,
    /// The tags of reasoning that were written into messages when they were handed over.
    pub written: Vec<WrittenTags>,
    /// The time that the template was told.
    pub clock: Clock,
}

/// [`Model::turn_of`](crate::Model::turn_of).
pub(crate) fn turn_of<'p>(parser: &Interpreter, turn: &TurnMarkers, prompt: &'p str) -> &'p str {
    let program = parser.program();
    let written = program.entries.iter().map(|entry| &*entry.text).filter(|text| prompt.ends_with(text));
    if let Some(text) = written.max_by_key(|text| text.len()).filter(|text| !text.is_empty()) {
        return &prompt[prompt.len() - text.len()..];
    }
    let start = turn.assistant_start.as_str();
    let at = if start.is_empty() { None } else { prompt.rfind(start) };
    let over = |text: &str| {
        let markers = [turn.end.trim(), turn.user_start.trim()];
        markers.into_iter().any(|marker| !marker.is_empty() && text[start.len()..].contains(marker))
    };
    at.map(|at| &prompt[at..]).filter(|text| !over(text) && is_open(parser, text)).unwrap_or_default()
}

/// Whether the model can continue a turn: it reads text, and no call was made. A letter says which text: after a marker, the
/// parser still waits for white space.
fn is_open(parser: &Interpreter, turn: &str) -> bool {
    let mut stream = Stream::new(parser.clone(), &Options::new().generation_prompt(turn));
    let mut called = false;
    stream.push("x", |event| called |= matches!(event, Event::ToolCallStart { .. }));
    !called && matches!(stream.channel(), Some(Channel::Content | Channel::Reasoning))
}
