//! A stream, and where the texts of its spans are.

#[cfg(feature = "full")]
use serde_json::{Value, json};
use unjinja_bindings::TurnReader;
#[cfg(feature = "full")]
use unjinja_bindings::{Step, channel_name};

#[cfg(feature = "full")]
use crate::{messages, utf16};

/// A turn that is being read.
pub(crate) struct TurnObject {
    pub(crate) reader: TurnReader,
    /// The answer whose spans were read, and how much of it they have, as JavaScript counts.
    #[cfg(feature = "full")]
    spans: (u64, usize),
}

impl From<TurnReader> for TurnObject {
    fn from(reader: TurnReader) -> Self {
        Self {
            reader,
            #[cfg(feature = "full")]
            spans: (0, 0),
        }
    }
}

#[cfg(feature = "full")]
impl TurnObject {
    /// Reads a piece, and ends the turn after it if it is the `last` one. Returns the events with the places of their texts.
    pub(crate) fn spans(&mut self, piece: &str, last: bool) -> Value {
        let answer = self.reader.begin(&if piece.is_empty() { Step::Finish } else { Step::Push(piece.into()) });
        let mut end = if self.spans.0 == answer { self.spans.1 } else { 0 };
        let spans = self.reader.spans(piece, last).into_iter().map(|span| {
            let start = end;
            end += utf16::length(&span.text);
            json!({
                "start": start,
                "end": end,
                "text": span.text,
                "events": span.events.iter().map(messages::event).collect::<Vec<_>>(),
                "channel": channel_name(span.channel),
            })
        });
        let spans = spans.collect();
        self.spans = (answer, end);
        spans
    }
}
