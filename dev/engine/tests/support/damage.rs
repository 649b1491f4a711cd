//! Damaged texts: what a model might write that does not keep to its format.

use unjinja_testkit::random::Random;

/// What is inserted in addition to parts of the text itself: the building blocks of formats, and characters of two, three and
/// four bytes, some of which share their first bytes.
const STRANGERS: &[char] = &[
    ' ', '\n', '\t', '"', '\'', '\\', '/', '<', '>', '{', '}', '[', ']', '(', ')', ',', ':', '=', '|', '-', '_', '.',
    '0', '7', 'a', 'Z', 'é', 'ü', '▁', '｜', '，', '😀', '\u{1}', '\u{7f}',
];

/// The text with one to three damages.
pub fn damaged(text: &str, random: &mut Random) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..=random.below(3) {
        damage(&mut chars, random);
    }
    chars.into_iter().collect()
}

fn damage(chars: &mut Vec<char>, random: &mut Random) {
    let stranger = |chars: &[char], random: &mut Random| {
        if chars.is_empty() || random.once_in(2) { *random.pick(STRANGERS) } else { *random.pick(chars) }
    };
    if chars.is_empty() {
        chars.push(stranger(chars, random));
        return;
    }
    let at = random.below(chars.len());
    match random.below(8) {
        0 | 1 => {
            chars.remove(at);
        }
        2 | 3 => {
            let c = stranger(chars, random);
            chars.insert(at, c);
        }
        4 | 5 => chars[at] = stranger(chars, random),
        6 => {
            let other = (at + 1) % chars.len();
            chars.swap(at, other);
        }
        _ => chars.truncate(at),
    }
}
