//! The texts of a template that may be markers.

use crate::probe::Probe;
use crate::text;

/// The texts that may be or hold markers: the template's string literals, and those that it looks for in an answer, which it may
/// have put together.
pub(super) fn written(probe: &Probe<'_>) -> Vec<String> {
    let mut texts = probe.template.string_literals();
    for text in probe.sought(ANSWER) {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts
}

/// The path of an answer in the context of a render.
pub(super) const ANSWER: &str = "messages[1].content";

/// The texts that may be markers: the tags in these texts, and short texts that are not words.
pub(super) fn marker_candidates(probe: &Probe<'_>, written: &[String]) -> Vec<String> {
    let mut candidates: Vec<String> = Vec::new();
    let mut add = |text: &str| {
        if !candidates.iter().any(|known| known == text) {
            candidates.push(text.to_owned());
        }
    };
    for text in written {
        text::tags(text).into_iter().for_each(&mut add);
        // A marker that is not a tag is a text of its own.
        let alone = text.trim();
        let is_mark = (2..=40).contains(&alone.len()) && !alone.contains(char::is_whitespace);
        if is_mark && !alone.chars().all(char::is_alphanumeric) {
            add(alone);
        }
    }
    // What the template looks for may have several words.
    for text in probe.sought(ANSWER) {
        let alone = text.trim();
        let is_sign = |c: char| !c.is_alphanumeric() && !c.is_whitespace();
        if (2..=60).contains(&alone.len()) && alone.contains(char::is_alphanumeric) && alone.contains(is_sign) {
            add(alone);
        }
    }
    candidates
}
