#![doc = include_str!("../README.md")]
//!
//! # Files
//! `sentinels` and `conversation` make the conversations, `probe` renders them, `turn` and `calls` draw conclusions,
//! `analyze` puts them together, `verify` tests the result, and `trace` is the record of what was compared.

mod analyze;
mod calls;
mod conversation;
mod error;
mod probe;
mod sentinels;
mod text;
pub mod trace;
mod turn;
mod verify;

pub use analyze::{Naming, analyze, analyze_traced, sha256};
pub use error::{AnalyzeError, Gap};
pub use verify::{Failure, Rendered, TooManyFailures, Verification, render_calls, verify};
