//! Grammars of a model, with the feature `grammar`.

use std::borrow::Cow;

use unjinja_grammar::{Grammar, GrammarError, GrammarExt, GrammarOptions};
use unjinja_runtime::Tools;

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
