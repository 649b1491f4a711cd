#![doc = include_str!("../README.md")]
//!
//! # Files
//! `encoder` and `decoder` are what an application uses. `vocabulary` is a tokenizer, `added` finds its added tokens in a text, and `bytes` says how its
//! tokens write bytes. `origin` tells who wrote which byte of a prompt, `label` what it is, and `written` which bytes the model writes.
//! `stable` finds what a template
//! writes anew (a `rewrite`) as a conversation goes on, and `bridge` appends to what a model wrote. `error` says what went wrong. Nothing here knows a format.

mod added;
mod bridge;
mod bytes;
mod decoder;
mod encoder;
mod error;
mod label;
mod origin;
mod rewrite;
mod stable;
mod vocabulary;
mod written;

pub use bridge::Bridge;
pub use decoder::{Decoded, TokenStream};
pub use encoder::{EncodeOptions, Encoded, Encoder, SpelledTokens};
pub use error::TokensError;
pub use label::{Label, TokenPart};
pub use origin::Spelled;
pub use rewrite::{PromptText, Rewrite};
pub use tokenizers;
pub use vocabulary::Vocabulary;
