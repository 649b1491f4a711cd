//! The streaming parser: feeds a machine with the text that arrives, keeps what is not settled, and ends the turn. Parsing a
//! whole output is one push and a finish.
//!
//! It must not look at the text. Where the prompt already wrote a part of the turn, that part is read first.

use std::fmt;
#[cfg(feature = "trace")]
use std::ops::Range;

use super::fast_path::Target;
use super::input::{Chunk, Token};
use super::machine::Machine;
use super::memory::Memory;
use super::run::Run;
use super::token_counts::TokenCounts;
use crate::message::{BorrowedMessage, Channel, Event, Message};
use crate::options::Options;
use crate::program::Hole;

/// A parser in the middle of a turn.
///
/// However the text is cut, the events add up to the same message, and no event is taken back.
///
/// ```
/// # use unjinja_runtime::{Interpreter, abi::*};
/// # const END: &[Marker] = &[Marker::new("</think>")];
/// # static TO_CONTENT: &[Transition] = &[Transition::new("reasoning.end", const { &[Action::CloseReasoning] }, StateId(0))];
/// # static PROGRAM: Program = Program::new(
/// #     ModelInfo::named("thinks"),
/// #     const { &[
/// #         State::new("CONTENT", Some(Hole::Text(Channel::Content))).end(&[]),
/// #         State::new("REASONING", Some(Hole::Text(Channel::Reasoning))).markers(END, TO_CONTENT).end(&[]),
/// #     ] },
/// #     StateId(0),
/// # ).starting_in(StateId(1));
/// # let parser = Interpreter::from_static(&PROGRAM);
/// use unjinja_runtime::{Message, Options, Stream};
///
/// // A generated module has `stream(&options)`, which does the same.
/// let mut stream = Stream::new(parser, &Options::new());
/// let mut message = Message::default();
/// for piece in ["Rain?</th", "ink>Take", " an umbrella."] {
///     stream.push(piece, |event| message.apply(&event));
/// }
/// stream.finish(|event| message.apply(&event));
/// assert_eq!(message.reasoning_content, "Rain?");
/// assert_eq!(message.content, "Take an umbrella.");
///
/// // Another turn with the same options. Text that was held back comes back.
/// stream.push("Well</thi", |_| {});
/// assert_eq!(stream.reset(), b"</thi");
/// ```
pub struct Stream<M> {
    machine: M,
    core: Core,
}

/// The part of a stream that does not depend on the machine. It is compiled once, however many models there are.
struct Core {
    options: Options,
    run: Run,
    /// Text that is not settled yet. Offsets in the memory count from its start.
    carry: Vec<u8>,
    finished: bool,
}

impl<M: Machine> fmt::Debug for Stream<M> {
    /// Where in the turn it is: the state, and the text that is not settled.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state =
            self.machine.program().states.get(usize::from(self.core.run.state.0)).map_or("", |state| &*state.name);
        f.debug_struct("Stream")
            .field("state", &state)
            .field("held", &String::from_utf8_lossy(&self.core.carry))
            .field("finished", &self.core.finished)
            .finish_non_exhaustive()
    }
}

impl<M: Machine> Stream<M> {
    /// A parser for one turn. If the prompt already wrote a part of the turn, as `options` may say, the events for that
    /// part come with the first push.
    pub fn new(machine: M, options: &Options) -> Self {
        let core = Core::new(&machine, options);
        Self { machine, core }
    }

    /// More of the model's output, cut anywhere, also inside a character.
    #[inline]
    pub fn push<'t>(&mut self, text: impl Into<Chunk<'t>>, mut sink: impl FnMut(Event<'_>)) {
        match text.into() {
            Chunk::Text(text) => self.push_text(text, &mut sink),
            Chunk::Bytes(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => self.push_text(text, &mut sink),
                Err(_) => self.core.push(&self.machine, Chunk::Bytes(bytes), &mut sink),
            },
        }
    }

    #[inline]
    pub(super) fn push_text(&mut self, text: &str, sink: &mut impl FnMut(Event<'_>)) {
        let memory = &mut self.core.run.memory;
        let waiting = self.core.carry.last().copied();
        let Some(end) = memory.fast_path.pass(text, waiting) else {
            return self.core.push_slowly(&self.machine, text, sink);
        };
        memory.cursor.search.work.add(text.len());
        if waiting.is_some() || end < text.len() {
            return self.core.pass_and_wait(text, end, sink);
        }
        memory.emitter.base += text.len() as i64;
        memory.emitter.last = text.as_bytes().last().copied().unwrap_or_default();
        sink(memory.fast_path.event(text));
    }

    /// The model's next token. [`token_counts`](Self::token_counts) counts those that are not special.
    ///
    /// ```
    /// # use unjinja_runtime::{Interpreter, abi::*};
    /// # static PROGRAM: Program = Program::new(
    /// #     ModelInfo::named("plain"),
    /// #     const { &[State::new("CONTENT", Some(Hole::Text(Channel::Content))).end(&[])] },
    /// #     StateId(0),
    /// # );
    /// # let parser = Interpreter::from_static(&PROGRAM);
    /// use unjinja_runtime::{Event, Options, Stream, Token};
    ///
    /// let mut stream = Stream::new(parser, &Options::new());
    /// let mut text = String::new();
    /// let mut sink = |event: Event<'_>| {
    ///     if let Event::Content(piece) = event {
    ///         text.push_str(piece);
    ///     }
    /// };
    /// stream.push_token(Token::text("Z"), &mut sink);
    /// stream.push_token(Token::text(b"\xC3"), &mut sink); // the first byte of a character, ...
    /// stream.push_token(Token::text(b"\xBCrich"), &mut sink); // ... and the second
    /// stream.finish(&mut sink);
    /// assert_eq!((text.as_str(), stream.token_counts().content), ("Zürich", 3));
    /// ```
    pub fn push_token(&mut self, token: Token<'_>, mut sink: impl FnMut(Event<'_>)) {
        if self.core.finished {
            self.core.reset(&self.machine);
        }
        let (token, special) = (token.piece().checked(), token.is_special());
        let (Chunk::Text(text), false) = (token, special) else {
            return self.core.push_token(&self.machine, token, special, &mut sink);
        };
        // What the fast path passes on is text of its channel; all other text is counted where it is sent.
        let Memory { emitter, fast_path, .. } = &mut self.core.run.memory;
        let (begin, held) = (emitter.base, self.core.carry.len());
        let passed = match fast_path.target {
            Target::Text(channel) if fast_path.pass(text, self.core.carry.last().copied()).is_some() => Some(channel),
            _ => None,
        };
        emitter.tokens.add(begin + held as i64, begin + (held + text.len()) as i64);
        self.push_text(text, &mut sink);
        let emitter = &mut self.core.run.memory.emitter;
        if let Some(channel) = passed {
            emitter.tokens.text(channel, begin, emitter.base);
        }
        emitter.tokens.settle(emitter.base);
    }

    /// The channel whose text comes next, as far as the settled text tells: `None` inside a call, between the parts of a turn, and
    /// after its end. Servers ask it whether the reasoning is over.
    pub fn channel(&self) -> Option<Channel> {
        let state = self.machine.program().states.get(usize::from(self.core.run.state.0))?;
        match state.hole {
            Some(Hole::Text(channel)) if !self.core.finished => Some(channel),
            _ => None,
        }
    }

    /// The text that was pushed and is not settled: what becomes of it depends on what follows. At the beginning that is the part of
    /// the turn that the prompt wrote. What was pushed before it has become events, or was markup.
    pub fn held(&self) -> &[u8] {
        &self.core.carry
    }

    /// What the tokens became that were pushed with [`push_token`](Self::push_token) in this turn. Tokens that wait count later,
    /// at the end of the turn at the latest.
    pub fn token_counts(&self) -> TokenCounts {
        self.core.run.memory.emitter.tokens.counts
    }

    /// The output is over: text that was held back is settled, and everything that is open ends. A later push begins a
    /// new turn.
    pub fn finish(&mut self, mut sink: impl FnMut(Event<'_>)) {
        self.core.finish(&self.machine, &mut sink);
    }

    /// Makes the parser new, for another turn with the same options. Returns the bytes that were pushed but not
    /// settled.
    pub fn reset(&mut self) -> Vec<u8> {
        self.core.reset(&self.machine)
    }

    /// How many bytes were looked at until now. A byte that is read twice counts twice. The part of the turn that the
    /// prompt wrote counts as well.
    #[cfg(feature = "testing")]
    pub(crate) fn bytes_looked_at(&self) -> u64 {
        self.core.run.memory.cursor.search.work.bytes()
    }

    /// How many bytes of the turn the prompt wrote. They are read before the model's output.
    #[cfg(feature = "testing")]
    pub(crate) fn bytes_from_prompt(&self) -> usize {
        let mut written = Vec::new();
        Run::begin(&self.machine, &self.core.options, &mut written);
        written.len()
    }
}

impl Core {
    fn new(machine: &dyn Machine, options: &Options) -> Self {
        let mut carry = Vec::new();
        Self { run: Run::begin(machine, options, &mut carry), options: options.clone(), carry, finished: false }
    }

    fn push_token(&mut self, machine: &dyn Machine, token: Chunk<'_>, special: bool, sink: &mut dyn FnMut(Event<'_>)) {
        let (from, length) = (self.carry.len(), token.as_bytes().len());
        let memory = &mut self.run.memory;
        if !special {
            let begin = memory.emitter.base + from as i64;
            memory.emitter.tokens.add(begin, begin + length as i64);
        } else if let Some(tokens) = &mut memory.cursor.search.context.tokens {
            tokens.add(from, from + length);
        }
        self.push(machine, token, sink);
        let emitter = &mut self.run.memory.emitter;
        emitter.tokens.settle(emitter.base);
    }

    // These two are generic over the sink: calls through a pointer cost much for short pieces of a value.
    fn push_slowly(&mut self, machine: &dyn Machine, text: &str, sink: &mut impl FnMut(Event<'_>)) {
        let before = self.carry.len();
        let done = self.run.memory.read_piece(text, &mut self.carry, sink);
        // What waited may have been sent in any case.
        let read = if done { text.len() } else { 0 };
        self.run.memory.emitter.base += (before + read) as i64 - self.carry.len() as i64;
        if !done {
            self.push(machine, Chunk::Text(text), sink);
        }
    }

    /// Passes on what waited and the text up to `end`; the rest waits. Pieces that come here are short, so they are always
    /// copied: that is cheaper than to ask whether they have to be.
    #[inline]
    fn pass_and_wait(&mut self, text: &str, end: usize, sink: &mut impl FnMut(Event<'_>)) {
        let memory = &mut self.run.memory;
        memory.emitter.base += (self.carry.len() + end) as i64;
        let (text, rest) = text.split_at(end);
        memory.join(&self.carry, text);
        memory.send_and_wait(rest, &mut self.carry, sink);
    }

    fn push(&mut self, machine: &dyn Machine, chunk: Chunk<'_>, sink: &mut dyn FnMut(Event<'_>)) {
        if self.finished {
            self.reset(machine);
        }
        let text = chunk.as_bytes();
        if self.carry.is_empty() {
            let settled = self.run.go(machine, &self.options, chunk, false, sink);
            self.carry.extend_from_slice(&text[settled..]);
        } else {
            let mut carry = std::mem::take(&mut self.carry);
            carry.extend_from_slice(text);
            let settled = self.run.go(machine, &self.options, Chunk::Bytes(&carry), false, sink);
            carry.drain(..settled);
            self.carry = carry;
        }
    }

    fn finish(&mut self, machine: &dyn Machine, sink: &mut dyn FnMut(Event<'_>)) {
        if self.finished {
            return;
        }
        let mut carry = std::mem::take(&mut self.carry);
        self.run.go(machine, &self.options, Chunk::Bytes(&carry), true, sink);
        carry.clear();
        self.carry = carry;
        self.finished = true;
    }

    fn reset(&mut self, machine: &dyn Machine) -> Vec<u8> {
        let rest = std::mem::take(&mut self.carry);
        self.run = Run::begin(machine, &self.options, &mut self.carry);
        self.finished = false;
        rest
    }
}

/// Parses a whole output. Bytes that are not UTF-8 become U+FFFD, with a diagnostic.
///
/// ```
/// # use unjinja_runtime::{Interpreter, abi::*};
/// # static PROGRAM: Program = Program::new(
/// #     ModelInfo::named("plain"),
/// #     const { &[State::new("CONTENT", Some(Hole::Text(Channel::Content))).end(&[])] },
/// #     StateId(0),
/// # );
/// # let parser = Interpreter::from_static(&PROGRAM);
/// use unjinja_runtime::{DiagnosticKind, Options, parse};
///
/// // Any bytes are accepted.
/// let message = parse(parser, b"caf\xE9", &Options::new());
/// assert_eq!(message.content, "caf\u{FFFD}");
/// assert_eq!(message.diagnostics[0].kind, DiagnosticKind::InvalidUtf8);
/// ```
pub fn parse<'t, M: Machine>(machine: M, output: impl Into<Chunk<'t>>, options: &Options) -> Message {
    borrow(&machine, output.into(), options).into_owned()
}

/// Parses a whole output. The message borrows text and arguments that appear unchanged in `output`; only what must be
/// translated is allocated.
///
/// ```
/// # use unjinja_runtime::{Interpreter, abi::*};
/// # static PROGRAM: Program = Program::new(
/// #     ModelInfo::named("plain"),
/// #     const { &[State::new("CONTENT", Some(Hole::Text(Channel::Content))).end(&[])] },
/// #     StateId(0),
/// # );
/// # let parser = Interpreter::from_static(&PROGRAM);
/// use std::borrow::Cow;
/// use unjinja_runtime::{Options, parse_borrowed};
///
/// let message = parse_borrowed(parser, "Hello!", &Options::new());
/// assert!(matches!(message.content, Cow::Borrowed("Hello!")));
/// ```
pub fn parse_borrowed<'t, M: Machine>(
    machine: M,
    output: impl Into<Chunk<'t>>,
    options: &Options,
) -> BorrowedMessage<'t> {
    borrow(&machine, output.into(), options)
}

pub(super) fn borrow<'t>(machine: &dyn Machine, output: Chunk<'t>, options: &Options) -> BorrowedMessage<'t> {
    let chunk = output.checked();
    let mut carry = Vec::new();
    let mut run = Run::begin(machine, options, &mut carry);
    run.memory.cursor.search.context.tokens = None;
    let mut message = BorrowedMessage::default();
    let mut pieces = message.of(chunk.as_text().unwrap_or_default());
    let mut rest = chunk;
    // What the prompt wrote of the turn is read first, with as much of the output as it takes to settle it.
    while !carry.is_empty() {
        let (head, tail) = rest.split(HEAD);
        let last = tail.as_bytes().is_empty();
        let before = carry.len();
        carry.extend_from_slice(head.as_bytes());
        pieces.stand_in(&carry, chunk.as_bytes().len() - rest.as_bytes().len(), before);
        let settled = run.go(machine, options, Chunk::Bytes(&carry), last, &mut |event| pieces.apply(event));
        if last {
            return message;
        }
        carry.drain(..settled);
        rest = tail;
    }
    run.go(machine, options, rest, true, &mut |event| pieces.apply(event));
    message
}

/// Reads what the prompt wrote of the turn and the output after it as one text, so that all offsets count from the same
/// place. `special` are the parts of the output that arrive as special tokens. `over` says whether the output is complete. Returns
/// how many bytes the prompt wrote, and how many of all bytes are settled.
#[cfg(feature = "trace")]
pub fn read_at_once<M: Machine>(
    machine: &M,
    (output, special): (&[u8], &[Range<usize>]),
    options: &Options,
    over: bool,
    sink: &mut dyn FnMut(Event<'_>),
) -> (usize, usize) {
    let mut text = Vec::new();
    let mut run = Run::begin(machine, options, &mut text);
    let before = text.len();
    text.extend_from_slice(output);
    if let Some(tokens) = &mut run.memory.cursor.search.context.tokens {
        special.iter().for_each(|part| tokens.add(before + part.start, before + part.end));
    }
    let settled = run.go(machine, options, Chunk::Bytes(&text), over, sink);
    (before, settled)
}

/// How much of an output is read at a time after the part that the prompt wrote, in bytes.
const HEAD: usize = 256;
