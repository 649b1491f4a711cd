//! The runtime of chat parsers: messages and events, the engine that runs a program, readers that turn what models
//! write into JSON, and tool sets. It knows no model. The parser of a model is generated code on top of it, or a
//! program that the interpreter runs.

mod byte_set;
mod engine;
mod fast_paths;
mod inline_string;
mod limits;
mod message;
mod options;
mod program;
mod readers;
#[doc(hidden)]
pub mod schema;
#[cfg(feature = "testing")]
pub mod testing;
mod tools;
#[cfg(feature = "trace")]
pub mod trace;
mod utf8;

#[cfg(feature = "futures")]
pub use engine::adapters::EventStream;
pub use engine::chat_parser::{ChatParser, ChatStream};
pub use engine::input::{Chunk, Token};
pub use engine::interpreter::Interpreter;
pub use engine::stream::{Stream, parse, parse_borrowed};
pub use engine::token_counts::TokenCounts;
pub use message::{
    BorrowedMessage, BorrowedToolCall, Channel, Diagnostic, DiagnosticKind, Event, Message, OwnedEvent, Part,
    PartOrder, ToolCall,
};
#[cfg(feature = "types")]
pub use message::{TypedCallError, TypedCallProblem};
pub use options::{CutCalls, Options, Unparsed};
pub use program::{Entry, ModelInfo, Program, Trigger};
pub use readers::json::close as close_json;
pub use tools::{Tool, Tools, ToolsError, ToolsProblem, Types};

/// The interface for generated code and for the back ends of a program. Not for applications.
///
/// The number is the version of this interface. Generated code imports from the module with the version that it was
/// generated for. If that module does not exist any more, the compiler reports one error. Then the code must be
/// generated again: with `unjinja codegen`, or with a clean build if a macro or a build script generates it.
#[doc(hidden)]
pub mod abi {
    pub use crate::engine::entry::enter;
    pub use crate::engine::io::Io;
    pub use crate::engine::machine::{Flow, Found, Machine};
    pub use crate::limits::{MAX_HELD, MAX_NAME, MAX_SPACE};
    pub use crate::message::Channel;
    pub use crate::program::*;

    /// What generated types of tools are made with.
    #[cfg(feature = "types")]
    pub mod types {
        pub use serde;
        pub use serde_json;
    }
}

/// The automata that the readers of literals share, for other code that follows JSON byte by byte. Not for applications.
#[doc(hidden)]
pub mod literals {
    pub use crate::readers::json::{StablePrefix, StableText};
}

/// Reads one Python literal at the start of a text. Returns its JSON and its length in bytes; `None` if there is no
/// complete literal.
///
/// ```
/// let (json, length) = unjinja_runtime::python_to_json("{'a': True} and more").expect("a dict");
/// assert_eq!((json.as_str(), length), (r#"{"a": true}"#, 11));
/// ```
pub fn python_to_json(text: &str) -> Option<(String, usize)> {
    let mut translator = readers::python::Translator::new();
    let mut out = Vec::new();
    let length = match translator.feed(text.as_bytes(), &mut out) {
        readers::json::Progress::Done(length) => length,
        readers::json::Progress::More if translator.finish(&mut out) => text.len(),
        _ => return None,
    };
    (!translator.malformed()).then_some(())?;
    Some((String::from_utf8(out).ok()?, length))
}
