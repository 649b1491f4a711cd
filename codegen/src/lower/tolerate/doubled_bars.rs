use super::prelude::*;

/// The markers of calls that may be such tags.
const KEYS: [MarkerKey; 6] = [
    MarkerKey::SectionStart,
    MarkerKey::SectionEnd,
    MarkerKey::FunctionNamePrefix,
    MarkerKey::FunctionClose,
    MarkerKey::ArgumentNamePrefix,
    MarkerKey::ArgumentValueSuffix,
];

pub(super) const RULE: Rule = Rule {
    name: "doubled bars",
    written: "A tag of a name between bars and a word (`<｜name｜word_word>`) has its bars doubled.",
    read: "The same tag. It opens a call only of an offered tool, if any were offered.",
    diagnostic: None,
    case: "typed_parameters: tags with doubled bars",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    or_forms(spec, turn, &|key, text| match KEYS.contains(&key) {
        true => forms(MarkerText::new(text).core),
        false => Vec::new(),
    });
}

/// The tag with doubled bars: with the word, with white space before it, and with the last part of the word alone.
fn forms(core: &str) -> Vec<String> {
    let opens = if core.starts_with("</") { "</" } else { "<" };
    let parts = BARS.into_iter().find_map(|bar| {
        let (name, word) = core.strip_prefix(opens)?.strip_prefix(bar)?.split_once(bar)?;
        Some((bar, name, word))
    });
    let Some((bar, name, word)) = parts.filter(|(_, _, word)| word.starts_with(char::is_alphabetic)) else {
        return Vec::new();
    };
    let tag = format!("{opens}{bar}{bar}{name}{bar}{bar}");
    let end = word.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(word.len());
    let last = word[..end].rfind('_').map(|at| &word[at + 1..]);
    let words = [format!("{tag}{word}"), format!("{tag} {word}")];
    words.into_iter().chain(last.map(|last| format!("{tag} {last}"))).collect()
}
