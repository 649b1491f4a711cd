//! A tokenizer of Hugging Face: a text becomes tokens, each with its bytes. It must not know parsers or templates.

use std::collections::HashMap;

use serde_json::{Value, json};

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

/// A tokenizer, and the same one without its added tokens.
pub struct Vocabulary {
    whole: unjinja_tokens::Vocabulary,
    ordinary: unjinja_tokens::Vocabulary,
    added: HashMap<u32, (String, bool)>,
    json: String,
}

impl Vocabulary {
    /// Reads the JSON of a `tokenizer.json`.
    pub fn new(mut json: Value) -> Result<Self, Failure> {
        let text = json.to_string();
        let whole = unjinja_tokens::Vocabulary::from_json(&text)?;
        let mut added = HashMap::new();
        for token in json["added_tokens"].as_array().into_iter().flatten() {
            let (content, special) = (token["content"].as_str(), token["special"].as_bool());
            let id = content.and_then(|content| whole.tokenizer().token_to_id(content));
            let id = id.ok_or("an added token without an id")?;
            added.insert(id, (content.unwrap_or_default().to_owned(), special.unwrap_or(false)));
        }
        json["added_tokens"] = json!([]);
        let ordinary = unjinja_tokens::Vocabulary::from_json(&json.to_string())?;
        Ok(Self { whole, ordinary, added, json: text })
    }

    /// The tokenizer again, for an encoder.
    pub fn again(&self) -> Result<unjinja_tokens::Vocabulary, Failure> {
        Ok(unjinja_tokens::Vocabulary::from_json(&self.json)?)
    }

    /// The JSON that it was read from.
    pub fn json(&self) -> Result<Value, Failure> {
        Ok(serde_json::from_str(&self.json)?)
    }

    /// The texts of the added tokens; with `special`, only of those that are marked as special.
    pub fn added(&self, special: bool) -> impl Iterator<Item = &str> {
        self.added.values().filter(move |token| !special || token.1).map(|token| token.0.as_str())
    }

    /// The ids of a text, as the library gives them: nothing of the crate that is tested is asked.
    pub fn ids(&self, text: &str) -> Result<Vec<u32>, Failure> {
        Ok(self.whole.tokenizer().encode(text, false).map_err(|error| error.to_string())?.get_ids().to_vec())
    }

    /// The tokens of a text. Where it spells an added token, that token is meant.
    pub fn encode(&self, text: &str) -> Result<Vec<Token>, Failure> {
        self.ids(text)?.into_iter().map(|id| self.token(id)).collect()
    }

    /// The tokens of a text that spells added tokens with ordinary ones, as in a page that a model quotes.
    pub fn spell(&self, text: &str) -> Result<Vec<Token>, Failure> {
        let encoding = self.ordinary.tokenizer().encode(text, false).map_err(|error| error.to_string())?;
        let token = |&id: &u32| Ok(Token { bytes: bytes(&self.ordinary, id)?, added: None, id });
        encoding.get_ids().iter().map(token).collect()
    }

    /// The same as ids.
    pub fn spelled_ids(&self, text: &str) -> Result<Vec<u32>, Failure> {
        Ok(self.spell(text)?.iter().map(|token| token.id).collect())
    }

    /// What the detokenizer of the library gives token by token: nothing for tokens that end inside a character, and the whole
    /// character with the last of them.
    pub fn decoded(&self, tokens: &[Token]) -> Result<Vec<String>, Failure> {
        let mut stream = self.whole.tokenizer().decode_stream(false);
        let step = |token: &Token| Ok(stream.step(token.id).map_err(|error| error.to_string())?.unwrap_or_default());
        tokens.iter().map(step).collect()
    }

    fn token(&self, id: u32) -> Result<Token, Failure> {
        Ok(Token { bytes: bytes(&self.whole, id)?, added: self.added.get(&id).cloned(), id })
    }
}

fn bytes(vocabulary: &unjinja_tokens::Vocabulary, id: u32) -> Result<Vec<u8>, Failure> {
    Ok(vocabulary.bytes(id).ok_or_else(|| format!("no token {id}"))?.to_vec())
}
