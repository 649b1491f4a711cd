//! Added tokens: how they are found in a text. The rules are those of the crate `tokenizers` (the leftmost and longest one, white space
//! next to it, whole words), but for one: a control token is found only where the caller allows it.

use std::cmp::Reverse;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use tokenizers::AddedToken;

use crate::error::TokensError;

/// The added tokens of a tokenizer that are searched for together.
pub(crate) struct AddedTokens {
    search: Option<AhoCorasick>,
    tokens: Vec<Entry>,
}

struct Entry {
    id: u32,
    is_control: bool,
    rules: AddedToken,
}

/// An added token in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundToken {
    pub(crate) id: u32,
    /// With the white space next to it, if that belongs to the token. Empty if the token before has taken all of it.
    pub(crate) range: Range<usize>,
}

impl AddedTokens {
    /// Tokens by id: the text that is searched for, whether it is a control token, and its rules.
    pub(crate) fn new(tokens: Vec<(u32, String, bool, AddedToken)>) -> Result<Self, TokensError> {
        let tokens: Vec<_> = tokens.into_iter().filter(|(_, text, ..)| !text.is_empty()).collect();
        let texts = tokens.iter().map(|(_, text, ..)| text);
        // The search finds all that overlap: a token that the caller does not allow must not hide another one.
        let search = AhoCorasick::builder().match_kind(MatchKind::Standard).build(texts);
        let search = search.map_err(|error| TokensError::tokenizer("the added tokens", error))?;
        let search = (!tokens.is_empty()).then_some(search);
        let tokens = tokens.into_iter().map(|(id, _, is_control, rules)| Entry { id, is_control, rules }).collect();
        Ok(Self { search, tokens })
    }

    /// Makes tokens of these texts control tokens, and returns them.
    pub(crate) fn make_control(&mut self, is_control: &dyn Fn(&str) -> bool) -> Vec<(u32, String)> {
        let new = self.tokens.iter_mut().filter(|token| !token.is_control && is_control(&token.rules.content));
        new.map(|token| {
            token.is_control = true;
            (token.id, token.rules.content.clone())
        })
        .collect()
    }

    /// The added tokens in a text, in order.
    pub(crate) fn find(&self, text: &str, is_allowed: &dyn Fn(&Range<usize>) -> bool) -> Vec<FoundToken> {
        let Some(search) = &self.search else { return Vec::new() };
        let mut matches: Vec<(Range<usize>, usize)> = Vec::new();
        for found in search.find_overlapping_iter(text) {
            let (range, pattern) = (found.start()..found.end(), found.pattern().as_usize());
            let allowed = self.tokens.get(pattern).is_some_and(|token| !token.is_control || is_allowed(&range));
            if allowed {
                matches.push((range, pattern));
            }
        }
        matches.sort_by_key(|(range, pattern)| (range.start, Reverse(range.end), *pattern));
        let mut found: Vec<FoundToken> = Vec::with_capacity(matches.len());
        let (mut searched, mut taken) = (0, 0);
        for (range, pattern) in matches {
            let Some(token) = self.tokens.get(pattern).filter(|_| range.start >= searched) else { continue };
            searched = range.end;
            let (before, after) = (text.get(..range.start).unwrap_or(""), text.get(range.end..).unwrap_or(""));
            if token.rules.single_word && (before.ends_with(is_word) || after.starts_with(is_word)) {
                continue;
            }
            let start = if token.rules.lstrip { before.trim_end().len() } else { range.start };
            let end = if token.rules.rstrip { text.len() - after.trim_start().len() } else { range.end };
            // White space that the token before has taken can be a token again. It then stands for no more text.
            let (start, end) = (start.max(taken), end.max(taken));
            found.push(FoundToken { id: token.id, range: start..end });
            taken = end;
        }
        found
    }
}

/// A letter of a word, as `\w` of regular expressions has it.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
