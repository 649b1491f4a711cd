//! The layer under the Python package and the npm package: what both do alike, without a type of either language. A binding
//! converts the values of its language, calls this, and converts what comes back.
//!
//! `failure` says why an operation failed. `words` reads the values that options take, `models` loads models, `turn` reads a turn
//! that arrives in pieces, and `chunks` writes it in the forms of OpenAI and Anthropic. `grammars` and `checks` need the large
//! module of the npm package: nothing of the others may name `GrammarOptions`, which links all engines.

mod checks;
mod chunks;
mod failure;
mod grammars;
mod models;
mod turn;
mod words;

pub use checks::{Checked, find_response_template, verified_export};
pub use chunks::{Chunks, Form, Written};
pub use failure::{Failure, FailureKind};
pub use grammars::{Freedom, grammar, request_grammar, target, widened};
pub use models::{loader, overlay, parse, parse_request, reasoning_markers, restored_model};
pub use turn::{Step, TurnReader, channel_name};
pub use words::{TOOL_CHOICES, callable, cut_calls, finish, reasoning_name, tool_choice, unparsed};
