//! Grammars of a model, with the feature `grammar`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;

use serde::Deserialize;
use unjinja_grammar::{Grammar, GrammarError, GrammarExt, GrammarOptions, SpecialToken};
use unjinja_runtime::Tools;
use unjinja_source::Source;

use crate::model::Model;

impl Model {
    /// The grammar for a sampler, with the schema of each tool in it. For llguidance it names the tokens that this engine keeps apart from
    /// text, if the options give no special tokens and `tokenizer.json` or `tokenizer_config.json` is beside the template.
    ///
    /// # Errors
    /// The options cannot be met: a call is required without tools, or no value fits a schema.
    pub fn grammar(&self, tools: &Tools, options: &GrammarOptions) -> Result<Grammar, GrammarError> {
        self.parser().grammar(tools, &self.with_tokens(options))
    }

    /// A grammar for calls of any tool with any arguments.
    ///
    /// # Errors
    /// Those of [`grammar`](Self::grammar).
    pub fn grammar_for_any(&self, options: &GrammarOptions) -> Result<Grammar, GrammarError> {
        self.parser().grammar_for_any(&self.with_tokens(options))
    }

    fn with_tokens<'o>(&self, options: &'o GrammarOptions) -> Cow<'o, GrammarOptions> {
        match options.lacks_tokens() {
            true => Cow::Owned(options.clone().special_tokens(self.named_tokens().iter().cloned())),
            false => Cow::Borrowed(options),
        }
    }
}

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
