//! The parser of a turn, which streams and chunks of OpenAI share.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use unjinja_dynamic::{Chunk, Event, Message, Model, ModelStream, Options, OutputSpan, SpanReader, SpanStep, Token};

/// A turn that is being read.
pub(crate) struct TurnParser {
    pub(crate) model: Model,
    options: Options,
    state: Mutex<State>,
}

pub(crate) struct State {
    pub(crate) stream: ModelStream,
    /// What the events until now add up to.
    pub(crate) message: Message,
    /// How many answers were begun before this one.
    pub(crate) answer: u64,
    /// The output is over.
    finished: bool,
    /// What reads the output for spans.
    spans: SpanReader,
}

impl State {
    /// Begins another answer.
    fn begin(&mut self) {
        self.message = Message::default();
        self.answer += 1;
    }

    /// A push after the end begins another answer, as in the stream itself.
    fn prepare(&mut self, step: &Step<'_>) {
        if self.finished && !matches!(step, Step::Finish) {
            self.begin();
            self.finished = false;
        }
    }
}

/// A step of a stream.
pub(crate) enum Step<'a> {
    Push(Chunk<'a>),
    Token(Token<'a>),
    Finish,
}

/// An output or a piece of one, which the argument `name` holds: a text, or bytes cut anywhere.
pub(crate) fn chunk<'a>(piece: &'a Bound<'_, PyAny>, name: &str) -> PyResult<Chunk<'a>> {
    if let Ok(text) = piece.cast::<PyString>() {
        return Ok(Chunk::from(text.to_str()?));
    }
    if let Ok(bytes) = piece.cast::<PyBytes>() {
        return Ok(Chunk::from(bytes.as_bytes()));
    }
    let kind = piece.get_type().name()?.to_string();
    Err(PyTypeError::new_err(format!("{name}: expected str or bytes, found {kind}")))
}

/// A token of the output.
pub(crate) fn token_of<'a>(piece: &'a Bound<'_, PyAny>, special: bool) -> PyResult<Token<'a>> {
    let piece = chunk(piece, "piece")?;
    Ok(if special { Token::special(piece) } else { Token::text(piece) })
}

impl TurnParser {
    pub(crate) fn new(model: &Model, options: &Options) -> Self {
        let state = State {
            stream: model.stream(options),
            message: Message::default(),
            answer: 0,
            finished: false,
            spans: SpanReader::default(),
        };
        Self { model: model.clone(), options: options.clone(), state: Mutex::new(state) }
    }

    /// Makes the parser new. Returns the bytes that were pushed and not settled.
    pub(crate) fn reset(&self) -> Vec<u8> {
        let mut state = self.state();
        state.begin();
        state.finished = false;
        state.spans.clear();
        state.stream.reset()
    }

    /// What is known about the turn. No object of Python is made while this is locked: that may run other code of Python, which
    /// may want the lock.
    ///
    /// A push that failed half-way leaves a parser that can continue, so a poisoned lock is not an error.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a step of the stream, and passes on its events.
    pub(crate) fn run(&self, step: Step<'_>, sink: impl FnMut(&Event<'_>)) {
        self.run_in(&mut self.state(), step, sink);
    }

    /// As `run`, for a writer: `begin` gets the number of the answer before its events come.
    pub(crate) fn run_for<W>(
        &self,
        step: Step<'_>,
        writer: &mut W,
        begin: impl FnOnce(&mut W, u64),
        mut sink: impl FnMut(&mut W, &Event<'_>),
    ) {
        let mut state = self.state();
        state.prepare(&step);
        begin(writer, state.answer);
        self.run_in(&mut state, step, |event| sink(writer, event));
    }

    /// Reads a piece, and ends the turn after it if it is the `last` one. Returns the events with their texts.
    pub(crate) fn spans(&self, piece: &str, last: bool) -> Vec<OutputSpan> {
        let mut state = self.state();
        let mut reader = std::mem::take(&mut state.spans);
        let spans = reader.read(piece, last, |step, sink| {
            let step = match step {
                SpanStep::Push(text) => Step::Push(text.into()),
                SpanStep::Finish => Step::Finish,
            };
            self.run_in(&mut state, step, sink);
            (state.stream.held().len(), state.stream.channel())
        });
        state.spans = reader;
        spans
    }

    fn run_in(&self, state: &mut State, step: Step<'_>, mut sink: impl FnMut(&Event<'_>)) {
        state.prepare(&step);
        let State { stream, message, finished, .. } = state;
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
            message.note_stripped_tokens(self.model.parser().program(), &self.options);
            // It concerns the whole output, so it comes after all others.
            for noted in &message.diagnostics[before..] {
                sink(&Event::Diagnostic(noted.clone()));
            }
        }
    }
}
