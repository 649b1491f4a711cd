//! What a compiled chat parser links: messages and events, the streaming machinery and its primitives, translators
//! from what models write to JSON, and tool sets. It knows no model: those are generated code on top of it.

mod call_object;
mod event;
mod fast_path;
mod fence;
mod interpret;
mod io;
mod json;
mod machine;
mod markers;
mod message;
mod options;
mod program;
mod python;
mod quoted;
mod search;
mod short;
mod stream;
#[cfg(feature = "testing")]
pub mod testing;
mod tools;
#[cfg(feature = "trace")]
pub mod trace;
mod trigger;
mod value;

pub use event::{Channel, Event};
pub use interpret::Interpreter;
pub use json::close as close_json;
pub use message::*;
pub use options::Options;
pub use program::{Entry, ModelInfo, Program};
pub use stream::{ChatParser, ChatStream, Chunk, Stream, parse, parse_borrowed};
pub use tools::*;
pub use trigger::Trigger;
pub use value::Types;

/// What generated code and the back ends of a program link: not for applications.
///
/// The number is the version of this interface. Generated code imports from the module of the version that it was
/// generated for. If the number does not exist any more, the compiler says so in one error, and the code must be
/// generated again (`unjinja codegen`, or a clean build where a macro or a build script generates it).
#[doc(hidden)]
pub mod abi_2 {
    pub use crate::call_object::CallShape;
    pub use crate::event::Channel;
    pub use crate::io::{Io, MAX_HELD, MAX_NAME, MAX_SPACE};
    pub use crate::machine::{Flow, Found, Machine};
    pub use crate::markers::{Confirm, MAX_MARKERS, Marker, Markers, Needle, Search};
    pub use crate::program::*;
    pub use crate::stream::enter;
    pub use crate::tools::schema::{declared, type_of};
    pub use crate::trigger::Trigger;
}

/// Reads one Python literal at the start of a text: the JSON that it stands for, and its length in bytes.
/// `None` where there is none, or where it is not complete.
///
/// ```
/// let (json, length) = unjinja_runtime::python_to_json("{'a': True} and more").expect("a dict");
/// assert_eq!((json.as_str(), length), (r#"{"a": true}"#, 11));
/// ```
pub fn python_to_json(text: &str) -> Option<(String, usize)> {
    let mut translator = python::Translator::new();
    let mut out = Vec::new();
    let length = match translator.feed(text.as_bytes(), &mut out) {
        json::Progress::Done(length) => length,
        json::Progress::More if translator.finish(&mut out) => text.len(),
        _ => return None,
    };
    (!translator.malformed()).then_some(())?;
    Some((String::from_utf8(out).ok()?, length))
}
