//! The options of a grammar.

use serde_json::Value;

use unjinja_runtime::Options;

use crate::engine;
use crate::free_text::Bounds;
use crate::special_tokens::SpecialToken;
use crate::syntax::{Integers, Manner, WhiteSpace};
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
    pub(crate) manner: Manner,
    pub(crate) bounds: Bounds,
    pub(crate) response_schema: Option<Value>,
    /// Determines where the model's output begins.
    pub(crate) turn: Options,
    /// The thinking switch, if it was set.
    pub(crate) thinking: Option<bool>,
    /// Makes grammars for another engine than llama.cpp.
    pub(crate) engine: Option<engine::Make>,
    /// Whether the engine keeps special tokens apart from text.
    pub(crate) keeps_apart: bool,
    pub(crate) special_tokens: Vec<SpecialToken>,
}

impl Default for GrammarOptions {
    fn default() -> Self {
        Self {
            tool_choice: ToolChoice::Auto,
            parallel_tool_calls: true,
            manner: Manner::default(),
            bounds: Bounds::default(),
            response_schema: None,
            turn: Options::new(),
            thinking: None,
            engine: None,
            keeps_apart: false,
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
        self.manner.integers = integers;
        self
    }

    /// Which white space may be written inside values and between tags. By default one blank at most, or what the template writes.
    pub fn white_space(mut self, white_space: WhiteSpace) -> Self {
        self.manner.white_space = white_space;
        self
    }

    /// Whether an object may have members that its schema does not name, where the schema has `properties` and does not say. The
    /// default is false, as in OpenAI's strict mode; JSON Schema allows them. An object without `properties` is open in any case.
    pub fn open_objects(mut self, on: bool) -> Self {
        self.manner.open_objects = on;
        self
    }

    /// The number of characters of an answer that may come before a call that is demanded (a required call or a named tool). The default
    /// is 0: after reasoning, the output begins with the call. A small model that may write text first does not call at all. XGrammar
    /// counts tokens.
    pub fn text_before(mut self, characters: u32) -> Self {
        self.bounds.text = characters;
        self
    }

    /// The number of characters of reasoning that may come before a call that is demanded. The default is 16,384; more than
    /// 100,000 are not counted. XGrammar counts tokens.
    pub fn max_reasoning(mut self, characters: u32) -> Self {
        self.bounds.reasoning = characters;
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
        self.keeps_apart = target == Target::Llguidance;
        self
    }

    /// Special tokens that the grammar names as tokens instead of spelling their texts. An engine whose tokenizer does not give
    /// the texts of special tokens to the grammar needs this. GBNF spells them all the same.
    pub fn special_tokens(mut self, tokens: impl IntoIterator<Item = SpecialToken>) -> Self {
        self.special_tokens = tokens.into_iter().collect();
        self
    }

    /// Whether the engine, llguidance, keeps special tokens apart from text, and none are given. Who knows the tokenizer gives them then.
    pub fn lacks_tokens(&self) -> bool {
        self.keeps_apart && self.special_tokens.is_empty()
    }
}
