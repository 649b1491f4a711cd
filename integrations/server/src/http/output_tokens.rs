//! The tokens of an answer. An upstream gives text, and most also give ids. The text says what was written, and the ids which of it
//! are special tokens: text that spells one is text.
//!
//! Ids and text do not arrive together. vLLM holds text back that may become a stop text, and gives no text for the token that ends the
//! turn; llama.cpp gives no id for the first tokens of a character that several make together.

use std::collections::VecDeque;

use unjinja_runtime::{Chunk, Token};

use super::encoding::Encoding;

/// Puts together the ids and the text of an answer.
pub(crate) struct OutputTokens {
    encoding: Encoding,
    /// Ids whose text has not arrived.
    ids: VecDeque<u32>,
    /// Text whose ids are not known yet.
    text: Vec<u8>,
    /// How many ids arrived.
    count: u64,
    /// Every token until here was told by its id.
    is_exact: bool,
    /// A token was emitted.
    has_begun: bool,
}

impl OutputTokens {
    pub(crate) fn new(encoding: &Encoding) -> Self {
        let (ids, text) = (VecDeque::new(), Vec::new());
        Self { encoding: encoding.clone(), ids, text, count: 0, is_exact: true, has_begun: false }
    }

    /// The tokenizer.
    pub(crate) fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    /// How many ids arrived.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Whether every token was told by its id.
    pub(crate) fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// Takes what arrived, and emits the tokens that are known now.
    pub(crate) fn push(&mut self, text: &str, ids: &[u32], mut emit: impl FnMut(Token<'_>)) {
        self.text.extend_from_slice(text.as_bytes());
        self.ids.extend(ids);
        self.count += ids.len() as u64;
        let mut read = 0;
        while let (Some(&id), true) = (self.ids.front(), read < self.text.len()) {
            let (piece, rest) = (self.piece(id), self.text.get(read..).unwrap_or_default());
            let first = piece.as_bytes().strip_prefix(b" ").filter(|word| !word.is_empty());
            if rest.starts_with(piece.as_bytes()) {
                read += piece.as_bytes().len();
                self.encoding.token(id).into_iter().for_each(&mut emit);
            } else if piece.as_bytes().starts_with(rest) {
                break;
            } else if let Some(word) = first.filter(|word| !self.has_begun && rest.starts_with(word)) {
                // Some decoders drop the blank before the first word.
                read += word.len();
                emit(Token::text(word));
            } else {
                self.has_begun = true;
                read = self.guess(read, &mut emit);
                continue;
            }
            self.has_begun = true;
            self.ids.pop_front();
        }
        if self.ids.is_empty() && read < self.text.len() {
            self.is_exact = false;
            emit(Token::text(self.text.get(read..).unwrap_or_default()));
            read = self.text.len();
        }
        self.text.drain(..read);
    }

    fn piece(&self, id: u32) -> Chunk<'_> {
        self.encoding.token(id).map_or(Chunk::from(""), Token::piece)
    }

    /// The text at `at` is not what its ids write: some are missing, or it was decoded in another way. Up to the next special token, it
    /// is ordinary text. Returns where to continue.
    fn guess(&mut self, at: usize, emit: &mut impl FnMut(Token<'_>)) -> usize {
        self.is_exact = false;
        let rest = self.text.get(at..).unwrap_or_default();
        let special = |(index, id): (usize, &u32)| {
            let token = self.encoding.token(*id).filter(|token| token.is_special())?;
            let piece = token.piece().as_bytes();
            Some((index, token, rest.windows(piece.len().max(1)).position(|window| window == piece)))
        };
        let (count, end) = match self.ids.iter().enumerate().find_map(special) {
            Some((index, _, Some(found))) => (index, found),
            // An upstream that gives no text for it.
            Some((0, token, None)) => {
                emit(token);
                (1, 0)
            }
            Some((index, _, None)) => (index, rest.len()),
            None => (self.ids.len(), rest.len()),
        };
        if end > 0 {
            emit(Token::text(rest.get(..end).unwrap_or_default()));
        }
        self.ids.drain(..count);
        at + end
    }

    /// The answer is over. Emits the rest of its text, and the special token that ended it, if the upstream gave no text for that;
    /// `by_client` says that a text of the client ended it, whose tokens are no part of the answer.
    pub(crate) fn finish(&mut self, by_client: bool, mut emit: impl FnMut(Token<'_>)) {
        let text = std::mem::take(&mut self.text);
        if !text.is_empty() {
            emit(Token::text(text.as_slice()));
        }
        let ids = std::mem::take(&mut self.ids);
        let tokens = ids.iter().filter_map(|&id| self.encoding.token(id));
        for token in tokens.filter(|token| token.is_special() && !by_client) {
            emit(token);
        }
    }
}
