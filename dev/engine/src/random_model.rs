//! A language model with random weights: a real transformer of llama.cpp that has learned nothing. What it writes has no
//! meaning at all, so whatever is right about it is owed to the grammar.

use std::error::Error;
use std::f32::consts::TAU;
use std::fs;
use std::path::Path;

use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use llama_cpp_2::token::LlamaToken;

use crate::file::ModelFile;
use crate::gguf::File;
use crate::vocabulary::{self, Added};

/// The length of the vector of a token.
const WIDTH: u64 = 32;
/// The number of parts into which attention divides it.
const HEADS: u32 = 2;
/// The width of the network after attention.
const INNER: u64 = 64;
const LAYERS: u32 = 2;
/// The longest text, in tokens.
const CONTEXT: u32 = 8192;

/// The vocabulary of a random model, in addition to one token for each byte.
#[derive(Clone, Copy, Debug, Default)]
pub struct Vocabulary<'a> {
    /// The special tokens that end a turn.
    pub ends: &'a [String],
    /// Other special tokens.
    pub special: &'a [String],
    /// Ordinary tokens of more than one byte.
    pub words: &'a [String],
}

/// A model with random weights.
pub struct RandomModel {
    model: LlamaModel,
    added: Added,
}

impl RandomModel {
    /// A model whose weights come from `seed`.
    ///
    /// # Errors
    ///
    /// The file cannot be written, or llama.cpp does not load it.
    pub fn new(vocabulary: Vocabulary<'_>, seed: u64) -> Result<Self, Box<dyn Error>> {
        let added = added(vocabulary);
        let file = ModelFile::write(&gguf(&added, seed))?;
        let model = LlamaModel::load_from_file(crate::backend()?, file.path(), &LlamaModelParams::default())?;
        Ok(Self { model, added })
    }

    /// Writes such a model to a file, as GGUF.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn write(path: &Path, vocabulary: Vocabulary<'_>, seed: u64) -> Result<(), std::io::Error> {
        fs::write(path, gguf(&added(vocabulary), seed))
    }

    /// The model in llama.cpp.
    pub fn llama(&self) -> &LlamaModel {
        &self.model
    }

    /// The tokens of a text: at each place the longest token that matches, and else a token for the byte.
    pub fn tokens(&self, text: &str) -> Vec<LlamaToken> {
        let mut tokens = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let added = self.added.special.iter().chain(&self.added.words).map(String::as_str);
            let all = added.zip(vocabulary::FIRST_ADDED..).chain([("</s>", vocabulary::END)]);
            let longest = all.filter(|(text, _)| rest.starts_with(text)).max_by_key(|(text, _)| text.len());
            let length = longest.map_or(rest.chars().next().map_or(1, char::len_utf8), |(text, _)| text.len());
            let (here, after) = rest.split_at(length);
            match longest {
                Some((_, id)) => tokens.push(LlamaToken(id)),
                None => tokens.extend(here.bytes().map(|byte| LlamaToken(vocabulary::token(byte)))),
            }
            rest = after;
        }
        tokens
    }

    /// The text of a special token, and `None` for any other token.
    pub fn special(&self, token: LlamaToken) -> Option<&str> {
        let number = usize::try_from(token.0 - vocabulary::FIRST_ADDED).ok()?;
        self.added.special.get(number).map(String::as_str)
    }

    /// Tokens that no trained model writes, but a random one would: those without a text, and bytes after which not every
    /// continuation is UTF-8. llama.cpp's grammars do not look at the latter.
    pub fn never_written() -> Vec<LlamaToken> {
        let bytes = [0xC0, 0xC1, 0xE0, 0xED, 0xF0].into_iter().chain(0xF4..=0xFF).map(vocabulary::token);
        [0, vocabulary::BEGIN].into_iter().chain(bytes).map(LlamaToken).collect()
    }
}

/// The tokens, each once, and those first that end a turn.
fn added(Vocabulary { ends, special, words }: Vocabulary<'_>) -> Added {
    let mut added = Added::default();
    // This one is there already.
    let known = |text: &String| text.is_empty() || text == "</s>";
    for text in ends.iter().chain(special).filter(|text| !known(text)) {
        if !added.special.contains(text) {
            added.special.push(text.clone());
            added.ends += usize::from(ends.contains(text));
        }
    }
    for word in words.iter().filter(|word| word.len() > 1) {
        if !added.special.contains(word) && !added.words.contains(word) {
            added.words.push(word.clone());
        }
    }
    added
}

/// The whole file.
fn gguf(added: &Added, seed: u64) -> Vec<u8> {
    let mut file = File::default();
    vocabulary::write(&mut file, added);
    let tokens = added.size() as u64;
    for (key, value) in [
        ("context_length", CONTEXT),
        ("embedding_length", WIDTH as u32),
        ("block_count", LAYERS),
        ("feed_forward_length", INNER as u32),
        ("attention.head_count", HEADS),
        ("vocab_size", tokens as u32),
    ] {
        file.number(&format!("llama.{key}"), value);
    }
    file.float("llama.attention.layer_norm_rms_epsilon", 1e-5);

    let mut random = Normal { state: seed };
    let mut weights = |file: &mut File, name: &str, from: u64, to: u64| {
        // What comes out is then about as large as what goes in.
        let scale = (from as f32).sqrt().recip();
        file.tensor(name, &[from, to], std::iter::repeat_with(|| random.next() * scale));
    };
    let norm = |file: &mut File, name: &str| file.tensor(name, &[WIDTH], std::iter::repeat(1.0));
    weights(&mut file, "token_embd.weight", WIDTH, tokens);
    for layer in 0..LAYERS {
        let name = |part: &str| format!("blk.{layer}.{part}.weight");
        norm(&mut file, &name("attn_norm"));
        for part in ["attn_q", "attn_k", "attn_v", "attn_output"] {
            weights(&mut file, &name(part), WIDTH, WIDTH);
        }
        norm(&mut file, &name("ffn_norm"));
        for (part, from, to) in [("ffn_gate", WIDTH, INNER), ("ffn_up", WIDTH, INNER), ("ffn_down", INNER, WIDTH)] {
            weights(&mut file, &name(part), from, to);
        }
    }
    norm(&mut file, "output_norm.weight");
    weights(&mut file, "output.weight", WIDTH, tokens);
    file.finish()
}

/// Random numbers of a normal distribution.
struct Normal {
    state: u64,
}

impl Normal {
    /// A number from 0 to 1: SplitMix64.
    fn uniform(&mut self) -> f32 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((bits ^ (bits >> 31)) >> 40) as f32 / (1_u64 << 24) as f32
    }

    fn next(&mut self) -> f32 {
        (-2.0 * (1.0 - self.uniform()).ln()).sqrt() * (TAU * self.uniform()).cos()
    }
}
