//! The control tokens of a template whose tokenizer is not known: what looks like one by its form, the special tokens that the template
//! is given, and what ends a turn.

use std::cmp::Reverse;
use std::ops::Range;

use unjinja_render::Template;
use unjinja_spec::{FormatSpec, tags};

use super::origin::{PromptWriters, TokenVerdict};
use crate::prompt::LabelledPrompt;

/// Texts of a template that its tokenizer probably counts among its control tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LikelyTokens(Vec<String>);

impl LikelyTokens {
    /// Those of a template that has this spec.
    pub fn of(template: &Template, spec: &FormatSpec) -> Self {
        let given = template.tokens();
        let mut tokens: Vec<String> = [&given.bos, &given.eos].into_iter().flatten().cloned().collect();
        let literals = template.string_literals();
        let markers = spec.markers().map(|(_, text)| text.to_owned());
        for text in literals.into_iter().chain(markers) {
            tokens.extend(tags(&text).into_iter().map(str::to_owned));
        }
        // What ends a turn may not look like a token and be one: `[e~[`. If it has tags, each of them is a token.
        let end = spec.turn.end.trim();
        let is_token = !end.contains(char::is_whitespace) && tags(end).is_empty();
        tokens.extend(is_token.then(|| end.to_owned()));
        tokens.retain(|token| !token.is_empty());
        tokens.sort_unstable();
        tokens.dedup();
        Self(tokens)
    }

    /// Those for which this holds, such as the ones that a tokenizer lacks.
    pub fn filtered(mut self, holds: impl Fn(&str) -> bool) -> Self {
        self.0.retain(|token| holds(token));
        self
    }

    /// Whether a text is one of them.
    pub fn contains(&self, text: &str) -> bool {
        self.0.binary_search_by(|token| token.as_str().cmp(text)).is_ok()
    }

    /// Where the template wrote one of them, in order; of those that overlap, the first, and the longest of these.
    pub fn written(&self, prompt: &LabelledPrompt, writers: &PromptWriters<'_>) -> Vec<Range<usize>> {
        let places = |token: &String| -> Vec<Range<usize>> {
            prompt.text.match_indices(token.as_str()).map(|(at, text)| at..at + text.len()).collect()
        };
        let mut found: Vec<Range<usize>> = self.0.iter().flat_map(places).collect();
        found.retain(|range| writers.verdict(range) == TokenVerdict::Control);
        found.sort_unstable_by_key(|range| (range.start, Reverse(range.end)));
        let mut end = 0;
        found.retain(|range| {
            let is_next = range.start >= end;
            end = if is_next { range.end } else { end };
            is_next
        });
        found
    }
}
