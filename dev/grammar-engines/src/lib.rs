//! The engines of XGrammar and llguidance, byte by byte: whether they compile a grammar, which byte of a text they refuse, and
//! whether a text is complete. For development only. This crate must never explain, repair or pre-check a grammar: its answers
//! are those of the engines.

#![forbid(unsafe_code)]

pub mod llguidance;
mod sample;
pub mod xgrammar;

pub use self::llguidance::Llguidance;
pub use self::xgrammar::XGrammar;

/// The answer about a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The text may end here.
    Complete,
    /// The text is not complete.
    Unfinished,
    /// The index of the first byte that does not fit.
    Refused(usize),
}

/// What is read: bytes, or special tokens by their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'t> {
    /// A text, one token for each byte.
    Text(&'t str),
    /// A special token. It must be one of those that the vocabulary was made with.
    Token(&'t str),
}

/// The vocabulary: the 256 bytes, the end of the text, and these special tokens.
#[derive(Clone, Debug, Default)]
pub struct Vocabulary {
    special: Vec<String>,
}

impl Vocabulary {
    /// The number of the token that ends the text.
    const END: u32 = 256;

    /// A vocabulary with these special tokens.
    pub fn with(special: &[&str]) -> Self {
        Self { special: special.iter().map(|&token| token.to_owned()).collect() }
    }

    /// The number of a special token.
    pub fn id(&self, token: &str) -> Option<u32> {
        let at = self.special.iter().position(|known| known == token)?;
        u32::try_from(at).ok().map(|at| Self::END + 1 + at)
    }
}
