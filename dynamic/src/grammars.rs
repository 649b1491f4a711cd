//! Grammars of a model, with the feature `grammar`.

use unjinja_grammar::{Grammar, GrammarError, GrammarExt, GrammarOptions};
use unjinja_runtime::Tools;

use crate::model::Model;

impl Model {
    /// The grammar for a sampler, with the schema of each tool in it.
    ///
    /// # Errors
    /// The options cannot be met: a call is required without tools, or no value fits a schema.
    pub fn grammar(&self, tools: &Tools, options: &GrammarOptions) -> Result<Grammar, GrammarError> {
        self.parser().grammar(tools, options)
    }

    /// A grammar for calls of any tool with any arguments.
    ///
    /// # Errors
    /// Those of [`grammar`](Self::grammar).
    pub fn grammar_for_any(&self, options: &GrammarOptions) -> Result<Grammar, GrammarError> {
        self.parser().grammar_for_any(options)
    }
}
