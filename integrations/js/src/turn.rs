//! A stream: the parser of one turn, and the message that its events add up to.

use std::rc::Rc;

#[cfg(feature = "full")]
use serde_json::{Value, json};
use unjinja_dynamic::{Channel, Chunk, Event, Message, Model, ModelStream, Options, Token};
#[cfg(feature = "full")]
use unjinja_dynamic::{SpanReader, SpanStep};

#[cfg(feature = "full")]
use crate::{messages, utf16};

/// A turn that is being read.
pub(crate) struct TurnReader {
    pub(crate) model: Model,
    options: Rc<Options>,
    stream: ModelStream,
    message: Message,
    /// How many answers were begun before this one.
    answer: u64,
    /// The output is over.
    finished: bool,
    /// What reads the output for spans, and how much of it they have, as JavaScript counts.
    #[cfg(feature = "full")]
    spans: (SpanReader, usize),
}

/// A step of a stream.
#[derive(Clone, Copy)]
pub(crate) enum Step<'a> {
    /// More of the output.
    Push(&'a [u8]),
    /// A token, and whether the tokenizer counts it among its special ones.
    Token(&'a [u8], bool),
    /// The output is over.
    Finish,
}

impl TurnReader {
    pub(crate) fn new(model: &Model, options: Options) -> Self {
        Self {
            model: model.clone(),
            stream: model.stream(&options),
            options: Rc::new(options),
            message: Message::default(),
            answer: 0,
            finished: false,
            #[cfg(feature = "full")]
            spans: Default::default(),
        }
    }

    /// The number of the answer to which a step belongs: a push after the end begins another one.
    pub(crate) fn begin(&mut self, step: Step<'_>) -> u64 {
        if self.finished && !matches!(step, Step::Finish) {
            self.message = Message::default();
            self.answer += 1;
            self.finished = false;
            #[cfg(feature = "full")]
            self.forget_spans();
        }
        self.answer
    }

    /// Runs a step, and passes on its events.
    pub(crate) fn run(&mut self, step: Step<'_>, mut sink: impl FnMut(&Event<'_>)) {
        self.begin(step);
        let Self { model, options, stream, message, finished, .. } = self;
        let over = matches!(step, Step::Finish);
        let first_end = over && !*finished;
        *finished = over;
        let mut deliver = |event: Event<'_>| {
            message.apply(&event);
            sink(&event);
        };
        match step {
            Step::Push(bytes) => stream.push(Chunk::from(bytes), &mut deliver),
            Step::Token(bytes, true) => stream.push_token(Token::special(bytes), &mut deliver),
            Step::Token(bytes, false) => stream.push_token(Token::text(bytes), &mut deliver),
            Step::Finish => stream.finish(&mut deliver),
        }
        if first_end {
            let before = message.diagnostics.len();
            message.note_stripped_tokens(model.parser().program(), options);
            // It concerns the whole output, so it comes after all others.
            for noted in &message.diagnostics[before..] {
                sink(&Event::Diagnostic(noted.clone()));
            }
        }
    }

    /// Makes the parser new. Returns the bytes that were pushed and not settled.
    pub(crate) fn reset(&mut self) -> Vec<u8> {
        self.message = Message::default();
        self.answer += 1;
        self.finished = false;
        #[cfg(feature = "full")]
        self.forget_spans();
        self.stream.reset()
    }

    #[cfg(feature = "full")]
    fn forget_spans(&mut self) {
        self.spans = Default::default();
    }

    /// Reads a piece, and ends the turn after it if it is the `last` one. Returns the events with the places of their texts.
    #[cfg(feature = "full")]
    pub(crate) fn spans(&mut self, piece: &str, last: bool) -> Value {
        self.begin(if piece.is_empty() { Step::Finish } else { Step::Push(&[]) });
        let (mut reader, mut end) = std::mem::take(&mut self.spans);
        let spans = reader.read(piece, last, |step, sink| {
            match step {
                SpanStep::Push(text) => self.run(Step::Push(text.as_bytes()), sink),
                SpanStep::Finish => self.run(Step::Finish, sink),
            }
            (self.stream.held().len(), self.stream.channel())
        });
        let spans = spans.into_iter().map(|span| {
            let start = end;
            end += utf16::length(&span.text);
            json!({
                "start": start,
                "end": end,
                "text": span.text,
                "events": span.events.iter().map(messages::event).collect::<Vec<_>>(),
                "channel": span.channel.and_then(name_of),
            })
        });
        let spans = spans.collect();
        self.spans = (reader, end);
        spans
    }

    /// What the events until now add up to.
    pub(crate) fn message(&self) -> &Message {
        &self.message
    }

    /// What is being read.
    pub(crate) fn channel(&self) -> Option<&'static str> {
        name_of(self.stream.channel()?)
    }

    /// The tokens of reasoning and of content.
    pub(crate) fn token_counts(&self) -> (u64, u64) {
        let counts = self.stream.token_counts();
        (counts.reasoning as u64, counts.content as u64)
    }

    /// The bytes that were pushed and are not settled.
    pub(crate) fn held(&self) -> &[u8] {
        self.stream.held()
    }
}

/// The name of a channel in JavaScript.
fn name_of(channel: Channel) -> Option<&'static str> {
    match channel {
        Channel::Reasoning => Some("reasoning"),
        Channel::Content => Some("content"),
        Channel::Unparsed => None,
    }
}
