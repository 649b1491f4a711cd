#![doc = include_str!("../README.md")]
//!
//! # Files
//! `conversation` makes the messages, `probe` renders them, and `observed` says where their parts stand in a turn. `ask`
//! puts the questions to a template; `conclude` makes a spec of the answers and renders nothing. `analyze` is the entry
//! point, `verify` tests the result, and `trace` is the record of what was compared.

mod analyze;
mod ask;
mod conclude;
mod conversation;
mod error;
mod observed;
mod probe;
mod random;
mod sentinels;
mod text;
pub mod trace;
mod verify;

pub use analyze::{Naming, analyze, analyze_traced, sha256};
pub use error::{AnalyzeError, Gap};
pub use verify::{Failure, Rendered, TooManyFailures, Verification, render_calls, verify};
