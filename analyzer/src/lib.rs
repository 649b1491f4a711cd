//! Derives a format spec from a chat template by controlled experiments.

mod analyze;
mod calls;
mod frame;
mod lab;
mod text;
pub mod trace;
mod verify;

pub use analyze::{AnalyzeError, Naming, analyze, analyze_traced, sha256};
pub use verify::{Failure, Rendered, Verification, render_calls, verify};
