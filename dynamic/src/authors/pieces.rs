//! A prompt, cut where the author or the part changes.

use std::ops::Range;

use super::parts::{PromptParts, TokenPart};

/// A piece of a prompt: whose message it belongs to, what it is, and whether the model writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromptPiece {
    /// Its bytes in the prompt.
    pub range: Range<usize>,
    /// The position of its message among those that the template got; `None` for what belongs to no message.
    pub message: Option<usize>,
    /// The part of the message or of the prompt.
    pub part: TokenPart,
    /// Whether the model writes it.
    pub by_model: bool,
}

/// The pieces of a prompt of this length: every byte once, in order. `by_model` are the ranges that the model writes.
pub(super) fn pieces(length: usize, parts: &PromptParts, by_model: &[Range<usize>]) -> Vec<PromptPiece> {
    let mut cuts: Vec<usize> = parts.cuts().chain(by_model.iter().flat_map(|range| [range.start, range.end])).collect();
    cuts.push(length);
    cuts.sort_unstable();
    cuts.dedup();
    let mut pieces: Vec<PromptPiece> = Vec::new();
    let mut start = 0;
    for end in cuts.into_iter().filter(|cut| (1..=length).contains(cut)) {
        let (message, part) = parts.at(start);
        let by_model = by_model.iter().any(|range| range.contains(&start));
        match pieces.last_mut() {
            Some(last) if (last.message, last.part, last.by_model) == (message, part, by_model) => last.range.end = end,
            _ => pieces.push(PromptPiece { range: start..end, message, part, by_model }),
        }
        start = end;
    }
    pieces
}
