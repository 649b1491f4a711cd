//! Counts the ordinary tokens of a turn by what their text became.
//!
//! Tokens that wait are kept by their place in the output, which does not change when text is settled. It must not look at
//! the text.

use std::collections::VecDeque;

use crate::message::Channel;

/// How many ordinary tokens of a turn became text of the answer, and of reasoning: at least one byte of the token came out as
/// such text. A token that became both counts for what it began as. Special tokens, markers and their white space, and tokens
/// inside calls count for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct TokenCounts {
    /// Tokens of the answer.
    pub content: usize,
    /// Tokens of reasoning.
    pub reasoning: usize,
}

/// The counts, and the tokens that are not settled.
#[derive(Debug, Default)]
pub(super) struct TokenCounter {
    pub(super) counts: TokenCounts,
    /// Where tokens begin and end in the output, in order. Empty unless tokens are pushed.
    open: VecDeque<(i64, i64)>,
    /// Tokens from this place on may still become text, though the output is settled there.
    kept_from: Option<i64>,
}

impl TokenCounter {
    /// A token that was pushed.
    pub(super) fn add(&mut self, from: i64, to: i64) {
        if from < to {
            self.open.push_back((from, to));
        }
    }

    /// The bytes `from..to` of the output became text of a channel. Earlier tokens that became no text are dropped.
    #[inline]
    pub(super) fn text(&mut self, channel: Channel, from: i64, to: i64) {
        if !self.open.is_empty() && from < to {
            self.count(channel, from, to);
        }
    }

    #[inline(never)]
    fn count(&mut self, channel: Channel, from: i64, to: i64) {
        while let Some(&(begin, end)) = self.open.front().filter(|token| token.0 < to) {
            self.open.pop_front();
            if begin < to && end > from {
                match channel {
                    Channel::Content => self.counts.content += 1,
                    Channel::Reasoning => self.counts.reasoning += 1,
                    Channel::Unparsed => {}
                }
            }
        }
    }

    /// Whether tokens are kept that are settled, and from which place on.
    pub(super) fn keep_from(&mut self, place: Option<i64>) {
        self.kept_from = place;
    }

    /// The output before this place is settled.
    pub(super) fn settle(&mut self, place: i64) {
        let place = self.kept_from.map_or(place, |kept| kept.min(place));
        while self.open.front().is_some_and(|token| token.1 <= place) {
            self.open.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_counts_once_for_what_it_began_as() {
        let mut counter = TokenCounter::default();
        for (from, to) in [(-3, 2), (2, 4), (4, 4), (4, 9), (9, 12), (12, 15)] {
            counter.add(from, to);
        }
        counter.text(Channel::Reasoning, 0, 3);
        counter.text(Channel::Reasoning, 3, 5);
        counter.text(Channel::Content, 6, 8);
        // The token before this text was a marker.
        counter.text(Channel::Content, 13, 14);
        assert_eq!(counter.counts, TokenCounts { content: 1, reasoning: 3 });
        assert!(counter.open.is_empty());
    }

    #[test]
    fn a_settled_token_that_became_no_text_does_not_count() {
        let mut counter = TokenCounter::default();
        counter.add(0, 4);
        counter.add(4, 8);
        counter.settle(5);
        counter.text(Channel::Content, 2, 8);
        assert_eq!(counter.counts, TokenCounts { content: 1, reasoning: 0 });
    }

    #[test]
    fn a_token_that_is_kept_may_count_later() {
        let mut counter = TokenCounter::default();
        counter.keep_from(Some(4));
        counter.add(0, 4);
        counter.add(4, 8);
        counter.settle(8);
        counter.text(Channel::Content, 0, 8);
        assert_eq!(counter.counts, TokenCounts { content: 1, reasoning: 0 });
    }
}
