//! What models write in place of a marker: a special token without the words that the template writes after it, a tag that has a
//! name in another way.

use unjinja_runtime::abi::is_special_token;
use unjinja_spec::{MarkerKey, MarkerText, ToolFormat, tags};

use super::source::Source;

/// What a model may write in place of a marker.
pub(super) fn others(spec: &Source<'_>, key: MarkerKey, text: &str) -> Vec<String> {
    let own = match key {
        MarkerKey::SectionStart | MarkerKey::CallStart | MarkerKey::ReasoningStart => without_words(spec, key, text),
        MarkerKey::FunctionNamePrefix => {
            [without_words(spec, key, text), attributes(text, spec.marker(MarkerKey::FunctionNameSuffix))].concat()
        }
        MarkerKey::ArgumentNamePrefix => attributes(text, spec.marker(MarkerKey::ArgumentNameSuffix)),
        MarkerKey::FunctionNameSuffix => {
            [ends_of_tag(spec.marker(MarkerKey::FunctionNamePrefix), text), doubled(spec, text)].concat()
        }
        MarkerKey::ArgumentNameSuffix => ends_of_tag(spec.marker(MarkerKey::ArgumentNamePrefix), text),
        _ => Vec::new(),
    };
    let folded = in_ascii(spec, MarkerText::new(text).core);
    let bars = if OF_CALLS.contains(&key) { doubled_bars(MarkerText::new(text).core) } else { Vec::new() };
    let opens = matches!(key, MarkerKey::CallStart | MarkerKey::SectionStart | MarkerKey::ReasoningStart);
    let second = opens.then(|| second_bar(spec, text)).flatten();
    [own, bars, second.into_iter().chain(folded).collect()].concat()
}

/// A marker with the characters of ASCII that look like its own, a bar and a low line, if no marker is written so.
fn in_ascii(spec: &Source<'_>, core: &str) -> Option<String> {
    let folded = core.replace('｜', "|").replace('▁', "_");
    let is_new = || spec.markers().all(|(_, text)| !text.contains(&folded));
    (folded != core && is_new()).then_some(folded)
}

/// The markers of calls that may be tags with a name between bars.
const OF_CALLS: [MarkerKey; 6] = [
    MarkerKey::SectionStart,
    MarkerKey::SectionEnd,
    MarkerKey::FunctionNamePrefix,
    MarkerKey::FunctionClose,
    MarkerKey::ArgumentNamePrefix,
    MarkerKey::ArgumentValueSuffix,
];

const BARS: [char; 2] = ['|', '｜'];

/// A tag of a name between bars and a word (`<｜name｜word_word>`) in the forms in which the bars are doubled: with the word, with white
/// space before it, and with the last part of the word alone.
fn doubled_bars(core: &str) -> Vec<String> {
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

/// A token that has a bar on one side only (`<|name>`), with the bar on both, if no marker and no other token is written so.
fn second_bar(spec: &Source<'_>, text: &str) -> Option<String> {
    let core = MarkerText::new(text).core;
    let token = MarkerText::new(text).tags().first().copied().filter(|token| core.starts_with(token))?;
    let bar = BARS.into_iter().find(|bar| token.strip_prefix('<').is_some_and(|rest| rest.starts_with(*bar)))?;
    let inner = token.strip_suffix('>').filter(|inner| !inner.ends_with(bar) && is_special_token(token.as_bytes()))?;
    let other = format!("{inner}{bar}>");
    let is_known = spec.markers().any(|(_, text)| text.contains(&other)) || spec.tokens.other.contains(&other);
    (!is_known).then(|| other + &core[token.len()..])
}

/// How a tag has a name: what is between the name of the tag and that name.
const ATTRIBUTES: [&str; 5] = ["=\"", "=", " name=\"", "='", " name='"];

/// The tag before a name, and the way in which it has the name, if the tag ends directly after the name.
fn tag_of_name<'t>(prefix: &'t str, suffix: &str) -> Option<(&'t str, &'static str)> {
    let core = MarkerText::new(prefix).core;
    let attribute =
        ATTRIBUTES.into_iter().filter(|attribute| core.ends_with(attribute)).max_by_key(|found| found.len())?;
    let tag = core.strip_suffix(attribute)?;
    let is_tag = tag.strip_prefix('<').is_some_and(|name| !name.contains(['<', '>', '=', ' ']));
    (is_tag && MarkerText::new(suffix).core.trim_start_matches(['"', '\'']) == ">").then_some((tag, attribute))
}

/// The other ways in which a tag may have a name.
fn attributes(prefix: &str, suffix: &str) -> Vec<String> {
    let Some((tag, own)) = tag_of_name(prefix, suffix) else { return Vec::new() };
    ATTRIBUTES.into_iter().filter(|other| *other != own).map(|other| [tag, other].concat()).collect()
}

/// The end of such a tag, with a quote or without. The end of the line replaces a missing bracket.
fn ends_of_tag(prefix: &str, suffix: &str) -> Vec<String> {
    let own = MarkerText::new(suffix).core;
    let ends = ["\">", "'>", ">", "\"\n", "\n"].into_iter();
    ends.filter(|end| tag_of_name(prefix, suffix).is_some() && *end != own).map(str::to_owned).collect()
}

/// The rest of a tag after a name in quotes, if an attribute comes next: without that attribute, and with its value without quotes.
pub(super) fn without_attribute(suffix: &str) -> Option<[String; 2]> {
    let core = MarkerText::new(suffix).core;
    let quote = ['"', '\''].into_iter().find(|quote| core.starts_with(*quote))?;
    let rest = &core[1..];
    let (name, value) = rest.trim_start().split_once('=')?;
    let is_attribute = rest.starts_with(' ') && !name.is_empty() && name.chars().all(char::is_alphanumeric);
    let (value, end) = value.strip_prefix(quote)?.split_once(quote)?;
    is_attribute.then(|| [format!("{quote}{end}"), format!("{quote} {name}={value}{end}")])
}

/// The ends of a tag that closes itself, after the name of a function: the call has no arguments.
pub(super) fn self_closing(spec: &Source<'_>) -> &'static [&'static str] {
    let suffix = spec.marker(MarkerKey::FunctionNameSuffix);
    let is_tag = tag_of_name(spec.marker(MarkerKey::FunctionNamePrefix), suffix).is_some();
    if is_tag { &["/>", "\"/>"] } else { &[] }
}

/// The token between a function's name and its arguments, twice: a brace is what comes after it.
fn doubled(spec: &Source<'_>, text: &str) -> Vec<String> {
    let core = MarkerText::new(text).core;
    let is_token =
        spec.tools.format == ToolFormat::TagWithJson && is_special_token(core.as_bytes()) && tags(core) == [core];
    is_token.then(|| [core, core].concat()).into_iter().collect()
}

/// A marker that is a special token and words may lack the words, or have them twice, if no other marker has that token: then it opens
/// the same. The white space after the words is what ends them in a header.
fn without_words(spec: &Source<'_>, key: MarkerKey, text: &str) -> Vec<String> {
    let Some(piece) = MarkerText::pieces(text).into_iter().next() else { return Vec::new() };
    let Some(token) = piece.tags().first().copied().filter(|tag| is_special_token(tag.as_bytes())) else {
        return Vec::new();
    };
    let Some(words) = piece.core.strip_prefix(token) else { return Vec::new() };
    let is_own = spec.markers().all(|(other, text)| other == key || !text.contains(token));
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
