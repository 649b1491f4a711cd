#![doc = include_str!("../README.md")]
//!
//! # Files
//! `conversation` makes the messages, `probe` renders them, and `observed` says where their parts are in a turn. `ask`
//! puts the questions to a template; `conclude` makes a spec of the answers and renders nothing; `settle` leaves out of it
//! what its parser does not read back, and names it, and `unread` finds tags about
//! reasoning and calls that no marker reads. `analyze` is the entry point, and `trace` is the record of what was compared.
//! `verify` tests the result with messages from `random` and with the outputs of `continuations`, `quoted` makes turns that quote the template's markers, `smallest` finds the smallest conversation that shows a failure,
//! and `gap_report` describes it for people. `verified` puts the result of the test into the spec. `suggest` looks for a
//! format that is only described in the prompt. `source_ext` makes templates and names of files that were read.

mod analyze;
mod ask;
mod conclude;
mod continuations;
mod conversation;
mod error;
mod experiment;
mod gap_report;
mod message_kind;
mod observed;
mod probe;
mod quoted;
mod random;
mod sentinels;
mod settle;
mod small_turns;
mod smallest;
mod source_ext;
mod suggest;
mod text;
pub mod trace;
mod unread;
mod verified;
mod verify;

pub use analyze::{Naming, analyze, analyze_traced, refused_answer, sha256};
pub use continuations::{Continuation, ContinuationKind};
pub use error::{AnalyzeError, Gap};
pub use gap_report::{GapReport, gap_report};
pub use message_kind::MessageKind;
pub use source_ext::SourceExt;
pub use suggest::{Suggestion, calls_otherwise, suggest};
pub use verified::{ROUND_TRIPS, verified};
pub use verify::{AfterResult, Failure, Rendered, Verification, render_calls, verify, verify_after_results};
