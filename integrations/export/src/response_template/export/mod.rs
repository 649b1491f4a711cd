//! Response templates made of format specs, and what they do not express.
//!
//! `mark` writes markers, `calls` the field of calls, `python_calls` that of calls as in Python, `from_spec` the whole template;
//! `verified` tries it and names what is lost, by the kinds in `loss`.

mod calls;
mod document;
mod from_spec;
mod loss;
mod mark;
mod python_calls;
mod verified;

pub use document::LossDocument;
pub(crate) use from_spec::ends;
pub use loss::LossKind;
pub use verified::{Attempt, Example, Export, Loss, attempts, attempts_after, came_back, export};
pub(crate) use verified::{difference, lost, lost_after};
