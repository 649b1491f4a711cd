#![doc = include_str!("../README.md")]
//!
//! # Files
//! `loader` decides where a spec comes from and makes models; `model` is what an application uses. `renderer` renders a
//! `conversation`, `prompt` says where the turn begins in the result, and `request` puts together what one request needs; `cache` keeps analyses, `overlays` says which corrections fit, `known` finds the supported
//! models, and `error` says what went wrong. Nothing here knows a format.

mod cache;
mod conversation;
mod error;
#[cfg(feature = "generated")]
mod known;
mod loader;
mod model;
mod overlays;
mod prompt;
mod renderer;
mod request;

pub use cache::CacheUse;
pub use conversation::Conversation;
pub use error::ModelError;
#[cfg(feature = "generated")]
pub use known::{known_spec, known_specs};
pub use loader::Loader;
pub use model::{Model, ModelStream};
pub use overlays::{Correction, KnownOverlay, Reason};
pub use prompt::Prompt;
pub use request::{Request, RequestOptions};

#[cfg(feature = "generated")]
pub use unjinja_generated::LookupError;
pub use unjinja_grammar::{
    Grammar, GrammarError, GrammarExt, GrammarOptions, SpecialToken, Target, ToolChoice, Verdict, VerdictKind, Verdicts,
};
pub use unjinja_render::{Clock, SpecialTokens, Template};
pub use unjinja_runtime::{
    BorrowedMessage, BorrowedToolCall, Channel, ChatParser, ChatStream, Chunk, Diagnostic, DiagnosticKind, Event,
    Interpreter, Message, Options, Stream, Tool, ToolCall, Tools, ToolsError, Types, Unparsed,
};
pub use unjinja_source::Source;
pub use unjinja_spec::{CallIdShape, CallIds, FormatSpec, ModelIds, Overlay, OverlayKey, Status};
