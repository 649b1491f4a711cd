//! Helpers of the tests: the answers of the engine and of the recogniser about a text.

// Every test uses only some of these.
#![allow(dead_code, reason = "each test compiles this on its own")]

use unjinja_engine::{Engine, Session};
use unjinja_gbnf::Grammar;

pub mod cases;
pub mod damage;
pub mod grammars;

pub type Failure = Box<dyn std::error::Error>;

/// The answer about a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The text may end here.
    Complete,
    /// The text is not complete.
    Unfinished,
    /// The index of the first byte that does not fit.
    Refused(usize),
}

impl Verdict {
    fn new(read: Result<(), usize>, complete: impl FnOnce() -> bool) -> Self {
        match read {
            Err(at) => Self::Refused(at),
            Ok(()) if complete() => Self::Complete,
            Ok(()) => Self::Unfinished,
        }
    }

    /// The engine's answer about a text, from the current state of the session.
    pub fn of_engine(session: &mut Session, text: &str) -> Self {
        let read = session.accept(text.as_bytes());
        Self::new(read, || session.complete())
    }

    /// The recogniser's answer about a whole text, byte by byte.
    pub fn of_recogniser(grammar: &Grammar, text: &str) -> Self {
        let mut recogniser = grammar.recogniser();
        let refused = text.as_bytes().iter().position(|byte| recogniser.push_bytes(&[*byte]).is_err());
        Self::new(refused.map_or(Ok(()), Err), || recogniser.complete())
    }
}

/// The errors of the recogniser for grammars that the engine may load, or hang on: the rows of `limits.toml` that are
/// `stricter` or hang.
const STRICTER: &[&str] = &[
    "is left-recursive",
    "the higher count is lower",
    "an escape that the engine does not know: `\\-`",
    "a class without a code point",
    "is defined twice",
    "a token terminal loads only",
    "a repetition that makes 2000 rules",
];

/// A grammar, in the engine and in the recogniser.
pub struct Both<'engine> {
    engine: &'engine Engine,
    text: String,
    pub grammar: Grammar,
}

impl<'engine> Both<'engine> {
    /// `None` if neither loads it, or if the recogniser may refuse it although the engine loads it.
    ///
    /// # Errors
    ///
    /// One loads it and the other does not.
    pub fn load(engine: &'engine Engine, text: &str) -> Result<Option<Self>, String> {
        match Grammar::parse(text) {
            // The engine may hang, see `limits.toml`.
            Err(error) if STRICTER.iter().any(|why| error.message.contains(why)) => Ok(None),
            Err(error) => match engine.load(text) {
                Ok(_) => Err(format!("the engine loads it, the recogniser does not: {error}")),
                Err(_) => Ok(None),
            },
            Ok(grammar) => match engine.load(text) {
                Ok(_) => Ok(Some(Self { engine, text: text.to_owned(), grammar })),
                Err(_) => Err("the recogniser loads it, the engine does not".to_owned()),
            },
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The answer of both about a text.
    ///
    /// # Errors
    ///
    /// They disagree.
    pub fn read(&self, text: &str) -> Result<Verdict, String> {
        let mut session = self.engine.load(&self.text).map_err(|_| "the engine loaded it once only")?;
        let (engine, recogniser) =
            (Verdict::of_engine(&mut session, text), Verdict::of_recogniser(&self.grammar, text));
        if engine == recogniser {
            return Ok(engine);
        }
        Err(format!("{text:?}: the engine {engine:?}, the recogniser {recogniser:?}"))
    }
}
