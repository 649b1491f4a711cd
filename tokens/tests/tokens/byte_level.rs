//! Makes byte-level tokenizers, as the tokenizers of most released models are, for the special tokens of a template.

use serde_json::{Map, Value, json};
use unjinja_tokens::tokenizers::Tokenizer;
use unjinja_tokens::tokenizers::models::TrainerWrapper;
use unjinja_tokens::tokenizers::models::bpe::BpeTrainer;

use crate::Failure;
use crate::vocabulary::Vocabulary;

/// How many ordinary tokens a tokenizer learns.
const TOKENS: usize = 700;

/// A token for each byte, and the added tokens: each its text, and whether it is special.
pub fn of_bytes(added: &[(String, bool)]) -> Result<Vocabulary, Failure> {
    Vocabulary::new(with_added(base(), added))
}

/// Tokens learnt from texts, and the added tokens. Nothing keeps words apart, so tokens go over the borders of markers
/// and end inside characters.
pub fn learnt(texts: &[String], added: &[(String, bool)]) -> Result<Vocabulary, Failure> {
    let mut tokenizer = Tokenizer::from_bytes(base().to_string()).map_err(|error| error.to_string())?;
    let alphabet = (0..=u8::MAX).map(letter_of).collect();
    let trainer = BpeTrainer::builder().show_progress(false).initial_alphabet(alphabet).vocab_size(TOKENS).build();
    let mut trainer = TrainerWrapper::BpeTrainer(trainer);
    tokenizer.train(&mut trainer, texts.iter()).map_err(|error| error.to_string())?;
    let json = tokenizer.to_string(false).map_err(|error| error.to_string())?;
    Vocabulary::new(with_added(serde_json::from_str(&json)?, added))
}

fn base() -> Value {
    let vocabulary: Map<_, _> = (0..=u8::MAX).map(|byte| (letter_of(byte).to_string(), json!(byte))).collect();
    let level = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false});
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": level, "post_processor": null, "decoder": level,
        "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
                  "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
                  "vocab": vocabulary, "merges": []},
    })
}

fn with_added(mut json: Value, added: &[(String, bool)]) -> Value {
    let first = json["model"]["vocab"].as_object().map_or(0, Map::len);
    let token = |(number, (content, special)): (usize, &(String, bool))| {
        json!({"id": first + number, "content": content, "special": special, "single_word": false, "lstrip": false,
               "rstrip": false, "normalized": false})
    };
    json["added_tokens"] = added.iter().enumerate().map(token).collect();
    json
}

/// The letter that a byte-level tokenizer writes for a byte: the character of that number if it can be seen, else the next free
/// one from 256 on.
fn letter_of(byte: u8) -> char {
    if is_visible(byte) {
        return char::from(byte);
    }
    let before = (0..byte).filter(|&byte| !is_visible(byte)).count();
    u32::try_from(256 + before).ok().and_then(char::from_u32).unwrap_or_default()
}

fn is_visible(byte: u8) -> bool {
    matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF)
}
