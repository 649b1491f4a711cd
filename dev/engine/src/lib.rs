//! llama.cpp's own grammar engine, asked byte by byte: whether a grammar loads, which byte of a text it refuses, and
//! whether a text is complete. Development only. It must never explain, repair or pre-check a grammar: what it says is
//! what the engine says.

#![forbid(unsafe_code)]

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::process;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use llama_cpp_2::sampling::LlamaSampler;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token::data::LlamaTokenData;
use llama_cpp_2::token::data_array::LlamaTokenDataArray;

mod vocabulary;

/// The engine over a vocabulary of bytes. Loading grammars from several threads is fine.
pub struct Engine {
    model: LlamaModel,
}

/// A grammar that the engine does not load. The engine's own reason goes to standard error: its interface has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused;

/// What makes a lazy grammar begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trigger {
    /// A text: the grammar begins with it.
    Word(String),
    /// A regular expression, ECMAScript, found anywhere in the text so far; the whole of it where it is `^…$`. The
    /// grammar begins at its first group that matches something, else where it does.
    Pattern(String),
}

/// A text being read under a grammar.
pub struct Session<'engine> {
    sampler: LlamaSampler,
    /// Whether a trigger's own text did not fit: the engine must not be asked again.
    broken: bool,
    /// The sampler points into its vocabulary.
    _engine: &'engine Engine,
}

impl Engine {
    /// Writes the model file, loads it, and removes it.
    ///
    /// # Errors
    ///
    /// The file cannot be written, or llama.cpp does not load it.
    pub fn new() -> Result<Self, Box<dyn Error>> {
        let file = ModelFile::write()?;
        let parameters = LlamaModelParams::default().with_vocab_only(true);
        Ok(Self { model: LlamaModel::load_from_file(backend()?, &file.path, &parameters)? })
    }

    /// A session under `grammar`, whose first rule of a text is `root`.
    ///
    /// # Errors
    ///
    /// The engine does not load it.
    pub fn load(&self, grammar: &str) -> Result<Session<'_>, Refused> {
        Ok(self.session(LlamaSampler::grammar(&self.model, grammar, "root").map_err(|_| Refused)?))
    }

    /// A session in which everything is allowed up to a trigger, and the grammar holds from there on.
    ///
    /// # Errors
    ///
    /// The engine does not load the grammar.
    pub fn load_lazy(&self, grammar: &str, triggers: &[Trigger]) -> Result<Session<'_>, Refused> {
        // The engine itself knows patterns only; its servers make words into patterns just so.
        let patterns: Vec<String> = triggers.iter().map(Trigger::pattern).collect();
        let sampler = LlamaSampler::grammar_lazy_patterns(&self.model, grammar, "root", &patterns, &[]);
        Ok(self.session(sampler.map_err(|_| Refused)?))
    }

    fn session(&self, sampler: LlamaSampler) -> Session<'_> {
        Session { sampler, broken: false, _engine: self }
    }
}

impl Session<'_> {
    /// Reads on, byte by byte.
    ///
    /// # Errors
    ///
    /// How many of `bytes` were read before the one that is refused: by the grammar, and then the session stays before
    /// that byte; or, in a lazy session, because it completes a trigger and the text from the trigger on does not fit
    /// the grammar: then the session can read no more.
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

    /// Whether a lazy grammar still waits for its trigger: all texts are complete until then.
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
    fn pattern(&self) -> String {
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

/// llama.cpp starts once in a process.
fn backend() -> Result<&'static LlamaBackend, Box<dyn Error>> {
    static BACKEND: OnceLock<Result<LlamaBackend, String>> = OnceLock::new();
    let start = || {
        let mut backend = LlamaBackend::init().map_err(|e| e.to_string())?;
        backend.void_logs();
        Ok(backend)
    };
    Ok(BACKEND.get_or_init(start).as_ref().map_err(Clone::clone)?)
}

/// The model file, there until it is loaded.
struct ModelFile {
    path: PathBuf,
}

impl ModelFile {
    fn write() -> Result<Self, std::io::Error> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("unjinja-engine-{}-{}.gguf", process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let file = Self { path: std::env::temp_dir().join(name) };
        fs::write(&file.path, vocabulary::gguf())?;
        Ok(file)
    }
}

impl Drop for ModelFile {
    fn drop(&mut self) {
        // A temporary file that stays is no failure.
        let _ = fs::remove_file(&self.path);
    }
}
