//! A stream: the parser of one turn, and the message that its events add up to.

use unjinja_dynamic::{
    Channel, Chunk, Event, Message, Model, ModelStream, Options, OutputSpan, SpanReader, SpanStep, Token,
};

/// A turn that is being read.
pub struct TurnReader {
    model: Model,
    options: Options,
    stream: ModelStream,
    message: Message,
    answer: u64,
    /// The output is over.
    finished: bool,
    /// What reads the output for spans.
    spans: SpanReader,
}

/// A step of a stream.
pub enum Step<'a> {
    /// More of the output.
    Push(Chunk<'a>),
    /// A token of the output.
    Token(Token<'a>),
    /// The output is over.
    Finish,
}

impl<'a> Step<'a> {
    /// A token, and whether the tokenizer counts it among its special ones.
    pub fn token(piece: Chunk<'a>, special: bool) -> Self {
        Self::Token(if special { Token::special(piece) } else { Token::text(piece) })
    }
}

impl TurnReader {
    /// The beginning of a turn.
    pub fn new(model: &Model, options: &Options) -> Self {
        Self {
            model: model.clone(),
            options: options.clone(),
            stream: model.stream(options),
            message: Message::default(),
            answer: 0,
            finished: false,
            spans: SpanReader::default(),
        }
    }

    /// The number of the answer to which a step belongs: a push after the end begins another one, as in the stream itself.
    pub fn begin(&mut self, step: &Step<'_>) -> u64 {
        if self.finished && !matches!(step, Step::Finish) {
            self.renew();
        }
        self.answer
    }

    fn renew(&mut self) {
        self.message = Message::default();
        self.answer += 1;
        self.finished = false;
        self.spans.clear();
    }

    /// Runs a step, and passes on its events.
    pub fn run(&mut self, step: Step<'_>, mut sink: impl FnMut(&Event<'_>)) {
        self.begin(&step);
        let Self { model, options, stream, message, finished, .. } = self;
        let over = matches!(step, Step::Finish);
        let first_end = over && !*finished;
        *finished = over;
        let mut deliver = |event: Event<'_>| {
            message.apply(&event);
            sink(&event);
        };
        match step {
            Step::Push(piece) => stream.push(piece, &mut deliver),
            Step::Token(token) => stream.push_token(token, &mut deliver),
            Step::Finish => stream.finish(&mut deliver),
        }
        if first_end {
            let before = message.diagnostics.len();
            message.note_missing(model.parser().program(), options);
            // It concerns the whole output, so it comes after all others.
            for noted in &message.diagnostics[before..] {
                sink(&Event::Diagnostic(noted.clone()));
            }
        }
    }

    /// Reads a piece, and ends the turn after it if it is the `last` one. Returns the events with their texts.
    pub fn spans(&mut self, piece: &str, last: bool) -> Vec<OutputSpan> {
        let mut reader = std::mem::take(&mut self.spans);
        let spans = reader.read(piece, last, |step, sink| {
            let step = match step {
                SpanStep::Push(text) => Step::Push(text.into()),
                SpanStep::Finish => Step::Finish,
            };
            self.run(step, sink);
            (self.stream.held().len(), self.stream.channel())
        });
        self.spans = reader;
        spans
    }

    /// Makes the parser new. Returns the bytes that were pushed and not settled.
    pub fn reset(&mut self) -> Vec<u8> {
        self.renew();
        self.stream.reset()
    }

    /// The model that writes the turn.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The stream.
    pub fn stream(&self) -> &ModelStream {
        &self.stream
    }

    /// What the events until now add up to.
    pub fn message(&self) -> &Message {
        &self.message
    }

    /// The name of what is being read.
    pub fn channel(&self) -> Option<&'static str> {
        channel_name(self.stream.channel())
    }
}

/// The name of a channel.
pub fn channel_name(channel: Option<Channel>) -> Option<&'static str> {
    match channel? {
        Channel::Reasoning => Some("reasoning"),
        Channel::Content => Some("content"),
        Channel::Unparsed => None,
    }
}
