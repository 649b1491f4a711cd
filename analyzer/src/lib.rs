//! Derives a format spec from a chat template by controlled experiments.

pub mod render;

mod analyze;
mod calls;
mod frame;
mod lab;
mod text;
pub mod trace;
mod verify;

pub use analyze::{AnalyzeError, Naming, analyze, analyze_traced, name_of, sha256};
pub use verify::{Failure, Rendered, Verification, render_calls, verify};
