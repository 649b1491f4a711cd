//! Parsers for the output of language models, compiled from their chat templates.
//!
//! A chat template turns messages into text; unjinja derives from it, at build time, the parser that turns a model's
//! text back into messages. This crate is what an application names: the runtime, and by the default feature
//! `macros` the macros.
//!
//! ```
//! mod hermes {
//!     unjinja::include_template_parser!("../templates/hermes.jinja");
//! }
//!
//! let output = "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>";
//! let message = hermes::parse(output, &unjinja::Options::new());
//! assert_eq!(message.tool_calls[0].name, "now");
//! ```

pub use unjinja_runtime::*;

#[cfg(feature = "grammar")]
pub use unjinja_grammar::{Grammar, GrammarError, GrammarExt, GrammarOptions, ToolChoice};

#[cfg(feature = "macros")]
pub use unjinja_macros::{include_spec_parser, include_template_parser};
