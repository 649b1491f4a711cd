//! A stream: the parser of one turn, and the message that its events add up to.

use std::rc::Rc;

use unjinja_dynamic::{Channel, Chunk, Event, Message, Model, ModelStream, Options, Token};

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
        }
    }

    /// The number of the answer to which a step belongs: a push after the end begins another one.
    pub(crate) fn begin(&mut self, step: Step<'_>) -> u64 {
        if self.finished && !matches!(step, Step::Finish) {
            self.message = Message::default();
            self.answer += 1;
            self.finished = false;
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
        self.stream.reset()
    }

    /// What the events until now add up to.
    pub(crate) fn message(&self) -> &Message {
        &self.message
    }

    /// What is being read.
    pub(crate) fn channel(&self) -> Option<&'static str> {
        match self.stream.channel()? {
            Channel::Reasoning => Some("reasoning"),
            Channel::Content => Some("content"),
            Channel::Unparsed => None,
        }
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
