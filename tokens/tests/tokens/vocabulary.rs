//! A tokenizer of Hugging Face: a text becomes tokens, each with its bytes. It must not know parsers or templates.

use std::collections::HashMap;

use serde_json::{Value, json};
use tokenizers::Tokenizer;

use crate::Failure;

/// A token of a text.
#[derive(Clone, Debug)]
pub struct Token {
    /// What the detokenizer makes of it. It may begin or end inside a character.
    pub bytes: Vec<u8>,
    /// Its text as an added token, and whether the tokenizer marks it as special; `None` for an ordinary token.
    pub added: Option<(String, bool)>,
    id: u32,
}

/// How ordinary tokens write bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bytes {
    /// Every byte is a letter.
    Letters,
    /// Bytes that are not text have names, `<0x0A>`; a blank is `▁`.
    Names,
}

/// A tokenizer, and the same one without its added tokens.
pub struct Vocabulary {
    whole: Tokenizer,
    ordinary: Tokenizer,
    added: HashMap<u32, (String, bool)>,
    bytes: Bytes,
    /// The byte of each letter.
    letters: HashMap<char, u8>,
}

impl Vocabulary {
    /// Reads the JSON of a `tokenizer.json`.
    pub fn new(mut json: Value) -> Result<Self, Failure> {
        // Text around a whole prompt is not part of a turn.
        json["post_processor"] = Value::Null;
        let bytes = if json["decoder"].to_string().contains("ByteFallback") { Bytes::Names } else { Bytes::Letters };
        let whole = load(&json)?;
        let mut added = HashMap::new();
        for token in json["added_tokens"].as_array().into_iter().flatten() {
            let (content, special) = (token["content"].as_str(), token["special"].as_bool());
            let id = content.and_then(|content| whole.token_to_id(content)).ok_or("an added token without an id")?;
            added.insert(id, (content.unwrap_or_default().to_owned(), special.unwrap_or(false)));
        }
        json["added_tokens"] = json!([]);
        let letters = (0..=u8::MAX).map(|byte| (letter_of(byte), byte)).collect();
        Ok(Self { whole, ordinary: load(&json)?, added, bytes, letters })
    }

    /// The texts of the added tokens; with `special`, only of those that are marked as special.
    pub fn added(&self, special: bool) -> impl Iterator<Item = &str> {
        self.added.values().filter(move |token| !special || token.1).map(|token| token.0.as_str())
    }

    /// The tokens of a text. Where it spells an added token, that token is meant.
    pub fn encode(&self, text: &str) -> Result<Vec<Token>, Failure> {
        let encoding = self.whole.encode(text, false).map_err(|error| error.to_string())?;
        encoding.get_ids().iter().map(|&id| self.token(&self.whole, id)).collect()
    }

    /// The tokens of a text that spells added tokens with ordinary ones, as in a page that a model quotes.
    pub fn spell(&self, text: &str) -> Result<Vec<Token>, Failure> {
        let encoding = self.ordinary.encode(text, false).map_err(|error| error.to_string())?;
        encoding.get_ids().iter().map(|&id| Ok(Token { added: None, ..self.token(&self.ordinary, id)? })).collect()
    }

    /// What the detokenizer of the library gives token by token: nothing for tokens that end inside a character, and the whole
    /// character with the last of them.
    pub fn decoded(&self, tokens: &[Token]) -> Result<Vec<String>, Failure> {
        let mut stream = self.whole.decode_stream(false);
        let step = |token: &Token| Ok(stream.step(token.id).map_err(|error| error.to_string())?.unwrap_or_default());
        tokens.iter().map(step).collect()
    }

    fn token(&self, tokenizer: &Tokenizer, id: u32) -> Result<Token, Failure> {
        let text = tokenizer.id_to_token(id).ok_or_else(|| format!("no token {id}"))?;
        match self.added.get(&id) {
            Some(added) if std::ptr::eq(tokenizer, &raw const self.whole) => {
                Ok(Token { bytes: text.into_bytes(), added: Some(added.clone()), id })
            }
            _ => Ok(Token { bytes: self.bytes_of(&text)?, added: None, id }),
        }
    }

    /// The bytes of an ordinary token.
    fn bytes_of(&self, token: &str) -> Result<Vec<u8>, Failure> {
        match self.bytes {
            Bytes::Letters => {
                token.chars().map(|letter| self.letters.get(&letter).copied().ok_or(token.into())).collect()
            }
            Bytes::Names => match token.strip_prefix("<0x").and_then(|name| name.strip_suffix('>')) {
                Some(digits) if digits.len() == 2 => Ok(vec![u8::from_str_radix(digits, 16)?]),
                _ => Ok(token.replace('▁', " ").into_bytes()),
            },
        }
    }
}

fn load(json: &Value) -> Result<Tokenizer, Failure> {
    Ok(Tokenizer::from_bytes(json.to_string()).map_err(|error| error.to_string())?)
}

/// The letter that a byte-level tokenizer writes for a byte: the character of that number if it can be seen, else the next free
/// one from 256 on.
pub fn letter_of(byte: u8) -> char {
    if is_visible(byte) {
        return char::from(byte);
    }
    let before = (0..byte).filter(|&byte| !is_visible(byte)).count();
    u32::try_from(256 + before).ok().and_then(char::from_u32).unwrap_or_default()
}

fn is_visible(byte: u8) -> bool {
    matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF)
}
