//! A recogniser of GBNF, the grammars of llama.cpp's sampler, for tests.
//!
//! [`Grammar::parse`] takes what the engine takes, with its limits as errors that have a line and a column. A
//! [`Recogniser`] is fed a text, in pieces of any size, and says where it leaves the grammar and what was expected
//! there, and whether it may end. [`Grammar::sample`] draws random sentences. It is no part of what an application
//! links.
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
//! A rule that is defined twice, a class without a code point (`[]`), an escape of a `-`, and a repetition that makes
//! exactly 2000 rules are errors here: engines differ about them. So is every rule that can come back to itself without
//! a code point in between, and with it an open repetition of what may be empty: of those the engine refuses some, loads
//! some, and hangs on some. Token terminals are refused: whether they load depends on a vocabulary.
//!
//! The package `engine/` holds this one and llama.cpp itself together, row by row and at random.

mod error;
mod grammar;
mod parse;
mod recognise;
mod sample;

pub use error::{Error, Rejected};
pub use grammar::Grammar;
pub use recognise::Recogniser;
pub use sample::Limits;
