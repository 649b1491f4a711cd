//! One interface to the parsers of all models, for applications whose users choose the model.

use super::input::{Chunk, Token};
use super::machine::Machine;
use super::stream::{Stream, borrow};
use super::token_counts::TokenCounts;
use crate::message::{BorrowedMessage, Event, Message};
use crate::options::Options;
use crate::program::{ModelInfo, Program};

/// Any model's parser.
///
/// ```
/// # use unjinja_runtime::{Interpreter, abi::*};
/// # static PROGRAM: Program = Program::new(
/// #     ModelInfo::named("plain"),
/// #     const { &[State::new("CONTENT", Some(Hole::Text(Channel::Content))).end(&[])] },
/// #     StateId(0),
/// # );
/// use unjinja_runtime::{ChatParser, Event, Options};
///
/// // Parsers of several models in one list: here one that is interpreted.
/// let parsers: Vec<Box<dyn ChatParser>> = vec![Interpreter::from_static(&PROGRAM).to_boxed()];
/// let parser = parsers.iter().find(|parser| parser.info().name == "plain").ok_or("no such model")?;
///
/// let options = Options::new();
/// assert_eq!(parser.parse("Hello!".into(), &options).content, "Hello!");
///
/// let mut text = String::new();
/// let mut stream = parser.stream(&options);
/// let mut sink = |event: Event<'_>| {
///     if let Event::Content(piece) = event {
///         text.push_str(piece);
///     }
/// };
/// stream.push("Hel", &mut sink);
/// stream.push_bytes(b"lo!", &mut sink);
/// stream.finish(&mut sink);
/// assert_eq!(text, "Hello!");
/// # Ok::<(), &str>(())
/// ```
///
/// The trait is sealed: the parsers of this crate and generated code implement it.
pub trait ChatParser: sealed::Parser + Send + Sync {
    /// The program that the parser runs.
    fn program(&self) -> &Program;

    /// What the spec says about the model.
    fn info(&self) -> &ModelInfo {
        &self.program().info
    }

    /// Parses a whole output. Bytes that are no UTF-8 come back as U+FFFD, with a diagnostic.
    fn parse(&self, output: Chunk<'_>, options: &Options) -> Message;

    /// Parses a whole output. The message borrows what appears unchanged in `output`.
    fn parse_borrowed<'t>(&self, output: Chunk<'t>, options: &Options) -> BorrowedMessage<'t>;

    /// A streaming parser for one turn.
    fn stream(&self, options: &Options) -> Box<dyn ChatStream + Send>;

    /// The same parser, owned. Parsers are cheap to clone.
    fn to_boxed(&self) -> Box<dyn ChatParser>;
}

impl Clone for Box<dyn ChatParser> {
    fn clone(&self) -> Self {
        (**self).to_boxed()
    }
}

/// Any model's parser in the middle of a turn; see [`Stream`]. The trait is sealed.
pub trait ChatStream: sealed::Turn {
    /// More of the model's output, cut anywhere between characters.
    fn push(&mut self, text: &str, sink: &mut dyn FnMut(Event<'_>));

    /// More of the model's output, cut anywhere, also inside a character.
    fn push_bytes(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Event<'_>));

    /// The model's next token; see [`Stream::push_token`].
    fn push_token(&mut self, token: Token<'_>, sink: &mut dyn FnMut(Event<'_>));

    /// How many tokens were pushed in this turn; see [`Stream::token_counts`].
    fn token_counts(&self) -> TokenCounts;

    /// The output is over.
    fn finish(&mut self, sink: &mut dyn FnMut(Event<'_>));

    /// Makes the parser new. Returns the bytes that were not settled.
    fn reset(&mut self) -> Vec<u8>;
}

impl<M: Machine + Clone + Send + Sync + 'static> ChatParser for M {
    fn program(&self) -> &Program {
        Machine::program(self)
    }

    fn parse(&self, output: Chunk<'_>, options: &Options) -> Message {
        borrow(self, output, options).into_owned()
    }

    fn parse_borrowed<'t>(&self, output: Chunk<'t>, options: &Options) -> BorrowedMessage<'t> {
        borrow(self, output, options)
    }

    fn stream(&self, options: &Options) -> Box<dyn ChatStream + Send> {
        Box::new(Stream::new(self.clone(), options))
    }

    fn to_boxed(&self) -> Box<dyn ChatParser> {
        Box::new(self.clone())
    }
}

impl<M: Machine> ChatStream for Stream<M> {
    fn push(&mut self, text: &str, mut sink: &mut dyn FnMut(Event<'_>)) {
        self.push_text(text, &mut sink);
    }

    fn push_bytes(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Event<'_>)) {
        Stream::push(self, bytes, sink);
    }

    fn push_token(&mut self, token: Token<'_>, sink: &mut dyn FnMut(Event<'_>)) {
        Stream::push_token(self, token, sink);
    }

    fn token_counts(&self) -> TokenCounts {
        Stream::token_counts(self)
    }

    fn finish(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        Stream::finish(self, sink);
    }

    fn reset(&mut self) -> Vec<u8> {
        Stream::reset(self)
    }
}

/// What both traits need of their implementations. It is private, so nobody else can implement them: a later version may add
/// methods.
pub(crate) mod sealed {
    use super::super::machine::Machine;
    use super::super::stream::Stream;

    /// A parser of this crate.
    pub trait Parser {}

    impl<M: Machine> Parser for M {}

    /// A stream of this crate, and what the tests ask it.
    pub trait Turn {
        /// How many bytes were looked at until now.
        #[cfg(feature = "testing")]
        fn bytes_looked_at(&self) -> u64;

        /// How many bytes the prompt wrote of the turn.
        #[cfg(feature = "testing")]
        fn bytes_from_prompt(&self) -> usize;
    }

    impl<M: Machine> Turn for Stream<M> {
        #[cfg(feature = "testing")]
        fn bytes_looked_at(&self) -> u64 {
            Stream::bytes_looked_at(self)
        }

        #[cfg(feature = "testing")]
        fn bytes_from_prompt(&self) -> usize {
            Stream::bytes_from_prompt(self)
        }
    }
}
