//! Derives a format spec from a chat template by controlled experiments.

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
pub use verify::{Failure, Rendered, Verification, render_calls, verify};
