#![doc = include_str!("../README.md")]
//!
//! # Files
//! `sentinels` and `conversation` make the conversations, `probe` renders them, `turn` and `calls` draw conclusions,
//! `analyze` puts them together, `missing` names what the spec lacks, and `trace` is the record of what was compared.
//! `verify` tests the result, `smallest` finds the smallest conversation that shows a failure, and `gap_report` describes it
//! for people. `suggest` looks for a format that is only described in the prompt.

mod analyze;
mod calls;
mod conversation;
mod error;
mod gap_report;
mod missing;
mod probe;
mod sentinels;
mod smallest;
mod suggest;
mod text;
pub mod trace;
mod turn;
mod verify;

pub use analyze::{Naming, analyze, analyze_traced, sha256};
pub use error::{AnalyzeError, Gap};
pub use gap_report::{GapReport, gap_report};
pub use suggest::{Suggestion, suggest};
pub use verify::{Failure, Rendered, TooManyFailures, Verification, render_calls, verify};
