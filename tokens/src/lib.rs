#![doc = include_str!("../README.md")]
//!
//! # Files
//! `encoder` and `decoder` are what an application uses. `vocabulary` is a tokenizer, `added` finds its added tokens in a text, and `bytes`
//! says how its tokens write bytes. `label` says what a token is; who wrote which byte of a prompt, `unjinja_dynamic::authors` tells, and
//! `undecided` asks again where labels cannot. `stable` finds what a template writes anew (a `rewrite`) as a conversation continues, and
//! `bridge` appends to what a model wrote. `read_back` reads whole conversations. `error` says what went wrong. Nothing here knows a format.

mod added;
mod bridge;
mod bytes;
mod decoder;
mod encoder;
mod error;
mod label;
mod read_back;
mod rewrite;
mod second_render;
mod stable;
mod vocabulary;

pub use bridge::Bridge;
pub use decoder::{Decoded, TokenStream};
pub use encoder::{EncodeOptions, Encoded, Encoder, PromptIds, SpelledTokens};
pub use error::TokensError;
pub use label::Label;
pub use read_back::{Alternative, ConversationReader, ReadConversation, ReadMessage};
pub use rewrite::{PromptText, Rewrite};
pub use tokenizers;
pub use unjinja_dynamic::authors::{Spelled, TokenPart};
pub use vocabulary::Vocabulary;
