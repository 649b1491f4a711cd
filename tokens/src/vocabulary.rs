//! The vocabulary of a tokenizer: how a text becomes ids, where some of the text may be special tokens and some may not.
//!
//! The tokenizer's own pipeline runs here step by step, because one step is ours: which added tokens are found in the text. All others
//! (normalization, splitting into words, the model) are those of the crate `tokenizers`. Nothing here knows templates.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;

use serde_json::Value;
use tokenizers::normalizer::Range as TextRange;
use tokenizers::{
    AddedToken, Model, NormalizedString, Normalizer, OffsetType, PreTokenizedString, PreTokenizer, Token, Tokenizer,
};

use crate::added::{AddedTokens, FoundToken};
use crate::bytes::ByteForm;
use crate::error::TokensError;
use unjinja_runtime::abi::is_special_token;

/// A tokenizer: what `tokenizer.json` holds, and what `tokenizer_config.json` adds to it.
///
/// ```
/// use unjinja_tokens::Vocabulary;
///
/// let json = r#"{"version": "1.0", "added_tokens": [
///     {"id": 2, "content": "<|end|>", "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false}],
///     "normalizer": null, "pre_tokenizer": null, "post_processor": null, "decoder": null, "truncation": null, "padding": null,
///     "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": [], "unk_token": null, "dropout": null, "fuse_unk": false,
///     "continuing_subword_prefix": null, "end_of_word_suffix": null, "byte_fallback": false}}"#;
/// let vocabulary = Vocabulary::from_json(json)?;
/// assert_eq!(vocabulary.control_tokens().collect::<Vec<_>>(), [(2, "<|end|>")]);
/// # Ok::<(), unjinja_tokens::TokensError>(())
/// ```
pub struct Vocabulary {
    tokenizer: Tokenizer,
    /// Added tokens that are found in the text as it is.
    exact: AddedTokens,
    /// Added tokens that are found in normalized text.
    normalized: AddedTokens,
    /// The control tokens, by id.
    control: HashMap<u32, String>,
    form: ByteForm,
    /// The ids of added tokens that differ from those of the crate.
    given: HashMap<String, u32>,
    /// The bytes of each token.
    texts: OnceLock<HashMap<u32, Box<[u8]>>>,
}

/// A token of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) id: u32,
    /// The bytes of the text that it stands for.
    pub(crate) range: Range<usize>,
}

impl Vocabulary {
    /// Reads the text of a `tokenizer.json`.
    ///
    /// # Errors
    /// Text that is no tokenizer.
    pub fn from_json(json: &str) -> Result<Self, TokensError> {
        let tokenizer = Tokenizer::from_bytes(json).map_err(|error| TokensError::tokenizer("tokenizer.json", error))?;
        Self::new(tokenizer)
    }

    /// Reads the text that a tokenizer in memory writes. Its added tokens have the ids that the text says. Whoever reads a file numbers
    /// them anew: a token that was added at run time to a vocabulary with holes then has another id.
    ///
    /// # Errors
    /// Text that is no tokenizer.
    pub fn from_live(json: &str) -> Result<Self, TokensError> {
        let wrong = |error: String| TokensError::tokenizer("the tokenizer", error);
        let tokenizer = Tokenizer::from_bytes(json).map_err(|error| wrong(error.to_string()))?;
        let document: Value = serde_json::from_str(json).map_err(|error| wrong(error.to_string()))?;
        let id = |token: &Value| {
            let (text, id) = (token["content"].as_str()?, u32::try_from(token["id"].as_u64()?).ok()?);
            (tokenizer.token_to_id(text) != Some(id)).then(|| (text.to_owned(), id))
        };
        let given = document["added_tokens"].as_array().into_iter().flatten().filter_map(id).collect();
        Self::with_ids(tokenizer, given)
    }

    /// The text of the tokenizer, which [`from_live`](Self::from_live) reads.
    ///
    /// # Errors
    /// A tokenizer that has no text.
    pub fn to_json(&self) -> Result<String, TokensError> {
        let wrong = |error: String| TokensError::tokenizer("the tokenizer", error);
        let json = self.tokenizer.to_string(false).map_err(|error| wrong(error.to_string()))?;
        if self.given.is_empty() {
            return Ok(json);
        }
        let mut document: Value = serde_json::from_str(&json).map_err(|error| wrong(error.to_string()))?;
        for token in document["added_tokens"].as_array_mut().into_iter().flatten() {
            if let Some(id) = token["content"].as_str().and_then(|text| self.given.get(text)) {
                token["id"] = (*id).into();
            }
        }
        Ok(document.to_string())
    }

    /// Reads `tokenizer.json` of a folder, and the special tokens that `tokenizer_config.json` next to it adds, as transformers does.
    ///
    /// # Errors
    /// Unreadable files, and files that are no tokenizer.
    pub fn from_folder(folder: impl AsRef<Path>) -> Result<Self, TokensError> {
        let folder = folder.as_ref();
        let path = folder.join("tokenizer.json");
        let json = fs::read(&path).map_err(|error| TokensError::tokenizer(path.display(), error))?;
        let mut tokenizer =
            Tokenizer::from_bytes(json).map_err(|error| TokensError::tokenizer(path.display(), error))?;
        let path = folder.join("tokenizer_config.json");
        if path.is_file() {
            let config = fs::read(&path).map_err(|error| TokensError::tokenizer(path.display(), error))?;
            let config: Value =
                serde_json::from_slice(&config).map_err(|error| TokensError::tokenizer(path.display(), error))?;
            let more = tokens_of_config(&config, &tokenizer);
            tokenizer.add_tokens(&more);
        }
        Self::new(tokenizer)
    }

    /// A tokenizer that was loaded already. What it adds around a text (`post_processor`), cuts off or pads is not used: a template
    /// writes whole prompts.
    ///
    /// # Errors
    /// A tokenizer whose added tokens cannot be searched for.
    pub fn new(tokenizer: Tokenizer) -> Result<Self, TokensError> {
        Self::with_ids(tokenizer, HashMap::new())
    }

    fn with_ids(tokenizer: Tokenizer, given: HashMap<String, u32>) -> Result<Self, TokensError> {
        let added = tokenizer.get_added_tokens_decoder().into_iter();
        let mut added: Vec<(u32, AddedToken)> =
            added.map(|(id, token)| (given.get(&token.content).copied().unwrap_or(id), token)).collect();
        // Of two that match the same text, tokenizers take the special one, and then the one that was added first.
        added.sort_by_key(|(id, token)| (!token.special, *id));
        let is_control = |token: &AddedToken| token.special || is_special_token(token.content.as_bytes());
        let control = added
            .iter()
            .filter(|(_, token)| is_control(token))
            .map(|(id, token)| (*id, token.content.clone()))
            .collect();
        let normalizer = tokenizer.get_normalizer();
        let text_of = |token: &AddedToken| {
            let mut text = NormalizedString::from(token.content.as_str());
            if let (true, Some(normalizer)) = (token.normalized, normalizer) {
                normalizer.normalize(&mut text).map_err(|error| TokensError::tokenizer(&token.content, error))?;
            }
            Ok::<_, TokensError>(text.get().to_owned())
        };
        let (mut exact, mut normalized) = (Vec::new(), Vec::new());
        for (id, token) in added {
            let found = (id, text_of(&token)?, is_control(&token), token.clone());
            if token.normalized { normalized.push(found) } else { exact.push(found) }
        }
        let form = ByteForm::of(&tokenizer);
        Ok(Self {
            exact: AddedTokens::new(exact)?,
            normalized: AddedTokens::new(normalized)?,
            control,
            form,
            given,
            texts: OnceLock::new(),
            tokenizer,
        })
    }

    /// Makes the tags that are markers of a format control tokens, where the tokenizer has them as added tokens: `<tool_call>`. Tags
    /// of another kind, such as `<table>`, are ordinary text to some tokenizers.
    pub(crate) fn add_markers(&mut self, is_marker: &dyn Fn(&str) -> bool) {
        let is_marker = |text: &str| is_tag(text) && is_marker(text);
        for tokens in [&mut self.exact, &mut self.normalized] {
            self.control.extend(tokens.make_control(&is_marker));
        }
    }

    /// The ids and texts of the control tokens. No text of a user becomes one of them. They are the added tokens that the tokenizer
    /// marks as special, and those that have the form of a special token (`<|fim_prefix|>`). An [`Encoder`](crate::Encoder) adds the
    /// tags that its template uses as markers (`<tool_call>`).
    pub fn control_tokens(&self) -> impl Iterator<Item = (u32, &str)> {
        self.control.iter().map(|(id, text)| (*id, text.as_str()))
    }

    /// The text of a control token.
    pub fn control_token(&self, id: u32) -> Option<&str> {
        self.control.get(&id).map(String::as_str)
    }

    /// The tokenizer itself.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// What a token stands for in a text. It may begin or end inside a character. `None` if there is no such id.
    pub fn bytes(&self, id: u32) -> Option<&[u8]> {
        self.texts.get_or_init(|| self.texts()).get(&id).map(|bytes| &**bytes)
    }

    /// The bytes of all tokens. A stream asks for them token by token, so they are made once, when they are first asked for.
    fn texts(&self) -> HashMap<u32, Box<[u8]>> {
        let added = self.tokenizer.get_added_vocabulary();
        let bytes = |(text, id): (String, u32)| {
            let is_added = added.simple_id_to_token(id).is_some();
            let id = self.given.get(&text).copied().unwrap_or(id);
            (id, if is_added { text.into_bytes() } else { self.form.bytes_of(&text) }.into())
        };
        self.tokenizer.get_vocab(true).into_iter().map(bytes).collect()
    }

    /// The ids of a text that is trusted: all control tokens in it count, and none is added. As `encode(text, add_special_tokens=False)` of
    /// the tokenizer, but nothing is cut off or padded.
    ///
    /// # Errors
    /// A text that the tokenizer fails at.
    pub fn ids(&self, text: &str) -> Result<Vec<u32>, TokensError> {
        Ok(self.encode(text, &|_| true)?.into_iter().map(|piece| piece.id).collect())
    }

    /// The tokens of a text. `is_control` says for a range whether its text may be a control token; text that only looks like one
    /// becomes ordinary tokens.
    pub(crate) fn encode(
        &self,
        text: &str,
        is_control: &dyn Fn(&Range<usize>) -> bool,
    ) -> Result<Vec<Piece>, TokensError> {
        self.run(text, is_control).map_err(|error| match error.downcast::<TokensError>() {
            Ok(own) => *own,
            Err(other) => TokensError::tokenizer("a text", other),
        })
    }

    fn run(&self, text: &str, is_control: &dyn Fn(&Range<usize>) -> bool) -> tokenizers::Result<Vec<Piece>> {
        let mut parts = PreTokenizedString::from(text);
        parts.split(|_, part| {
            let found = self.exact.find(part.get(), &|range| is_control(range));
            Ok(cut(&part, found))
        })?;
        let normalizer = self.tokenizer.get_normalizer();
        parts.split(|_, mut part| {
            if let Some(normalizer) = normalizer {
                normalizer.normalize(&mut part)?;
            }
            let shift = part.offsets_original().0;
            let found = self.normalized.find(part.get(), &|range| {
                let original = part.convert_offsets(TextRange::Normalized(range.clone()));
                original.is_some_and(|range| is_control(&(range.start + shift..range.end + shift)))
            });
            Ok(cut(&part, found))
        })?;
        if let Some(splitter) = self.tokenizer.get_pre_tokenizer() {
            splitter.pre_tokenize(&mut parts)?;
        }
        parts.tokenize(|part| self.ordinary(part.get()))?;
        let encoding = parts.into_encoding(None, 0, OffsetType::Byte)?;
        let ranges = encoding.get_offsets().iter().map(|&(start, end)| start..end);
        Ok(encoding.get_ids().iter().zip(ranges).map(|(&id, range)| Piece { id, range }).collect())
    }

    /// The tokens of a word. None of them is a control token: some models have these in their ordinary vocabulary too.
    fn ordinary(&self, word: &str) -> tokenizers::Result<Vec<Token>> {
        let tokens = self.tokenizer.get_model().tokenize(word)?;
        let Some(token) = tokens.iter().find(|token| self.control.contains_key(&token.id)) else { return Ok(tokens) };
        // The unknown token stands for a character that the vocabulary lacks. It is no marker.
        let spelled = word.get(token.offsets.0..token.offsets.1).unwrap_or_default();
        let spells_it = self.control.get(&token.id).is_some_and(|text| text == spelled);
        if !spells_it {
            return Ok(tokens);
        }
        let cut = token.offsets.0 + spelled.chars().next().map_or(0, char::len_utf8);
        let (Some(head), Some(tail)) = (word.get(..cut), word.get(cut..)) else { return Ok(tokens) };
        if head.is_empty() || tail.is_empty() {
            return Err(Box::new(TokensError::OnlyControl { token: spelled.to_owned() }));
        }
        let mut tokens = self.ordinary(head)?;
        tokens.extend(self.ordinary(tail)?.into_iter().map(|mut token| {
            token.offsets = (token.offsets.0 + cut, token.offsets.1 + cut);
            token
        }));
        Ok(tokens)
    }
}

/// A part of a text, cut at the added tokens in it.
fn cut(part: &NormalizedString, found: Vec<FoundToken>) -> Vec<(NormalizedString, Option<Vec<Token>>)> {
    let mut parts: Vec<(NormalizedString, Option<Vec<Token>>)> = Vec::with_capacity(2 * found.len() + 1);
    let mut at = 0;
    let slice = |range: Range<usize>| part.slice(TextRange::Normalized(range)).unwrap_or_default();
    for FoundToken { id, range } in found {
        if at < range.start {
            parts.push((slice(at..range.start), None));
        }
        at = range.end;
        let text = slice(range);
        let length = text.get().len();
        match parts.last_mut() {
            Some((before, Some(tokens))) if length == 0 => {
                let end = before.get().len();
                tokens.push(Token::new(id, String::new(), (end, end)));
            }
            _ => {
                let token = Token::new(id, text.get().to_owned(), (0, length));
                parts.push((text, Some(vec![token])));
            }
        }
    }
    if at < part.get().len() {
        parts.push((slice(at..part.get().len()), None));
    }
    parts
}

/// Whether a text is one whole tag.
fn is_tag(text: &str) -> bool {
    unjinja_spec::tags(text) == [text]
}

/// The added tokens of a `tokenizer_config.json`: those that it lists with their rules, and those that it names and its tokenizer does not
/// have.
fn tokens_of_config(config: &Value, tokenizer: &Tokenizer) -> Vec<AddedToken> {
    let known: HashSet<String> =
        tokenizer.get_added_tokens_decoder().into_values().map(|token| token.content).collect();
    let mut listed: Vec<(u32, AddedToken)> = Vec::new();
    for (id, token) in config["added_tokens_decoder"].as_object().into_iter().flatten() {
        let (Ok(id), Some(token)) = (id.parse(), added_token(token)) else { continue };
        listed.push((id, token));
    }
    listed.sort_by_key(|(id, _)| *id);
    let listed = listed.into_iter().map(|(_, token)| token);
    let named = config.as_object().into_iter().flatten().filter(|(key, _)| key.ends_with("_token"));
    let named =
        named.map(|(_, token)| token).chain(config["additional_special_tokens"].as_array().into_iter().flatten());
    let named = named.filter_map(|token| match token {
        Value::String(text) => Some(AddedToken::from(text.clone(), true)),
        other => added_token(other).map(|token| token.special(true)),
    });
    // What the list says of a token of the tokenizer holds.
    let listed: Vec<AddedToken> = listed.filter(|token| !token.content.is_empty()).collect();
    let mut seen: HashSet<String> = known.into_iter().chain(listed.iter().map(|token| token.content.clone())).collect();
    let named = named.filter(|token| !token.content.is_empty() && seen.insert(token.content.clone()));
    let named: Vec<AddedToken> = named.collect();
    listed.into_iter().chain(named).collect()
}

/// A token as `tokenizer_config.json` writes it.
fn added_token(token: &Value) -> Option<AddedToken> {
    let flag = |key: &str| token[key].as_bool().unwrap_or(false);
    let special = flag("special");
    Some(
        AddedToken::from(token["content"].as_str()?, special)
            .single_word(flag("single_word"))
            .lstrip(flag("lstrip"))
            .rstrip(flag("rstrip"))
            .normalized(token["normalized"].as_bool().unwrap_or(!special)),
    )
}
