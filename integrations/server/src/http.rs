//! The proxy: answers requests of OpenAI's two APIs and of Anthropic's with a server that only completes text.
//!
//! # Files
//! - `config` is what an operator chooses, and `state` what all requests share.
//! - `models` finds the model of a request, `tokens` the special tokens that its prompts lack, `tools` whether prompts have the tools, and
//!   `spelled` special tokens in messages. `encoding` is a model's tokenizer. `memory` keeps responses for the requests that name them.
//! - `router` has the endpoints. `guard` checks keys and counts requests, `origin` checks who asks, `budget` limits the memory that requests
//!   take.
//! - `answer` serves one request: it renders the prompt (as ids: `encoded`), and asks the `upstream` for as many `choices` as the client
//!   wants. `guarantees` makes the grammar, and refuses what cannot be enforced. `fields` says what is passed on.
//! - `deliver` reads the answers: each has a `turn` of the parser, whose events `reply` writes in the client's format. `output_tokens` tells
//!   which of an answer is special tokens. `refusal` writes why there is no answer. `pass_on` passes on what is about no chat.
//!   `body_parts` is the body of both.
//! - `upstream` speaks the protocols of the servers that complete text, on top of `lines` (server-sent events) and the HTTP `client`;
//!   `discover` asks such a server what it is.
//! - `metrics` and `log` report, and `serve` listens and shuts down.
//!
//! Nothing here logs a prompt, an answer or a key.

mod answer;
mod body_parts;
mod budget;
mod choices;
mod client;
mod compact;
mod config;
mod deliver;
mod discover;
mod encoded;
#[cfg(feature = "tokens")]
mod encoding;
#[cfg(not(feature = "tokens"))]
#[path = "http/no_encoding.rs"]
mod encoding;
mod fields;
mod guarantees;
mod guard;
mod lines;
mod log;
mod memory;
mod metrics;
mod models;
mod origin;
mod output_tokens;
mod pass_on;
mod refusal;
mod reply;
mod router;
mod serve;
mod spelled;
mod state;
mod stored;
mod tokens;
mod tools;
mod turn;
mod upstream;

pub use client::client_builder;
pub use config::{
    Bos, Config, GrammarUse, Limits, MissingParts, Secret, SpelledMarkers, Timeouts, Unenforced, UpstreamApi,
    UpstreamConfig, UpstreamUrlError,
};
pub use discover::{DiscoverError, UpstreamFacts, UpstreamModel, UpstreamServer, UpstreamTemplate, discover};
pub use log::{Log, LogLevel, LogLine};
pub use models::{ModelNameError, Models, ServedModel};
pub use serve::{Proxy, Reloader, SetupError};
