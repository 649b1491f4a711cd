//! The tokens that a tokenizer keeps apart from text, with the feature `grammar`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;

use serde::Deserialize;
use unjinja_grammar::SpecialToken;
use unjinja_source::Source;

/// The added tokens in `tokenizer.json`, or else in `tokenizer_config.json`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Added {
    added_tokens: Vec<AddedToken>,
    added_tokens_decoder: BTreeMap<u32, AddedToken>,
}

#[derive(Deserialize)]
struct AddedToken {
    id: Option<u32>,
    content: String,
    #[serde(default)]
    special: bool,
}

/// Those of these texts that llguidance takes for tokens: added tokens that are marked as special, or look like tags. Without a list of
/// added tokens, the special tokens that the template's own file has.
pub(crate) fn named_tokens(source: &Source, texts: &[String]) -> Vec<SpecialToken> {
    let read = |name: &str| {
        let file = File::open(source.sibling(name)).ok()?;
        let read: Added = serde_json::from_reader(BufReader::new(file)).ok()?;
        let decoder = read.added_tokens_decoder.into_iter().map(|(id, token)| (Some(id), token));
        let all = read.added_tokens.into_iter().map(|token| (token.id, token)).chain(decoder);
        let apart =
            all.filter(|(_, token)| token.special || (token.content.starts_with('<') && token.content.ends_with('>')));
        let named: Vec<_> = apart.filter_map(|(id, token)| Some(SpecialToken::with_id(token.content, id?))).collect();
        (!named.is_empty()).then_some(named)
    };
    let listed = || source.special_tokens.iter().flatten().map(SpecialToken::new).collect();
    let mut tokens = read("tokenizer.json").or_else(|| read("tokenizer_config.json")).unwrap_or_else(listed);
    tokens.retain(|token| texts.iter().any(|text| text == token.text()));
    tokens
}
