//! The proxy: answers requests of OpenAI's two APIs and of Anthropic's with a server that only completes text.
//!
//! # Files
//! `config` is what an operator chooses; `models` finds the model of a request, `tokens` the special
//! tokens that its prompts lack, and `tools` whether they have the tools. `router` has the endpoints and `answer` serves
//! one request: it renders, and asks the `upstream` for as many `choices` as the client wants. `deliver` reads them: each has a `turn` of the
//! parser, whose events `reply` writes in the client's format. `refusal` writes why there is no answer. `pass_on` passes on what is about no chat. `discover` asks an upstream what it is. `upstream` speaks the protocols of these servers, on top of `lines` (server-sent events) and of the HTTP
//! `client`.
//! `spelled` finds special tokens in messages. `promises` makes the grammar, and refuses what nobody keeps. `memory` keeps responses for the requests that name them. `guard` checks keys and counts requests, `budget` bounds what they take, `metrics` and `log` report, and `serve` listens and shuts down. `state` is what all requests
//! share.
//!
//! Nothing here logs a prompt, an answer or a key.

mod answer;
mod budget;
mod choices;
mod client;
mod config;
mod deliver;
mod discover;
mod fields;
mod guard;
mod lines;
mod log;
mod memory;
mod metrics;
mod models;
mod origin;
mod pass_on;
mod promises;
mod refusal;
mod reply;
mod router;
mod serve;
mod spelled;
mod state;
mod tokens;
mod tools;
mod turn;
mod upstream;

pub use client::client_builder;
pub use config::{
    Bos, Config, GrammarUse, Limits, Secret, SpelledMarkers, Timeouts, Unkept, UpstreamApi, UpstreamConfig,
    UpstreamUrlError,
};
pub use discover::{DiscoverError, UpstreamFacts, UpstreamModel, UpstreamServer, UpstreamTemplate, discover};
pub use log::{Log, LogLevel, LogLine};
pub use models::{ModelNameError, Models, ServedModel};
pub use serve::{Proxy, Reloader, SetupError};
