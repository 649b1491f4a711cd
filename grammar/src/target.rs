//! For which engine a grammar is written. This file only names the engines; `write.rs`, `xgrammar.rs` and `lark.rs` write for them.

use std::fmt;
use std::str::FromStr;

/// The engine that constrains sampling, and with it the language in which a grammar is written.
///
/// ```
/// use unjinja_grammar::Target;
///
/// assert_eq!("xgrammar".parse(), Ok(Target::XGrammar));
/// assert_eq!(Target::Llguidance.to_string(), "llguidance");
/// assert_eq!("vim".parse::<Target>().unwrap_err().to_string(), "no engine \"vim\": use gbnf, xgrammar or llguidance");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Target {
    /// llama.cpp: GBNF. A grammar of calls that the model decides about is lazy: it applies from a trigger on.
    #[default]
    Gbnf,
    /// XGrammar, which vLLM, SGLang and TensorRT-LLM use: a structural tag, as JSON. It holds for the whole turn.
    XGrammar,
    /// llguidance, which mistral.rs uses, and vLLM, SGLang and llama.cpp can use: Lark. It holds for the whole turn.
    Llguidance,
}

impl Target {
    /// All targets.
    pub const ALL: [Self; 3] = [Self::Gbnf, Self::XGrammar, Self::Llguidance];

    /// The name by which users choose it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gbnf => "gbnf",
            Self::XGrammar => "xgrammar",
            Self::Llguidance => "llguidance",
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is not the name of a [`Target`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownTarget(String);

impl fmt::Display for UnknownTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no engine {:?}: use gbnf, xgrammar or llguidance", self.0)
    }
}

impl std::error::Error for UnknownTarget {}

impl FromStr for Target {
    type Err = UnknownTarget;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|target| target.name() == name).ok_or_else(|| UnknownTarget(name.to_owned()))
    }
}
