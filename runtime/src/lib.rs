//! What a compiled chat parser links: messages and events, the streaming machinery and its primitives, translators
//! from what models write to JSON, and tool sets. It knows no model: those are generated code on top of it.

mod call_object;
mod event;
mod fast_path;
mod fence;
pub mod grammar;
mod io;
mod json;
mod machine;
mod markers;
mod message;
mod options;
mod python;
mod quoted;
mod search;
mod short;
mod stream;
#[cfg(feature = "testing")]
pub mod testing;
mod tools;
mod value;

pub use call_object::CallShape;
pub use event::{Channel, Event};
pub use grammar::{Grammar, GrammarError, GrammarOptions, ToolChoice, Trigger};
#[cfg(feature = "trace")]
pub use io::Place;
pub use io::{Io, MAX_HELD, MAX_NAME, MAX_SPACE};
pub use json::close as close_json;
pub use machine::{Entry, Facts, Flow, Found, Machine, State};
pub use markers::{Confirm, MAX_MARKERS, Marker, Markers, Needle, Search};
pub use message::*;
pub use options::Options;
#[cfg(feature = "trace")]
pub use stream::read_at_once;
pub use stream::{ChatParser, ChatStream, Chunk, Stream, parse, parse_borrowed};
pub use tools::*;
pub use value::Types;

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
