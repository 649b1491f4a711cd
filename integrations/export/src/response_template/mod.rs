//! Response templates: a key of `tokenizer_config.json` that says how the text of a model's turn is divided into the fields of
//! a message. They are read here as transformers 5.24 reads them; vLLM and SGLang have copies of an older reader.
//!
//! # Files
//! `schema` is a template as typed data; `load` reads it from JSON, and `problem` says what is wrong with one.
//! `executor` divides an output into regions, and `reading` makes a message of them.
//! `content`, `call_list`, `transform` and `tool_types` make the values; `value`, `number`, `json` and `text` are values as Python has
//! them.
//! `pattern` searches. `config` finds and writes templates in files. `export` makes a template of a format spec. `check` says
//! what a template does wrong with the outputs of its chat template.

mod call_list;
mod check;
mod config;
mod content;
mod error;
mod executor;
mod export;
mod json;
mod load;
mod number;
mod pattern;
mod problem;
mod reading;
mod schema;
mod text;
mod tool_types;
mod transform;
mod value;

pub use check::{Finding, FindingKind, check};
pub use config::{find, with_chat_template, with_template};
pub use error::{ErrorKind, ReadError};
pub use executor::{Event, Executor};
pub use export::{Attempt, Example, Export, Loss, LossDocument, LossKind, attempts, attempts_after, came_back, export};
pub use problem::{Problem, Problems};
pub use reading::{ReadCall, Reading, read, read_pieces};
pub use schema::ResponseTemplate;
pub use value::{Dict, Value};

/// The reader whose behaviour is followed, with its version.
pub const READER: &str = "transformers 5.24";
