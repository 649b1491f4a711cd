//! Changes of a text.

use std::ops::Range;

use unjinja_runtime::abi::is_special_token;
use unjinja_spec::{FormatSpec, MarkerKey as Key, MarkerText};

/// The answer of the turn.
pub const ANSWER: &str = "Look.";

/// The core of a marker.
pub fn core(spec: &FormatSpec, key: Key) -> &str {
    MarkerText::new(spec.marker(key)).core
}

pub fn is_special(core: &str) -> bool {
    is_special_token(core.as_bytes())
}

/// A change of a text: another one in each of these ranges.
pub type Edits = Vec<(Range<usize>, String)>;

/// A text with changes.
pub fn edited(text: &str, edits: &[(Range<usize>, String)]) -> String {
    let (mut out, mut at) = (String::new(), 0);
    for (range, other) in edits {
        out.extend([&text[at..range.start], other]);
        at = range.end;
    }
    out + &text[at..]
}

/// A change without what is the same at both ends of the two texts.
pub fn trimmed(text: &str, (range, other): &(Range<usize>, String)) -> (Range<usize>, String) {
    let same = |(one, other): &(char, char)| one == other;
    let length = |(one, _): (char, char)| one.len_utf8();
    let own = &text[range.clone()];
    let begin: usize = own.chars().zip(other.chars()).take_while(same).map(length).sum();
    let rest = own[begin..].chars().rev().zip(other[begin..].chars().rev());
    let end: usize = rest.take_while(same).map(length).sum();
    (range.start + begin..range.end - end, other[begin..other.len() - end].to_owned())
}

pub fn spliced(range: Range<usize>, other: &str) -> Edits {
    vec![(range, other.to_owned())]
}

/// Another text in place of this piece: at each of its places, and at all of them.
pub fn at_each(text: &str, piece: &str, other: impl Fn(&str) -> String) -> Vec<Edits> {
    if piece.is_empty() {
        return Vec::new();
    }
    let other = other(piece);
    let all: Edits = text.match_indices(piece).map(|(at, _)| (at..at + piece.len(), other.clone())).collect();
    all.iter().map(|edit| vec![edit.clone()]).chain((all.len() > 1).then(|| all.clone())).collect()
}
