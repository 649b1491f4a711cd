//! What the tests share: what the engine and the recogniser say of a text, and texts to ask them about.

// Every test uses a part of this.
#![allow(dead_code, reason = "each test compiles this on its own")]

use unjinja_engine::{Engine, Session};
use unjinja_gbnf::Grammar;

pub mod cases;
pub mod damage;
pub mod grammars;

pub type Failure = Box<dyn std::error::Error>;

/// What is said of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may end.
    Complete,
    /// It may go on.
    Unfinished,
    /// This byte is the first that does not fit.
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

    /// Of the engine, about a text that is read from where the session stands.
    pub fn of_engine(session: &mut Session, text: &str) -> Self {
        let read = session.accept(text.as_bytes());
        Self::new(read, || session.complete())
    }

    /// Of the recogniser, about a whole text, byte by byte.
    pub fn of_recogniser(grammar: &Grammar, text: &str) -> Self {
        let mut recogniser = grammar.recogniser();
        let refused = text.as_bytes().iter().position(|byte| recogniser.push_bytes(&[*byte]).is_err());
        Self::new(refused.map_or(Ok(()), Err), || recogniser.complete())
    }
}

/// What the recogniser says of a grammar that it refuses and that the engine may load, or hang on: the rows of
/// `limits.toml` that are `stricter` or hang.
const STRICTER: &[&str] = &[
    "is left-recursive",
    "the higher count is lower",
    "an escape that the engine does not know: `\\-`",
    "a class without a code point",
    "is defined twice",
    "a token terminal loads only",
    "a repetition that makes 2000 rules",
];

/// A grammar, as the engine and as the recogniser have it.
pub struct Both<'engine> {
    engine: &'engine Engine,
    text: String,
    pub grammar: Grammar,
}

impl<'engine> Both<'engine> {
    /// `None` where neither loads it, or where the recogniser may refuse what the engine loads.
    ///
    /// # Errors
    ///
    /// One loads it and the other does not.
    pub fn load(engine: &'engine Engine, text: &str) -> Result<Option<Self>, String> {
        match Grammar::parse(text) {
            // The engine might never come back, see `limits.toml`.
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

    /// What both say of a text.
    ///
    /// # Errors
    ///
    /// They say different things.
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
