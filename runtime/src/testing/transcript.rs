//! A transcript: the events of one run in order. Adjacent events of the same kind are joined, so that runs with
//! different cuts can be compared.

use super::cut::Cut;
use super::difference::Difference;
use crate::engine::chat_parser::{ChatParser, ChatStream};
use crate::engine::input::Chunk;
use crate::engine::machine::Machine;
use crate::engine::stream::{Stream, parse};
use crate::message::Event;
use crate::message::Message;
use crate::options::Options;

/// What can be tested: a compiled parser, an interpreted one, or `dyn ChatParser`.
pub trait Subject {
    /// Parses a whole output.
    fn batch(&self, output: &[u8], options: &Options) -> Message;

    /// Pushes the pieces and finishes.
    fn feed(&self, pieces: &[&[u8]], options: &Options, sink: &mut dyn FnMut(Event<'_>));
}

impl<M: Machine + Clone> Subject for M {
    fn batch(&self, output: &[u8], options: &Options) -> Message {
        parse(self.clone(), output, options)
    }

    fn feed(&self, pieces: &[&[u8]], options: &Options, sink: &mut dyn FnMut(Event<'_>)) {
        feed(&mut Stream::new(self.clone(), options), pieces, sink);
    }
}

impl Subject for dyn ChatParser + '_ {
    fn batch(&self, output: &[u8], options: &Options) -> Message {
        self.parse(Chunk::Bytes(output), options)
    }

    fn feed(&self, pieces: &[&[u8]], options: &Options, sink: &mut dyn FnMut(Event<'_>)) {
        feed(&mut *self.stream(options), pieces, sink);
    }
}

fn feed(stream: &mut dyn ChatStream, pieces: &[&[u8]], sink: &mut dyn FnMut(Event<'_>)) {
    for (index, piece) in pieces.iter().enumerate() {
        // Text and bytes take different paths in the parser. Both must give the same result.
        match std::str::from_utf8(piece) {
            Ok(text) if (index + text.len()).is_multiple_of(2) => stream.push(text, sink),
            _ => stream.push_bytes(piece, sink),
        }
    }
    stream.finish(sink);
}

/// An event that owns its text. Diagnostics are only in the message, because their position among the fragments of a
/// text depends on the cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Reasoning, all fragments that followed one another.
    Reasoning(String),
    /// Content, all fragments that followed one another.
    Content(String),
    /// Broken markup, all fragments that followed one another.
    Unparsed(String),
    /// A call was announced: its index, name, and id as far as it was known.
    Start(usize, String, Option<String>),
    /// The id of a call that was announced without.
    Id(usize, String),
    /// Arguments of the call of this index, all fragments that followed one another.
    Arguments(usize, String),
    /// A call ended, complete or not.
    End(usize, bool),
}

/// The transcript of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transcript {
    /// The events. Adjacent events of the same kind are joined.
    pub events: Vec<Piece>,
    /// The message that they add up to.
    pub message: Message,
    pub(crate) problems: Vec<Difference>,
}

impl Transcript {
    /// Runs a parser over an output that is cut in a given way.
    pub fn of(parser: &(impl Subject + ?Sized), output: &[u8], cut: &Cut, options: &Options) -> Self {
        let mut transcript = Self { events: Vec::new(), message: Message::default(), problems: Vec::new() };
        let mut open = None;
        parser.feed(&cut.pieces(output), options, &mut |event| {
            transcript.message.apply(&event);
            if let Some(problem) = misplaced(&event, &mut open, transcript.message.tool_calls.len()) {
                transcript.problems.push(Difference::new("order of events", problem, &format!("{event:?}")));
            }
            transcript.add(&event);
        });
        if let Some(index) = open {
            let problem = Difference::new("order of events", "an end of every call", &format!("none of call {index}"));
            transcript.problems.push(problem);
        }
        transcript
    }

    fn add(&mut self, event: &Event<'_>) {
        let last = self.events.last_mut();
        match (event, last) {
            (Event::Reasoning(text), Some(Piece::Reasoning(all))) => all.push_str(text),
            (Event::Content(text), Some(Piece::Content(all))) => all.push_str(text),
            (Event::Unparsed(text), Some(Piece::Unparsed(all))) => all.push_str(text),
            (Event::ToolCallArguments { index, json }, Some(Piece::Arguments(of, all))) if of == index => {
                all.push_str(json);
            }
            (Event::Reasoning(text), _) => self.events.push(Piece::Reasoning((*text).to_owned())),
            (Event::Content(text), _) => self.events.push(Piece::Content((*text).to_owned())),
            (Event::Unparsed(text), _) => self.events.push(Piece::Unparsed((*text).to_owned())),
            (Event::ToolCallStart { index, name, id }, _) => {
                self.events.push(Piece::Start(*index, (*name).to_owned(), id.map(str::to_owned)));
            }
            (Event::ToolCallId { index, id }, _) => self.events.push(Piece::Id(*index, (*id).to_owned())),
            (Event::ToolCallArguments { index, json }, _) => {
                self.events.push(Piece::Arguments(*index, (*json).to_owned()));
            }
            (Event::ToolCallEnd { index, complete }, _) => self.events.push(Piece::End(*index, *complete)),
            (Event::Diagnostic(_), _) => {}
        }
    }

    /// Checks the order of the events: every call has a start and an end, and its events come between them; calls are
    /// numbered from 0; no fragment is empty. Returns what is wrong, if anything is.
    pub fn disorder(&self) -> Option<String> {
        self.problems.first().map(|problem| format!("expected {}, found {}", problem.expected, problem.found))
    }

    /// The first difference between this run and another.
    pub(crate) fn difference(&self, other: &Self) -> Option<Difference> {
        let at = (0..self.events.len().max(other.events.len())).find(|&n| self.events.get(n) != other.events.get(n))?;
        let show = |events: &[Piece]| events.get(at).map_or("no more events".to_owned(), |piece| format!("{piece:?}"));
        Some(Difference::new(&format!("event {at}, against the whole"), &show(&self.events), &show(&other.events)))
    }
}

/// Why an event may not come here. `open` is the open call; `announced` is the number of calls until here, including
/// this one.
fn misplaced(event: &Event<'_>, open: &mut Option<usize>, announced: usize) -> Option<&'static str> {
    match event {
        Event::Reasoning("") | Event::Content("") | Event::Unparsed("") | Event::ToolCallArguments { json: "", .. } => {
            return Some("no empty fragments");
        }
        Event::Reasoning(_) | Event::Content(_) if open.is_some() => return Some("no text inside a call"),
        Event::ToolCallStart { index, .. } => {
            let problem = if open.is_some() {
                Some("the end of the call that is open")
            } else if index + 1 != announced {
                Some("calls numbered from 0 without gaps")
            } else {
                None
            };
            *open = Some(*index);
            return problem;
        }
        Event::ToolCallArguments { index, .. } | Event::ToolCallId { index, .. } if *open != Some(*index) => {
            return Some("arguments and ids of the open call only");
        }
        Event::ToolCallEnd { index, .. } if open.take() != Some(*index) => return Some("an end of the open call only"),
        _ => {}
    }
    None
}
