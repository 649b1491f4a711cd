//! Tags that hold the function's name, and markers that repeat it.

use unjinja_spec::{REPEATED_NAME, Tools};

use crate::marker::{Alphabet, Markers};
use crate::rng::Rng;

/// `<f=NAME>` or `<f name="NAME">`, closed by `</f>`.
pub fn name_tag(markers: &mut Markers<'_>, tools: &mut Tools, alphabet: Alphabet) {
    let word = markers.word();
    let bar = if alphabet == Alphabet::Wide { "｜" } else { "" };
    let function = &mut tools.function;
    (function.name_prefix, function.name_suffix) = if markers.rng().coin() {
        (format!("<{bar}{word}="), ">".to_owned())
    } else {
        (format!("<{bar}{word} name=\""), "\">".to_owned())
    };
    let again = if markers.rng().one_in(8) { format!("={REPEATED_NAME}") } else { String::new() };
    function.close = format!("</{bar}{word}{again}>");
    if markers.rng().coin() {
        function.name_suffix.push('\n');
        function.close.insert(0, '\n');
    }
}

/// `<NAME>`, closed by `</NAME>`; perhaps with a word before the name.
pub fn name_is_tag(markers: &mut Markers<'_>, tools: &mut Tools) {
    let word = if markers.rng().one_in(3) { format!("{}:", markers.word()) } else { String::new() };
    let (open, slash, close) =
        markers.rng().pick(&[("<", "</", ">"), ("<", "</", ">"), ("<|", "<|/", "|>"), ("<｜", "</｜", "｜>")]);
    let function = &mut tools.function;
    function.name_prefix = format!("{open}{word}");
    function.name_suffix = close.to_owned();
    function.close = format!("{slash}{word}{REPEATED_NAME}{close}");
    if markers.rng().one_in(3) {
        function.name_suffix.push('\n');
        function.close.insert(0, '\n');
    }
}

/// After the header with the name, a tag that has the name again: `<f name="NAME">`, closed by `</f>`.
pub fn name_again(markers: &mut Markers<'_>, tools: &mut Tools) {
    let (word, attribute) = (markers.word(), markers.rng().pick(&["name", "tool"]));
    let line = markers.rng().pick(&["", "\n"]);
    tools.function.name_suffix.push_str(&format!("<{word} {attribute}=\"{REPEATED_NAME}\">{line}"));
    tools.function.close = format!("{line}</{word}>");
}

/// Whether a marker has the function's name again.
pub fn repeats_name(tools: &Tools) -> bool {
    [&tools.function.name_suffix, &tools.function.close].iter().any(|marker| marker.contains(REPEATED_NAME))
}

/// A random alphabet with tags, for formats whose markers hold names.
pub fn angle_or_wide(rng: &mut Rng) -> Alphabet {
    rng.pick(&[Alphabet::Angle, Alphabet::Angle, Alphabet::Wide])
}
