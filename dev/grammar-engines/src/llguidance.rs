//! llguidance.

use std::sync::Arc;

use llguidance::api::TopLevelGrammar;
use llguidance::toktrie::{ApproximateTokEnv, TokEnv, TokRxInfo, TokTrie};
use llguidance::{Matcher, ParserFactory, TokenParser};

use crate::sample::{Next, continued};
use crate::{Piece, Verdict, Vocabulary};

/// The engine with a vocabulary of bytes.
pub struct Llguidance {
    factory: ParserFactory,
    vocabulary: Vocabulary,
}

/// A compiled grammar.
pub struct Compiled<'engine> {
    parser: TokenParser,
    vocabulary: &'engine Vocabulary,
}

impl Llguidance {
    /// The engine.
    ///
    /// # Errors
    /// It refuses the vocabulary.
    pub fn new(vocabulary: Vocabulary) -> Result<Self, String> {
        // The byte 0xFF marks special tokens. It is not part of any text.
        let special = |name: &str| [&[TokTrie::SPECIAL_TOKEN_MARKER], name.as_bytes()].concat();
        let bytes = (0..=u8::MAX).map(|byte| if byte == u8::MAX { special("<byte>") } else { vec![byte] });
        let end = [special("</s>")];
        let all: Vec<Vec<u8>> = bytes.chain(end).chain(vocabulary.special.iter().map(|token| special(token))).collect();
        let count = u32::try_from(all.len()).map_err(|error| error.to_string())?;
        let trie = TokTrie::from(&TokRxInfo::new(count, Vocabulary::END), &all);
        let env: TokEnv = Arc::new(ApproximateTokEnv::new(trie));
        let mut factory = ParserFactory::new_simple(&env).map_err(|error| error.to_string())?;
        factory.quiet();
        Ok(Self { factory, vocabulary })
    }

    /// Compiles a grammar in Lark.
    ///
    /// # Errors
    /// The engine's reason why not.
    pub fn compile(&self, lark: &str) -> Result<Compiled<'_>, String> {
        let parser = self.factory.create_parser(TopLevelGrammar::from_lark(lark.to_owned()));
        let mut parser = parser.map_err(|error| error.to_string())?;
        let warnings = parser.grammar_warnings();
        if warnings.is_empty() {
            Ok(Compiled { parser, vocabulary: &self.vocabulary })
        } else {
            Err(warnings.join("\n"))
        }
    }
}

impl Compiled<'_> {
    /// The answer about a text.
    ///
    /// # Errors
    /// The engine gives up: a limit was reached.
    pub fn read(&self, text: &str) -> Result<Verdict, String> {
        self.read_pieces(&[Piece::Text(text)])
    }

    /// The answer about a text with special tokens. A place in it counts a token as one byte.
    ///
    /// # Errors
    /// The engine gives up: a limit was reached.
    pub fn read_pieces(&self, pieces: &[Piece<'_>]) -> Result<Verdict, String> {
        let mut matcher = Matcher::new(Ok(self.parser.clone()));
        let mut tokens: Vec<u32> = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) => tokens.extend(text.bytes().map(u32::from)),
                Piece::Token(token) => tokens.push(self.vocabulary.id(token).ok_or("an unknown token")?),
            }
        }
        let read = matcher.try_consume_tokens(&tokens).map_err(|error| error.to_string())?;
        if read < tokens.len() {
            return Ok(Verdict::Refused(read));
        }
        let complete = matcher.is_stopped() || matcher.is_accepting().map_err(|error| error.to_string())?;
        Ok(if complete { Verdict::Complete } else { Verdict::Unfinished })
    }

    /// The work of the engine's parser for a text: how many items it makes.
    ///
    /// # Errors
    /// The engine gives up, or refuses the text.
    pub fn work(&self, text: &str) -> Result<usize, String> {
        let mut parser = self.parser.clone();
        parser.start_without_prompt();
        for byte in text.bytes() {
            parser.consume_token(u32::from(byte)).map_err(|error| error.to_string())?;
            parser.check_stop().map_err(|error| error.to_string())?;
        }
        Ok(parser.parser_stats().all_items)
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
        let mut matcher = Matcher::new(Ok(self.parser.clone()));
        let tokens: Vec<u32> = begin.bytes().map(u32::from).collect();
        matcher.consume_tokens(&tokens).map_err(|error| error.to_string())?;
        continued(begin, length, endings, below, |byte| {
            if let Some(byte) = byte {
                matcher.consume_token(u32::from(byte)).map_err(|error| error.to_string())?;
            }
            if matcher.is_stopped() {
                return Ok(Next { bytes: Vec::new(), end: true });
            }
            let mask = matcher.compute_mask().map_err(|error| error.to_string())?;
            Ok(Next::new(|id| mask.is_allowed(id)))
        })
    }
}
