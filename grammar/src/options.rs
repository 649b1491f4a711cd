//! The options of a grammar.

use serde_json::Value;

use unjinja_runtime::Options;

use crate::engine;
use crate::special_tokens::SpecialToken;
use crate::syntax::Integers;
use crate::target::Target;

/// Whether the model must call tools, and which.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// At least one call.
    Required,
    /// No call is allowed.
    None,
    /// At least one call, and only of this tool.
    Named(String),
}

/// The options of a grammar.
///
/// ```
/// use unjinja_grammar::{GrammarOptions, ToolChoice};
/// let options = GrammarOptions::new().tool_choice(ToolChoice::Required).parallel_tool_calls(false);
/// ```
#[derive(Clone, Debug)]
pub struct GrammarOptions {
    pub(crate) tool_choice: ToolChoice,
    pub(crate) parallel_tool_calls: bool,
    pub(crate) integers: Integers,
    pub(crate) response_schema: Option<Value>,
    /// Determines where the model's output begins.
    pub(crate) turn: Options,
    /// The thinking switch, if it was set.
    pub(crate) thinking: Option<bool>,
    /// Makes grammars for another engine than llama.cpp.
    pub(crate) engine: Option<engine::Make>,
    pub(crate) special_tokens: Vec<SpecialToken>,
}

impl Default for GrammarOptions {
    fn default() -> Self {
        Self {
            tool_choice: ToolChoice::Auto,
            parallel_tool_calls: true,
            integers: Integers::WithZeros,
            response_schema: None,
            turn: Options::new(),
            thinking: None,
            engine: None,
            special_tokens: Vec::new(),
        }
    }
}

impl GrammarOptions {
    /// Tool choice auto, parallel calls, no response schema, and the template's default for thinking.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the model must call tools, and which.
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = choice;
        self
    }

    /// Whether more than one call may be made. The default is true.
    pub fn parallel_tool_calls(mut self, on: bool) -> Self {
        self.parallel_tool_calls = on;
        self
    }

    /// How integers may be written. By default, as JSON Schema allows it.
    pub fn integers(mut self, integers: Integers) -> Self {
        self.integers = integers;
        self
    }

    /// The JSON schema that the answer must match. A Markdown code fence around the answer is allowed, because parsers
    /// remove it.
    pub fn response_schema(mut self, schema: Value) -> Self {
        self.response_schema = Some(schema);
        self
    }

    /// The value of the template's thinking switch. If it is off, a grammar for the whole turn has no reasoning.
    pub fn thinking(mut self, on: bool) -> Self {
        self.turn = self.turn.thinking(on);
        self.thinking = Some(on);
        self
    }

    /// The end of the rendered prompt: the part of the assistant's turn that it already contains, as in
    /// [`Options::generation_prompt`](unjinja_runtime::Options::generation_prompt). It takes precedence over
    /// [`thinking`](Self::thinking) in deciding where the output begins.
    pub fn generation_prompt(mut self, text: impl Into<String>) -> Self {
        self.turn = self.turn.generation_prompt(text);
        self
    }

    /// The engine for which the grammar is written. The default is llama.cpp's GBNF.
    // Inlined, so that an application that names one target links its code and not that of the others.
    #[inline]
    pub fn target(mut self, target: Target) -> Self {
        self.engine = engine::of(target);
        self
    }

    /// Special tokens that the grammar names as tokens instead of spelling their texts. An engine whose tokenizer does not give
    /// the texts of special tokens to the grammar needs this. GBNF spells them all the same.
    pub fn special_tokens(mut self, tokens: impl IntoIterator<Item = SpecialToken>) -> Self {
        self.special_tokens = tokens.into_iter().collect();
        self
    }
}
