//! What follows from a spec: in which state the parser begins after each generation prompt, and the grammar.

use serde::Serialize;
use serde_json::Value;
use unjinja_grammar::{Grammar, GrammarOptions};
use unjinja_runtime::Interpreter;
use unjinja_runtime::abi::Program;
use unjinja_runtime::trace::StateView;
use unjinja_spec::FormatSpec;

use super::options::ExplainOptions;

/// A generation prompt: what a prompt has of the assistant's turn.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PromptView {
    /// The value of the thinking switch; absent if it is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<bool>,
    /// The text.
    pub text: String,
    /// The channel in which the model's output begins.
    #[cfg_attr(feature = "schema", schemars(with = "unjinja_spec::StartsIn"))]
    pub starts_in: Value,
    /// The state in which the parser begins, if there is a parser.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

/// The grammar for a sampler, in GBNF.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct GrammarView {
    /// The GBNF; empty if there is nothing to constrain.
    pub text: String,
    /// Whether it holds only from a trigger on.
    pub lazy: bool,
    /// The triggers of a lazy grammar.
    pub triggers: Vec<TriggerView>,
    /// The parts of the schemas that it does not enforce.
    pub widened: Vec<String>,
    /// Why there is no grammar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// What makes a lazy grammar apply.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TriggerView {
    /// Of which kind it is, by the name that llama.cpp has for it.
    pub kind: &'static str,
    /// The text or the pattern.
    pub value: String,
}

/// For each state and each of its markers, the rule that tolerates it.
pub(super) type Rules = [Vec<Option<&'static str>>];

/// The states of a program, with the rules that tolerate their markers.
pub(super) fn states(program: &Program, rules: &Rules) -> Vec<StateView> {
    let mut views = unjinja_runtime::trace::states(program);
    for view in &mut views {
        let index = program.states.iter().position(|state| *state.name == *view.name);
        let rules = index.and_then(|index| rules.get(index)).into_iter().flatten();
        for (marker, rule) in view.markers.iter_mut().zip(rules) {
            marker.rule = rule.unwrap_or_default();
        }
    }
    views
}

/// The generation prompts of a spec.
pub(super) fn prompts(spec: &FormatSpec, states: &[StateView]) -> Vec<PromptView> {
    let prompts = spec.generation_prompt.iter().enumerate();
    prompts
        .map(|(index, prompt)| PromptView {
            thinking: prompt.thinking,
            text: prompt.text.clone(),
            starts_in: serde_json::to_value(prompt.starts_in).unwrap_or_default(),
            state: states.iter().find(|state| state.entered_by.contains(&index)).map(|state| state.name.clone()),
        })
        .collect()
}

/// The grammar of a turn, with the tools that are offered.
pub(super) fn grammar(parser: &Interpreter, explained: &ExplainOptions<'_>) -> GrammarView {
    let mut options = GrammarOptions::new();
    if let Some(prompt) = explained.generation_prompt {
        options = options.generation_prompt(prompt);
    }
    let (made, problem) = match unjinja_grammar::grammar(parser.program(), explained.tools, &options) {
        Ok(grammar) => (grammar, None),
        Err(error) => (Grammar::default(), Some(error.to_string())),
    };
    let triggers = made.triggers.iter().map(|t| TriggerView { kind: t.kind(), value: t.value().to_owned() });
    let widened = made.widened.iter().map(|wider| match wider.tool.as_str() {
        "" => wider.what.to_string(),
        tool => format!("{tool}: {}", wider.what),
    });
    GrammarView { lazy: made.lazy, triggers: triggers.collect(), widened: widened.collect(), problem, text: made.text }
}
