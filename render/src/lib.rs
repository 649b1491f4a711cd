//! placeholder

mod builtins;
mod clock;
mod error;
mod eval;
mod limits;
mod operators;
mod reads;
mod run;
mod stack;
mod syntax;
mod template;
mod value;

pub use crate::clock::Clock;
pub use crate::error::{RenderError, RenderErrorKind, TemplateError};
pub use crate::limits::Limits;
pub use crate::reads::Reads;
pub use crate::stack::{Panicked, with_big_stack, without_threads};
pub use crate::template::{RenderOptions, Rendered, SpecialTokens, Template};
