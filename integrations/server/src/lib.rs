#![doc = include_str!("../README.md")]
//!
//! # Files
//! `request` is what all APIs ask for, in one form; `openai`, `responses` and `anthropic` read their own form into it. `context`
//! writes the variables of a template, and `prepare` adds the options of parser and grammar.
//! `calls` decides when a call is announced and under which id (`ids`), and how much of its arguments can be sent
//! (`arguments`); the writers of all APIs follow it. `place`, `error`, `finish` and `sse` are small and independent.
//! `http` is the proxy, which the feature of this name enables.

mod arguments;
mod calls;
mod context;
mod error;
mod finish;
mod ids;
mod media;
mod prepare;
mod request;
mod request_value;

pub mod anthropic;
#[cfg(feature = "http")]
pub mod http;
pub mod openai;
pub mod responses;
pub mod sse;

pub use error::{AnthropicError, ApiError};
pub use finish::{Finish, Usage};
pub use ids::unique_id;
pub use prepare::{BegunText, Guarantee, LateSystem, Prepared};
pub use request::{BegunField, ChatMessage, Request, ResponseFormat, Role, Sampling, ToolChoice};
pub use unjinja_spec::{CallIdShape, CallIds, ModelIds};
