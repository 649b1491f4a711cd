//! The grammar engine of llama.cpp, byte by byte: whether it loads a grammar, which byte of a text it refuses, and
//! whether a text is complete. And a model with random weights that samples under a grammar. For development only. This
//! crate must never explain, repair or pre-check a grammar: its answers are those of the engine.

#![forbid(unsafe_code)]

use std::error::Error;
use std::sync::OnceLock;

use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use llama_cpp_2::sampling::LlamaSampler;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token::data::LlamaTokenData;
use llama_cpp_2::token::data_array::LlamaTokenDataArray;

mod file;
mod gguf;
mod random_model;
mod vocabulary;

use file::ModelFile;
pub use random_model::{RandomModel, Vocabulary};

/// The engine with a vocabulary of bytes. Grammars may be loaded from several threads.
pub struct Engine {
    model: LlamaModel,
}

/// The engine does not load a grammar. It writes the reason to standard error and does not return it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused;

/// What starts a lazy grammar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trigger {
    /// A text. The grammar begins with it.
    Word(String),
    /// A regular expression (ECMAScript) that is searched in the text until now; with `^…$` it must match all of it. The
    /// grammar begins at its first group that matches, or else at the match.
    Pattern(String),
}

/// A text that is read under a grammar.
pub struct Session<'engine> {
    sampler: LlamaSampler,
    /// Whether the text of a trigger did not fit the grammar. The engine must not be used after that.
    broken: bool,
    /// The sampler points into this vocabulary, so it must live as long.
    _engine: &'engine Engine,
}

impl Engine {
    /// Writes the model file, loads it, and removes it.
    ///
    /// # Errors
    ///
    /// The file cannot be written, or llama.cpp does not load it.
    pub fn new() -> Result<Self, Box<dyn Error>> {
        let file = ModelFile::write(&vocabulary::gguf())?;
        let parameters = LlamaModelParams::default().with_vocab_only(true);
        Ok(Self { model: LlamaModel::load_from_file(backend()?, file.path(), &parameters)? })
    }

    /// A session under `grammar`, whose first rule is `root`.
    ///
    /// # Errors
    ///
    /// The engine does not load it.
    pub fn load(&self, grammar: &str) -> Result<Session<'_>, Refused> {
        Ok(self.session(LlamaSampler::grammar(&self.model, grammar, "root").map_err(|_| Refused)?))
    }

    /// A session in which everything is allowed up to a trigger. From there on the grammar holds.
    ///
    /// # Errors
    ///
    /// The engine does not load the grammar.
    pub fn load_lazy(&self, grammar: &str, triggers: &[Trigger]) -> Result<Session<'_>, Refused> {
        // The engine knows only patterns. llama.cpp's server turns words into patterns in the same way.
        let patterns: Vec<String> = triggers.iter().map(Trigger::pattern).collect();
        let sampler = LlamaSampler::grammar_lazy_patterns(&self.model, grammar, "root", &patterns, &[]);
        Ok(self.session(sampler.map_err(|_| Refused)?))
    }

    fn session(&self, sampler: LlamaSampler) -> Session<'_> {
        Session { sampler, broken: false, _engine: self }
    }
}

impl Session<'_> {
    /// Reads the next bytes.
    ///
    /// # Errors
    ///
    /// The number of bytes that were read before the refused one. If the grammar refuses the byte, the session stays
    /// before it. If the byte completes a trigger whose text does not fit the grammar, the session cannot be used any
    /// more.
    pub fn accept(&mut self, bytes: &[u8]) -> Result<(), usize> {
        for (offset, &byte) in bytes.iter().enumerate() {
            let token = LlamaToken(vocabulary::token(byte));
            if self.broken || !self.allows(token) {
                return Err(offset);
            }
            if self.sampler.try_accept(token).is_err() {
                self.broken = true;
                return Err(offset);
            }
        }
        Ok(())
    }

    /// Whether the text may end here.
    pub fn complete(&mut self) -> bool {
        !self.broken && self.allows(LlamaToken(vocabulary::END))
    }

    /// Whether a lazy grammar still waits for a trigger. Until then every text is complete.
    pub fn waits(&mut self) -> bool {
        // No grammar allows this byte.
        !self.broken && self.allows(LlamaToken(vocabulary::token(0)))
    }

    fn allows(&mut self, token: LlamaToken) -> bool {
        let mut candidates = LlamaTokenDataArray::new(vec![LlamaTokenData::new(token, 1.0, 0.0)], false);
        self.sampler.apply(&mut candidates);
        candidates.data.first().is_some_and(|candidate| candidate.logit() != f32::NEG_INFINITY)
    }
}

impl Trigger {
    /// It as a regular expression, as llama.cpp's server makes one of a word.
    pub fn pattern(&self) -> String {
        match self {
            Self::Pattern(pattern) => pattern.clone(),
            Self::Word(word) => word.chars().fold(String::new(), |mut pattern, c| {
                if r".^$|()*+?[]{}\-/".contains(c) {
                    pattern.push('\\');
                }
                pattern.push(c);
                pattern
            }),
        }
    }
}

/// llama.cpp, which is started once per process.
///
/// # Errors
///
/// It cannot be started.
pub fn backend() -> Result<&'static LlamaBackend, Box<dyn Error>> {
    static BACKEND: OnceLock<Result<LlamaBackend, String>> = OnceLock::new();
    let start = || {
        let mut backend = LlamaBackend::init().map_err(|e| e.to_string())?;
        backend.void_logs();
        Ok(backend)
    };
    Ok(BACKEND.get_or_init(start).as_ref().map_err(Clone::clone)?)
}
