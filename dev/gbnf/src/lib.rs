//! Reads GBNF, the grammar language of llama.cpp's sampler, and checks texts against grammars. For tests only: applications do not
//! link this crate.
//!
//! [`Grammar::parse`] accepts what the engine accepts, and reports everything else, including the engine's limits, as errors with
//! a line and a column. A [`Recogniser`] reads a text in pieces of any size. It reports where the text stops fitting the grammar,
//! what was expected there, and whether the text may end. [`Grammar::sample`] draws random sentences.
//!
//! ```
//! use unjinja_gbnf::{Grammar, Limits};
//!
//! let grammar = Grammar::parse("root ::= greeting \", \" [a-z]{1,8}\ngreeting ::= \"Hello\" | \"Good day\"")?;
//! let mut recogniser = grammar.recogniser();
//! recogniser.push("Good d")?;
//! assert!(!recogniser.complete());
//! recogniser.push("ay, reader")?;
//! assert!(recogniser.complete());
//! let rejected = recogniser.push("!").unwrap_err();
//! assert_eq!(rejected.to_string(), "at byte 16: '!' where [a-z] or the end was expected (in root)");
//!
//! let sentence = grammar.sample(&mut 7, Limits::default()).expect("a sentence");
//! assert_eq!(grammar.check(&sentence), Ok(()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where it is stricter than the engine
//! These are errors here, because engines differ about them: a rule that is defined twice, an empty class (`[]`), an escaped `-`,
//! and a repetition that makes exactly 2000 rules. Left recursion is an error, and with it an unbounded repetition of something
//! that may be empty: the engine refuses some of these, loads some, and hangs on some. Token terminals are refused, because
//! whether they load depends on a vocabulary.
//!
//! The package `dev/engine` compares this crate with llama.cpp itself, on lists of cases and on random grammars.

mod error;
mod grammar;
mod parse;
mod recognise;
mod sample;

pub use error::{Error, Rejected};
pub use grammar::Grammar;
pub use recognise::Recogniser;
pub use sample::Limits;
