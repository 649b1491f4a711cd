//! Pushes tokens into a parser, and says what has to come out. It must not know where the tokens come from.

use std::ops::Range;

use unjinja::{ChatParser, Chunk, Message, Options, TokenCounts};

use crate::vocabulary::{Token, Vocabulary};

/// Which added tokens arrive as special ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Specials {
    /// Those that the tokenizer marks as special. All others arrive as text.
    Marked,
    /// All of them: the server looks at the numbers.
    All,
}

impl Specials {
    pub fn options(self, vocabulary: &Vocabulary, options: &Options) -> Options {
        options.clone().special_tokens(vocabulary.added(self == Self::Marked))
    }

    pub fn has(self, token: &Token) -> bool {
        token.added.as_ref().is_some_and(|added| self == Self::All || added.1)
    }
}

/// What a parser makes of tokens.
pub fn read(
    parser: &dyn ChatParser,
    tokens: &[Token],
    specials: Specials,
    options: &Options,
) -> (Message, TokenCounts) {
    let pieces = tokens.iter().map(|token| (Chunk::Bytes(&token.bytes), specials.has(token)));
    read_pieces(parser, pieces, options)
}

/// The same for the texts that a detokenizer gives, one for each token.
pub fn read_pieces<'t>(
    parser: &dyn ChatParser,
    pieces: impl Iterator<Item = (Chunk<'t>, bool)>,
    options: &Options,
) -> (Message, TokenCounts) {
    let mut stream = parser.stream(options);
    let mut message = Message::default();
    for (piece, special) in pieces {
        let token = if special { unjinja::Token::special(piece) } else { unjinja::Token::text(piece) };
        stream.push_token(token, &mut |event| message.apply(&event));
    }
    stream.finish(&mut |event| message.apply(&event));
    (message, stream.token_counts())
}

/// The text of tokens.
pub fn text_of(tokens: &[Token]) -> Vec<u8> {
    tokens.iter().flat_map(|token| token.bytes.iter().copied()).collect()
}

/// How many ordinary tokens became reasoning and content, as the tokenizer says: those whose bytes are in the only place of
/// the turn that has this text. `None` if a text is in several places, or is nowhere in the turn verbatim.
pub fn expected_counts(tokens: &[Token], specials: Specials, message: &Message) -> Option<(usize, usize)> {
    let text = text_of(tokens);
    let reasoning = only_place(&text, &message.reasoning_content)?;
    let content = only_place(&text, &message.content)?;
    let (mut at, mut counts) = (0, (0, 0));
    for token in tokens {
        let range = at..at + token.bytes.len();
        at = range.end;
        if specials.has(token) {
            continue;
        }
        let meets = |part: &Range<usize>| range.start < part.end && part.start < range.end;
        let first = [meets(&reasoning), meets(&content)];
        match first {
            [true, true] if content.start < reasoning.start => counts.1 += 1,
            [true, _] => counts.0 += 1,
            [false, true] => counts.1 += 1,
            _ => {}
        }
    }
    Some(counts)
}

fn only_place(text: &[u8], part: &str) -> Option<Range<usize>> {
    if part.is_empty() {
        return Some(0..0);
    }
    let mut places = text.windows(part.len()).enumerate().filter(|(_, window)| *window == part.as_bytes());
    let first = places.next()?.0;
    places.next().is_none().then_some(first..first + part.len())
}
