#![doc = include_str!("../README.md")]
//!
//! # Files
//! `loader` decides which spec a template has and which overlays correct it; `shorthands` are its calls for each kind of input.
//! `model` is what an application uses, with the prompts that it makes: `renderer` renders a `conversation`, and `prompt` is a render with
//! the origin of each byte. `grammars` constrain a sampler, and `request` puts together what one request needs. `spans` are events with
//! their text. `authors` tells who wrote which byte of a prompt, `missing` what a prompt lacks, and `explain` shows all that is known of
//! a template and an output. `cache` keeps analyses,
//! `overlays` says which corrections fit, `known` finds the supported models, and `error` says what went wrong. Nothing here knows a
//! format.

#[cfg(feature = "grammar")]
mod added_tokens;
pub mod authors;
mod cache;
mod conversation;
mod error;
#[cfg(feature = "explain")]
pub mod explain;
#[cfg(feature = "grammar")]
mod grammars;
#[cfg(feature = "generated")]
mod known;
mod loader;
mod missing;
mod model;
mod overlays;
mod prompt;
mod renderer;
#[cfg(feature = "grammar")]
mod request;
mod shorthands;
mod spans;
mod vocabulary;

pub use cache::CacheUse;
pub use conversation::{Conversation, local_time};
pub use error::ModelError;
#[cfg(feature = "generated")]
pub use known::{known_overlay, known_spec, known_specs, with_names};
pub use loader::{Input, LoadError, Loaded, Loader, Observer, overlay_of_spec, specs_in};
pub use missing::{Missing, MissingKind};
pub use model::{Model, ModelStream, Prompt};
pub use overlays::{Correction, KnownOverlay, Origin, Reason};
pub use prompt::LabelledPrompt;
#[cfg(feature = "grammar")]
pub use request::{Request, RequestOptions};
pub use spans::{OutputSpan, SpanReader, SpanStep};

#[cfg(feature = "generated")]
pub use unjinja_generated::LookupError;
#[cfg(feature = "grammar")]
pub use unjinja_grammar::{
    Grammar, GrammarError, GrammarExt, GrammarOptions, Integers, SpecialToken, Target, ToolChoice, WhiteSpace,
};
pub use unjinja_render::{Clock, Follows, Limits as RenderLimits, SpecialTokens, Template};
pub use unjinja_runtime::{
    BorrowedMessage, BorrowedToolCall, Channel, ChatParser, ChatStream, Chunk, CutCalls, Diagnostic, DiagnosticKind,
    Event, Interpreter, Message, Options, OwnedEvent, Stream, Token, Tool, ToolCall, Tools, ToolsError, Types,
    Unparsed,
};
pub use unjinja_source::{Source, hub_folder};
pub use unjinja_spec::{CallIdShape, CallIds, FormatSpec, ModelIds, Overlay, OverlayKey, Status};
