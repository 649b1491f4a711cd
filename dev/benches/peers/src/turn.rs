//! What a parser is given: one output, with what the request says about it. Knows no format.

use serde_json::Value;

use crate::formats::Peers;
use crate::message::Heard;

/// One output and its circumstances.
pub struct TurnInput {
    /// The peers' names for the format.
    pub peers: &'static Peers,
    /// Markers surround the format's answers.
    pub framed: bool,
    pub output: String,
    pub meant: Heard,
    /// The tools offered, in OpenAI's form.
    pub tools: Value,
    /// Parsers of reasoning are wanted.
    pub reasons: bool,
    /// The prompt has already opened reasoning.
    pub opened: bool,
}

impl TurnInput {
    /// The output in pieces of four bytes; a piece is longer if a character would be cut.
    pub fn chunks(&self) -> Vec<&str> {
        let mut chunks = Vec::with_capacity(self.output.len() / 4 + 1);
        cut(&self.output, &mut chunks);
        chunks
    }

    /// The same with every tag in a piece of its own. A tokenizer may have a token for a tag.
    pub fn chunks_with_whole_tags(&self) -> Vec<&str> {
        let mut chunks = Vec::with_capacity(self.output.len() / 4 + 1);
        let mut rest = self.output.as_str();
        let mut text = 0;
        while let Some(at) = rest[text..].find(['<', '[']).map(|at| text + at) {
            match tag(&rest[at..]) {
                Some(length) => {
                    cut(&rest[..at], &mut chunks);
                    chunks.push(&rest[at..at + length]);
                    rest = &rest[at + length..];
                    text = 0;
                }
                None => text = at + 1,
            }
        }
        cut(rest, &mut chunks);
        chunks
    }
}

/// Appends the pieces of four bytes of a text.
fn cut<'t>(mut rest: &'t str, chunks: &mut Vec<&'t str>) {
    while !rest.is_empty() {
        let end = (4..rest.len()).find(|end| rest.is_char_boundary(*end)).unwrap_or(rest.len());
        let (chunk, more) = rest.split_at(end);
        chunks.push(chunk);
        rest = more;
    }
}

/// The length of the tag that a text begins with, up to its closing bracket or to the attribute that it opens.
fn tag(text: &str) -> Option<usize> {
    const LONGEST: usize = 48;
    let close = if text.starts_with('<') { '>' } else { ']' };
    for (at, character) in text.char_indices().skip(1).take_while(|(at, _)| *at < LONGEST) {
        if character == close {
            return (at > 1).then(|| at + character.len_utf8());
        }
        let inside = character.is_alphanumeric() || matches!(character, '/' | '|' | '_' | '｜' | '▁' | ':' | '-');
        if !inside {
            return matches!(character, '=' | ' ').then_some(at).filter(|at| *at > 1 && close == '>');
        }
    }
    None
}
