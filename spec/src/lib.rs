//! The format spec: what a model's output looks like, as data that people read, review and diff.
//!
//! A [`FormatSpec`] is written by the analyzer, committed, and compiled into parsers and grammars. This crate
//! is the spec's language: the data model (each field is a key of the TOML file and documents it), reading
//! with every problem named at once ([`SpecError`]), writing that gives the same bytes everywhere,
//! [`Overlay`]s that correct what a template cannot reveal, and a semantic [`diff`] that says whether a parser
//! built from an old spec copes with a new one.
//!
//! ```
//! use unjinja_spec::{FormatSpec, ToolFormat};
//!
//! let text = r#"
//! spec_version = 1
//!
//! [template]
//! name = "sample"
//! file = "sample.jinja"
//! sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
//!
//! [tools]
//! format = "json_native"
//! per_call_start = "<tool_call>\n"
//! per_call_end = "\n</tool_call>"
//! name_field = "name"
//! args_field = "arguments"
//! "#;
//! let spec = FormatSpec::from_toml(text, "sample.toml")?;
//! assert_eq!(spec.tools.format, ToolFormat::JsonNative);
//!
//! let written = spec.to_toml();
//! assert!(written.contains(r#"per_call_start = "<tool_call>\n""#));
//! assert_eq!(FormatSpec::from_toml(&written, "sample.toml")?, spec);
//! # Ok::<(), unjinja_spec::SpecError>(())
//! ```
//!
//! # Adding a key
//! Add a field with a doc comment to the model: reading, writing, overlays and the diff know it from its
//! `Serialize` and `Deserialize`. If a format needs it, say so in `check.rs`; what a change of it means for
//! an old parser goes into `rules.rs`, and until then every change of it counts as breaking.

mod call_ids;
mod check;
mod comments;
mod diff;
mod document;
mod effect;
mod error;
mod evidence;
mod fault;
mod functions;
mod hand_over;
mod identity;
mod marker;
mod markers;
mod messages;
mod model;
mod overlay;
mod parse;
mod read;
mod rules;
mod status;
mod tag;
mod text;
mod turn;
mod write;

pub use call_ids::{CallIdShape, CallIds, ModelIds};
pub use diff::{Change, diff, line_of, values, worst};
pub use effect::Effect;
pub use error::{Problem, SpecError};
pub use evidence::{Described, Evidence, RoundTrips};
pub use functions::{Functions, FunctionsForm};
pub use hand_over::{BIG_INTEGER, Carrier, REASONING_FIELDS, WrittenTags, big_integer, exact_json, json_text};
pub use marker::{MarkerKey, MarkerText, UnknownMarker};
pub use messages::{ArgumentsForm, CallIdForm, ContentForm, ContentWithCalls, EmptyContent, Messages, SystemPlace};
pub use model::{
    ArgumentOrder, Arguments, CallId, CallIdPosition, Capabilities, Content, ContentMode, FormatSpec, Function,
    GenerationPrompt, Header, Reasoning, ReasoningMode, SPEC_VERSION, StartsIn, TemplateInfo, Tokens, ToolFormat,
    Tools, TurnMarkers,
};
pub use overlay::{Overlay, OverlayKey};
pub use status::Status;
pub use tag::{END_OF_TEXT, REPEATED_NAME, begins_tag, tag_around, tags};
pub use text::{is_hidden, nearest};
