//! The calls of a stream: when each is announced, under which id, and how much of its arguments can be sent. Both APIs write
//! what this module says.

use std::collections::HashMap;

use serde::de::IgnoredAny;
use unjinja_runtime::Event;

use crate::arguments::ArgumentStream;
use unjinja_spec::{CallIds, ModelIds};

/// Something to write about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallPiece {
    /// A call begins.
    Start { index: usize, id: String, name: String },
    /// More of its arguments.
    Arguments { index: usize, json: String },
    /// It is over.
    End { index: usize, complete: bool },
}

/// Follows the calls of one turn.
#[derive(Debug)]
pub(crate) struct CallWriter {
    ids: CallIds,
    /// Arguments become objects in any case. Otherwise they are delivered as they are.
    objects: bool,
    calls: Vec<Call>,
}

#[derive(Debug)]
struct Call {
    name: String,
    /// The id that the model wrote, until the call is announced.
    written: Option<String>,
    announced: bool,
    /// Arguments that wait for the announcement.
    waiting: String,
    /// All arguments, as the model wrote them.
    written_arguments: String,
    stream: Option<ArgumentStream>,
    over: bool,
    complete: bool,
}

impl CallWriter {
    pub(crate) fn new(ids: CallIds) -> Self {
        Self { ids, objects: false, calls: Vec::new() }
    }

    /// Arguments become objects in any case.
    pub(crate) fn with_objects(mut self) -> Self {
        self.objects = true;
        self
    }

    /// Whether there was a call.
    pub(crate) fn called(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Whether the output ended with its calls done: there was one, and each is complete, with arguments that are an object.
    pub(crate) fn handed_over(&self) -> bool {
        are_done(self.calls.iter().map(|call| call.complete))
    }

    /// What to write for an event.
    pub(crate) fn event(&mut self, event: &Event<'_>) -> Vec<CallPiece> {
        let mut pieces = Vec::new();
        match event {
            Event::ToolCallStart { name, id, .. } => {
                let index = self.calls.len();
                self.calls.push(Call {
                    name: (*name).to_owned(),
                    written: id.map(str::to_owned),
                    announced: false,
                    waiting: String::new(),
                    written_arguments: String::new(),
                    stream: self.objects.then(ArgumentStream::new),
                    over: false,
                    complete: false,
                });
                if id.is_some() || self.ids.model_ids() == ModelIds::WithName {
                    self.announce(index, &mut pieces);
                }
            }
            Event::ToolCallId { index, id } => {
                // A call that was announced keeps its id: clients have it already.
                if let Some(call) = self.calls.get_mut(*index).filter(|call| !call.announced) {
                    call.written = Some((*id).to_owned());
                    self.announce(*index, &mut pieces);
                }
            }
            Event::ToolCallArguments { index, json } => self.arguments(*index, json, &mut pieces),
            Event::ToolCallEnd { index, complete } => self.end(*index, *complete, &mut pieces),
            _ => {}
        }
        pieces
    }

    /// Ends the calls that are still open.
    pub(crate) fn finish(&mut self) -> Vec<CallPiece> {
        let mut pieces = Vec::new();
        for index in 0..self.calls.len() {
            self.end(index, false, &mut pieces);
        }
        pieces
    }

    fn arguments(&mut self, index: usize, json: &str, pieces: &mut Vec<CallPiece>) {
        if self.ids.model_ids() != ModelIds::AfterArguments {
            self.announce(index, pieces);
        }
        let Some(call) = self.calls.get_mut(index).filter(|call| !call.over) else { return };
        call.written_arguments.push_str(json);
        let text = call.stream.as_mut().map_or(json, |stream| stream.push(json));
        if call.announced {
            pieces.extend(arguments(index, text));
        } else {
            call.waiting.push_str(text);
        }
    }

    fn end(&mut self, index: usize, complete: bool, pieces: &mut Vec<CallPiece>) {
        self.announce(index, pieces);
        let Some(call) = self.calls.get_mut(index).filter(|call| !call.over) else { return };
        let complete = is_done(complete, &std::mem::take(&mut call.written_arguments));
        (call.over, call.complete) = (true, complete);
        if let Some(stream) = call.stream.take() {
            pieces.extend(arguments(index, &stream.finish()));
        }
        pieces.push(CallPiece::End { index, complete });
    }

    /// Announces a call, unless that was done, and sends the arguments that waited for it.
    fn announce(&mut self, index: usize, pieces: &mut Vec<CallPiece>) {
        let Some(call) = self.calls.get_mut(index).filter(|call| !call.announced) else { return };
        call.announced = true;
        let id = self.ids.next(&call.name, call.written.as_deref());
        pieces.push(CallPiece::Start { index, id, name: call.name.clone() });
        pieces.extend(arguments(index, &std::mem::take(&mut call.waiting)));
    }
}

/// Whether a call can be run: it is complete, and its arguments are an object. What was read up to the closer may be no JSON.
pub(crate) fn is_done(complete: bool, arguments: &str) -> bool {
    complete && (arguments.is_empty() || serde_json::from_str::<HashMap<String, IgnoredAny>>(arguments).is_ok())
}

/// Whether there are calls, and all of them are complete.
pub(crate) fn are_done(complete: impl Iterator<Item = bool>) -> bool {
    complete.reduce(|all, one| all && one).unwrap_or_default()
}

fn arguments(index: usize, text: &str) -> Option<CallPiece> {
    (!text.is_empty()).then(|| CallPiece::Arguments { index, json: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use unjinja_spec::CallIdShape;

    /// A call whose id comes after its arguments.
    fn pieces(model_ids: ModelIds) -> Vec<CallPiece> {
        let mut writer = CallWriter::new(CallIds::new(CallIdShape::Counted).written(model_ids));
        let events = [
            Event::ToolCallStart { index: 0, name: "f", id: None },
            Event::ToolCallArguments { index: 0, json: "{}" },
            Event::ToolCallId { index: 0, id: "late" },
            Event::ToolCallEnd { index: 0, complete: true },
        ];
        let mut pieces: Vec<CallPiece> = events.iter().flat_map(|event| writer.event(event)).collect();
        pieces.extend(writer.finish());
        pieces
    }

    #[test]
    fn a_late_id_is_waited_for_where_the_format_writes_it() {
        let expected = |id: &str| {
            vec![
                CallPiece::Start { index: 0, id: id.to_owned(), name: "f".to_owned() },
                CallPiece::Arguments { index: 0, json: "{}".to_owned() },
                CallPiece::End { index: 0, complete: true },
            ]
        };
        assert_eq!(pieces(ModelIds::AfterArguments), expected("late"));
        assert_eq!(pieces(ModelIds::BeforeArguments), expected("0"));
        assert_eq!(pieces(ModelIds::WithName), expected("0"));
    }
}
