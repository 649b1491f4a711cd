//! Types of arguments that several commands share.

use clap::{Args, ValueEnum};
use unjinja_grammar::Target;
use unjinja_runtime::CutCalls;

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

/// What becomes of calls that are cut off.
#[derive(Clone, Copy, Args)]
pub(crate) struct CutArgs {
    /// What becomes of a call that is cut off before its format closes it.
    #[arg(long, value_enum, default_value = "keep", value_name = "HOW")]
    cut_calls: Cut,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Cut {
    /// It is a call, with its arguments as far as they came.
    Keep,
    /// The same, with its arguments completed.
    Close,
    /// It is broken markup. In a stream, a call comes when it is closed.
    Drop,
}

impl CutArgs {
    pub(crate) fn cut_calls(self) -> CutCalls {
        match self.cut_calls {
            Cut::Keep => CutCalls::Keep,
            Cut::Close => CutCalls::Close,
            Cut::Drop => CutCalls::Drop,
        }
    }
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
