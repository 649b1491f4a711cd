//! Types of arguments that several commands share.

use clap::ValueEnum;
use unjinja_grammar::Target;

/// How results are printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Human,
    /// JSON, one document.
    Json,
}

/// The position of a switch.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    On,
    Off,
}

/// The engine that constrains sampling.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    /// GBNF, for llama.cpp.
    Gbnf,
    /// A structural tag, for XGrammar: vLLM, SGLang, TensorRT-LLM.
    #[value(name = "xgrammar")]
    XGrammar,
    /// Lark, for llguidance: mistral.rs, and others that can use it.
    Llguidance,
}

impl From<Engine> for Target {
    fn from(engine: Engine) -> Self {
        match engine {
            Engine::Gbnf => Self::Gbnf,
            Engine::XGrammar => Self::XGrammar,
            Engine::Llguidance => Self::Llguidance,
        }
    }
}
