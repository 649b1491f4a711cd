//! A vocabulary of one token per byte, the three tokens that every model has, and special tokens and words on request. With
//! it the engine says for each byte whether the grammar allows it, and nothing has to be downloaded.

use crate::gguf::{File, Type, string};

/// The token that ends a text.
pub(crate) const END: i32 = 2;

/// The token that begins a text.
pub(crate) const BEGIN: i32 = 1;

/// The token of a byte.
pub(crate) fn token(byte: u8) -> i32 {
    FIRST_BYTE + i32::from(byte)
}

const FIRST_BYTE: i32 = 3;

/// The first token after those of the bytes.
pub(crate) const FIRST_ADDED: i32 = FIRST_BYTE + 256;

/// The types of tokens, as numbers of the file format.
#[derive(Clone, Copy)]
enum TokenType {
    Normal = 1,
    Unknown = 2,
    Control = 3,
    Byte = 6,
}

/// The tokens after those of the bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Added {
    /// The texts of special tokens, each once. The first ones are those that end a turn.
    pub(crate) special: Vec<String>,
    /// How many of them end a turn. GGUF has names for two.
    pub(crate) ends: usize,
    /// The texts of ordinary tokens.
    pub(crate) words: Vec<String>,
}

impl Added {
    /// How many tokens there are in the whole vocabulary.
    pub(crate) fn size(&self) -> usize {
        FIRST_ADDED as usize + self.special.len() + self.words.len()
    }
}

/// A file with nothing but a vocabulary of bytes.
pub(crate) fn gguf() -> Vec<u8> {
    let mut file = File::default();
    write(&mut file, &Added::default());
    file.finish()
}

/// Writes the vocabulary.
pub(crate) fn write(file: &mut File, added: &Added) {
    let known = [("<unk>", TokenType::Unknown), ("<s>", TokenType::Control), ("</s>", TokenType::Control)];
    let mut tokens: Vec<(String, TokenType)> = known.map(|(text, kind)| (text.to_owned(), kind)).into();
    tokens.extend((0..=u8::MAX).map(|byte| (format!("<0x{byte:02X}>"), TokenType::Byte)));
    tokens.extend(added.special.iter().map(|text| (text.clone(), TokenType::Control)));
    // Files write a space like this.
    tokens.extend(added.words.iter().map(|text| (text.replace(' ', "\u{2581}"), TokenType::Normal)));

    file.text("general.architecture", "llama");
    file.text("tokenizer.ggml.model", "llama");
    file.list("tokenizer.ggml.tokens", Type::String, &tokens, |bytes, (text, _)| string(bytes, text));
    file.list("tokenizer.ggml.scores", Type::F32, &tokens, |bytes, _| bytes.extend(0_f32.to_le_bytes()));
    file.list("tokenizer.ggml.token_type", Type::I32, &tokens, |bytes, (_, kind)| {
        bytes.extend((*kind as i32).to_le_bytes());
    });
    for (key, id) in [("unknown_token_id", 0), ("bos_token_id", BEGIN), ("eos_token_id", END)] {
        file.number(&format!("tokenizer.ggml.{key}"), id.cast_unsigned());
    }
    for (key, id) in ["eot_token_id", "eom_token_id"].iter().zip(FIRST_ADDED..).take(added.ends) {
        file.number(&format!("tokenizer.ggml.{key}"), id.cast_unsigned());
    }
    for key in ["add_bos_token", "add_space_prefix"] {
        file.flag(&format!("tokenizer.ggml.{key}"), false);
    }
}
