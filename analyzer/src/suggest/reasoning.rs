//! How a prompt says that reasoning is written: between two tags, or between two phrases that end with a colon.

use super::examples::{is_closer, placed_tags};
use super::passage::quote;

/// How reasoning is written, as far as a prompt says it.
pub(super) struct Reasoning {
    pub(super) start: String,
    pub(super) end: String,
    pub(super) quote: String,
}

/// Words for reasoning, in lower case.
const WORDS: &[&str] = &["think", "thought", "reason"];

/// Characters between which a phrase is quoted.
const QUOTES: &[(char, char)] = &[('\'', '\''), ('"', '"'), ('`', '`'), ('“', '”'), ('‘', '’')];

/// Characters of a quoted phrase at most.
const LONGEST: usize = 80;

pub(super) fn described(text: &str) -> Option<Reasoning> {
    tags(text).or_else(|| phrases(text))
}

fn is_about_reasoning(text: &str) -> bool {
    let text = text.to_lowercase();
    WORDS.iter().any(|word| text.contains(word))
}

/// A pair of tags that are named after reasoning, in a line of other words.
fn tags(text: &str) -> Option<Reasoning> {
    let tags = placed_tags(text);
    tags.iter().find_map(|(range, open)| {
        let name = open.strip_prefix('<')?;
        if is_closer(open) || !is_about_reasoning(open) {
            return None;
        }
        let (end, close) = tags.iter().find(|(other, tag)| other.start > range.start && *tag == format!("</{name}"))?;
        let found =
            Reasoning { start: (*open).to_owned(), end: (*close).to_owned(), quote: quote(text, range.start..end.end) };
        // Tags alone are a part of a turn; a description has words directly before them, in the same sentence.
        let before = &text[..range.start];
        let words = &before[before.rfind(['>', '\n']).map_or(0, |at| at + 1)..];
        words.split_whitespace().nth(1).is_some().then_some(found)
    })
}

/// Two quoted phrases that end with a colon; the first is about reasoning.
fn phrases(text: &str) -> Option<Reasoning> {
    let found = quoted_phrases(text);
    found.windows(2).find_map(|pair| {
        let [(start, first), (end, second)] = pair else { return None };
        let is_pair = is_about_reasoning(first) && !is_about_reasoning(second) && *end - *start < 4 * LONGEST;
        is_pair.then(|| Reasoning {
            start: (*first).to_owned(),
            end: (*second).to_owned(),
            quote: quote(text, *start..*end + second.len()),
        })
    })
}

/// Quoted phrases that end with a colon, with the places at which they begin.
fn quoted_phrases(text: &str) -> Vec<(usize, &str)> {
    let mut found: Vec<(usize, &str)> = Vec::new();
    for (colon, _) in text.match_indices(':') {
        let Some(mark) = text[colon + 1..].chars().next() else { continue };
        let Some((open, _)) = QUOTES.iter().find(|(_, close)| *close == mark) else { continue };
        let Some(start) = text[..colon].rfind(*open).map(|at| at + open.len_utf8()) else { continue };
        let phrase = &text[start..=colon];
        if phrase.chars().count() <= LONGEST && !phrase.contains('\n') {
            found.push((start, phrase));
        }
    }
    found
}
