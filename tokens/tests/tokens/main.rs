//! Feeds parsers with the tokens of real tokenizers.
//!
//! - `vocabulary`: a tokenizer of Hugging Face: a text becomes tokens, each with its bytes.
//! - `byte_level`: makes tokenizers for a template: one token for each byte, and tokens that are learnt from turns.
//! - `released`: the tokenizers of released models, which `.ci/tokenizers` fetches, and the templates that they belong to.
//! - `feed`: pushes tokens into a parser, and says what has to come out.
//! - `checks`: what has to hold for a template and a tokenizer.
//! - `added`: added tokens with rules.
//! - `bridged`: agents whose sampled ids stay in the next prompt.
//! - `decoded`: turns by their ids.
//! - `ends`: where a turn ends, whatever tokens spell it.
//! - `injected`: conversations that spell control tokens.
//! - `oracles`: the ids of transformers; `masks`: what TRL takes for written by the model; `harmony` and `mistral`: ids and masks of
//!   these two; `renderers` and `rendered`: what the package `renderers` reads and writes; `rows`: what they share.
//! - `read_back`: whole conversations from their texts and ids.
//! - `promises`: what the pages promise, on small templates.
//! - `turns`: turns that a template writes.
//!
//! The tests are in `own_templates` (our templates), `corpus_templates` (released templates with their own tokenizers) and
//! `stripped` (outputs from which a server has removed the special tokens).

mod added;
mod bridged;
mod byte_level;
mod checks;
mod corpus_templates;
mod decoded;
mod ends;
mod feed;
mod harmony;
mod injected;
mod masks;
mod mistral;
mod oracles;
mod own_templates;
mod promises;
mod read_back;
mod released;
mod rendered;
mod renderers;
mod rows;
mod second_render;
mod stripped;
mod turns;

mod vocabulary;

use unjinja_testkit::Failure;
