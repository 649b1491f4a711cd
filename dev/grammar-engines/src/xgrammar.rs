//! XGrammar, through its port to Rust.

use xgrammar::{CompiledGrammar, GrammarCompiler, GrammarMatcher, TokenizerInfo, VocabType, get_bitmask_size};

use crate::sample::{Next, continued};
use crate::{Piece, Verdict, Vocabulary};

/// The engine with a vocabulary of bytes.
pub struct XGrammar {
    compiler: GrammarCompiler,
    vocabulary: Vocabulary,
}

/// A compiled structural tag.
pub struct Compiled<'engine> {
    grammar: CompiledGrammar,
    vocabulary: &'engine Vocabulary,
}

impl XGrammar {
    /// The engine.
    ///
    /// # Errors
    /// It refuses the vocabulary.
    pub fn new(vocabulary: Vocabulary) -> Result<Self, String> {
        let bytes = (0..=u8::MAX).map(|byte| vec![byte]);
        let end = [b"</s>".to_vec()];
        let special = vocabulary.special.iter().map(|token| token.clone().into_bytes());
        let all: Vec<Vec<u8>> = bytes.chain(end).chain(special).collect();
        let end = i32::try_from(Vocabulary::END).map_err(|error| error.to_string())?;
        let info = TokenizerInfo::new_from_bytes(&all, VocabType::Raw, None, Some(vec![end]), false)
            .map_err(|error| error.to_string())?;
        // Without a cache: each grammar is used once.
        Ok(Self { compiler: GrammarCompiler::new(info, 2, false, -1), vocabulary })
    }

    /// Compiles a structural tag.
    ///
    /// # Errors
    /// The engine's reason why not.
    pub fn compile(&self, tag: &str) -> Result<Compiled<'_>, String> {
        let grammar = self.compiler.compile_structural_tag(tag).map_err(|error| error.to_string())?;
        Ok(Compiled { grammar, vocabulary: &self.vocabulary })
    }
}

impl Compiled<'_> {
    /// The answer about a text.
    pub fn read(&self, text: &str) -> Verdict {
        self.read_pieces(&[Piece::Text(text)])
    }

    /// The answer about a text with special tokens. A place in it counts a token as one byte.
    pub fn read_pieces(&self, pieces: &[Piece<'_>]) -> Verdict {
        let mut matcher = GrammarMatcher::from_compiled_grammar(&self.grammar, false);
        let mut at = 0;
        for piece in pieces {
            match piece {
                Piece::Text(text) => {
                    for byte in text.bytes() {
                        if !matcher.accept_token(i32::from(byte)) {
                            return Verdict::Refused(at);
                        }
                        at += 1;
                    }
                }
                Piece::Token(token) => {
                    let id = self.vocabulary.id(token).and_then(|id| i32::try_from(id).ok());
                    if !id.is_some_and(|id| matcher.accept_token(id)) {
                        return Verdict::Refused(at);
                    }
                    at += 1;
                }
            }
        }
        if matcher.is_completed() { Verdict::Complete } else { Verdict::Unfinished }
    }

    /// The work of the engine's parser for a text: in how many states it is, summed over the bytes.
    ///
    /// # Errors
    /// The engine refuses the text.
    pub fn work(&self, text: &str) -> Result<usize, String> {
        let mut matcher = GrammarMatcher::from_compiled_grammar(&self.grammar, false);
        let mut work = 0;
        for (at, byte) in text.bytes().enumerate() {
            if !matcher.accept_token(i32::from(byte)) {
                return Err(format!("refuses byte {at}"));
            }
            let parser = matcher.parser();
            work += parser.latest_scanable_states().len() + parser.latest_completable_states().len();
        }
        Ok(work)
    }

    /// A text that begins like this and is complete, drawn with the masks of the engine. From `length` bytes on it is
    /// brought to an end; `endings` are texts that help, such as markers. `below` draws a number below another one. `None` if
    /// none was found.
    ///
    /// # Errors
    /// The engine gives up, or refuses the beginning.
    pub fn sample(
        &self,
        begin: &str,
        length: usize,
        endings: &[String],
        below: impl FnMut(usize) -> usize,
    ) -> Result<Option<String>, String> {
        let mut matcher = GrammarMatcher::from_compiled_grammar(&self.grammar, false);
        if !matcher.accept_string(begin) {
            return Err(format!("refuses {begin:?}"));
        }
        let size = get_bitmask_size(self.grammar.tokenizer_info().vocab_size());
        let mut mask = vec![0_i32; usize::try_from(size).map_err(|error| error.to_string())?];
        continued(begin, length, endings, below, |byte| {
            if let Some(byte) = byte
                && !matcher.accept_token(i32::from(byte))
            {
                return Err(format!("refuses the byte {byte}, which its mask allows"));
            }
            let shape = [i64::from(size)];
            let partial = matcher.fill_next_token_bitmask(&mut mask, &shape, 0).map_err(|error| error.to_string())?;
            Ok(Next::new(|id| !partial || mask.get(id as usize / 32).is_some_and(|word| word & 1 << (id % 32) != 0)))
        })
    }
}
