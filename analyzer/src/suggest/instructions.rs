//! What a prompt tells the model about calls, sentence by sentence: whether with certain tokens, or otherwise.

/// Words with which a sentence tells the model to write something.
const WORDS: &[&str] = &["answer", "call", "calls", "emit", "invoke", "output", "reply", "respond", "write"];

/// Whether a text tells the model to write something, or names one of these tokens, and has no sentence that does both.
pub(super) fn are_otherwise(text: &str, tokens: &[&str]) -> bool {
    let mut speaks = false;
    for sentence in text.split(['\n', '!', '?']).flat_map(|line| line.split(". ")) {
        let names = tokens.iter().any(|token| sentence.contains(token));
        let tells = without_tags(sentence).any(|word| WORDS.contains(&word.to_lowercase().as_str()));
        if names && tells {
            return false;
        }
        speaks |= names || tells;
    }
    speaks
}

/// The words of a sentence that are not in tags.
fn without_tags(sentence: &str) -> impl Iterator<Item = &str> {
    let mut rest = sentence;
    let mut texts = Vec::new();
    for tag in crate::text::tags(sentence) {
        if let Some((before, after)) = rest.split_once(tag) {
            texts.push(before);
            rest = after;
        }
    }
    texts.push(rest);
    // A name in JSON or code is no word of the sentence.
    texts.into_iter().flat_map(str::split_whitespace).map(|word| word.trim_matches([',', ':', ';', '.', '(', ')']))
}
