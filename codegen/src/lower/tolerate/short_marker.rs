use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a token without its words",
    written: "A special token and words: the words are missing, or come twice.",
    read: "A call if the name of an offered tool follows; reasoning if a line break follows.",
    diagnostic: None,
    case: "quote_tokens: the token that opens a call comes alone",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    or_forms(spec, turn, &|key, text| match key {
        MarkerKey::SectionStart | MarkerKey::CallStart | MarkerKey::ReasoningStart | MarkerKey::FunctionNamePrefix => {
            forms(spec, key, text)
        }
        _ => Vec::new(),
    });
}

/// The token alone and with its words twice, if no other marker has that token: then it opens the same. The white space after the
/// words is what ends them in a header.
fn forms(spec: &Source<'_>, key: MarkerKey, text: &str) -> Vec<String> {
    let Some(piece) = MarkerText::pieces(text).into_iter().next() else { return Vec::new() };
    let Some(token) = piece.tags().first().copied().filter(|tag| is_special(tag)) else {
        return Vec::new();
    };
    let Some(words) = piece.core.strip_prefix(token) else { return Vec::new() };
    let is_own = spec.markers().all(|(other, text)| other == key || !text.contains(token));
    // A second token before JSON or a name.
    if is_one_tag(words) && is_special(words) {
        return [token.to_owned()].into_iter().filter(|_| is_own && key == MarkerKey::CallStart).collect();
    }
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let mark = words.trim_start_matches(is_word);
    if !is_own || words.is_empty() || !mark.chars().all(|c| c.is_ascii_punctuation()) {
        return Vec::new();
    }
    if key == MarkerKey::ReasoningStart {
        let ends_header = mark.is_empty() && piece.after.starts_with('\n');
        return ends_header.then(|| [token, "\n"].concat()).into_iter().collect();
    }
    let shorter = [[token, mark].concat(), token.to_owned()];
    let twice = (!mark.is_empty()).then(|| [piece.core, words].concat());
    shorter.into_iter().filter(|core| core != piece.core).chain(twice).collect()
}
