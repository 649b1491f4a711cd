//! The engine: runs a program over text that arrives in pieces and sends events.
//!
//! | file | what it does |
//! |---|---|
//! | `stream`, `chat_parser`, `adapters` | one push after the other: what the application calls, for one model and for any |
//! | `run`, `quotation` | one turn from push to push; whether a call in reasoning is a call |
//! | `entry` | where the output begins, by what the prompt has written of the turn |
//! | `machine`, `interpreter` | takes steps from state to state: the interface, and the table walk |
//! | `io`, `actions`, `read_values`, `read_object`, `nested` | what a step can do: read what comes next, act on it |
//! | `cursor`, `search`, `layout`, `name` | the position in the text, and markers and names in it |
//! | `special_tokens` | which parts of the text are tokens of the tokenizer |
//! | `token_counts` | how many tokens became text of the answer and of reasoning |
//! | `speculation` | text that is held back until it is certain that it is a call |
//! | `call_builder` | the open call: its name, id and arguments |
//! | `refusal` | the text of a call that does not count |
//! | `value_readers` | the readers of values, and which of them is in the middle of one |
//! | `emitter` | text and JSON become events, in whole characters |
//! | `memory` | all of these parts together: what a parser keeps between two pushes |
//! | `fast_path`, `pieces` | short pieces of text that need no look at the machine |
//!
//! Nothing here knows a model. Every primitive can stop at any byte and continue with the next push.
//!
//! An application links only the readers of values that its machines name. Code that all machines share must therefore not
//! name a reader; it calls function pointers that a primitive of the reader has left in the memory.

mod actions;
pub(crate) mod adapters;
mod call_builder;
pub(crate) mod chat_parser;
mod confirming;
mod cursor;
mod emitter;
pub(crate) mod entry;
mod fast_path;
pub(crate) mod input;
pub(crate) mod interpreter;
pub(crate) mod io;
mod layout;
pub(crate) mod machine;
mod memory;
mod name;
mod nested;
mod next_name;
mod pieces;
#[cfg(feature = "trace")]
pub(crate) mod place;
mod quotation;
mod read_object;
mod read_values;
mod refusal;
mod run;
mod search;
mod special_tokens;
mod speculation;
pub(crate) mod stream;
pub(crate) mod token_counts;
mod value_readers;
mod work;
