//! What the dialects write differently.

use super::error::Cause;
use super::escape::{common, hex, number, property};
use super::tree::{Assertion, Item};

/// How regular expressions are written. A type and not a value, so that nothing is linked of a dialect that is not read.
pub trait Dialect {
    /// What `$` asks for.
    const DOLLAR: Assertion;

    /// The maximum of a number of repetitions.
    const MOST_REPEATS: u32;

    /// Whether what only Python has is read: `(?P<name>…)`, `(?P=name)`, `(?>…)`, `(?#…)`, `(?i)`, `*+`, `{,3}`, `\A`. Names of
    /// groups are then checked.
    const IS_PYTHON: bool;

    /// Whether `[]` is a set of nothing. Otherwise a bracket at the start of a set means itself.
    const HAS_EMPTY_SETS: bool;

    /// Whether a hyphen next to a named set means itself: `[\w-.]`. Otherwise it is an error.
    const HAS_LOOSE_HYPHENS: bool;

    /// The characters of an escape, and how many bytes of `rest` belong to it. `rest` is the text after the letter. Places and
    /// references are not read here.
    fn escape(letter: char, rest: &str) -> Result<(Item, usize), Cause>;
}

/// The dialect of ECMA-262, in which JSON Schema writes its patterns.
#[derive(Clone, Copy, Debug)]
pub enum Ecma {}

/// The dialect of Python's module `regex`, in which the readers of response templates search. What that module has and no
/// response template needs (conditions, recursion, references by number, fuzzy matching, sets of sets) is refused.
#[derive(Clone, Copy, Debug)]
pub enum Python {}

impl Dialect for Ecma {
    const DOLLAR: Assertion = Assertion::End;
    const MOST_REPEATS: u32 = u32::MAX;
    const IS_PYTHON: bool = false;
    const HAS_EMPTY_SETS: bool = true;
    const HAS_LOOSE_HYPHENS: bool = true;

    fn escape(letter: char, rest: &str) -> Result<(Item, usize), Cause> {
        Ok(match letter {
            '0' if !rest.starts_with(|next: char| next.is_ascii_digit()) => (Item::Char('\0'), 0),
            'c' => match rest.bytes().next() {
                Some(letter) if letter.is_ascii_alphabetic() => (Item::Char(char::from(letter & 31)), 1),
                _ => return Err(Cause::Wrong("a letter must follow `\\c`")),
            },
            'u' => unicode(rest)?,
            'p' | 'P' => property(letter, rest, Some(b'='))?,
            _ => common(letter, rest)?,
        })
    }
}

/// The character of `\u{1F600}`, of `\uD83D\uDE00` or of `\u00E9`, after the `u`.
fn unicode(rest: &str) -> Result<(Item, usize), Cause> {
    if let Some((digits, _)) = rest.strip_prefix('{').and_then(|inside| inside.split_once('}')) {
        let (item, length) = hex(&rest[1..], digits.len())?;
        return Ok((item, length + 2));
    }
    if let Some(high @ 0xD800..0xDC00) = number(rest, 4)
        && let Some(low @ 0xDC00..0xE000) = rest.get(4..).and_then(|rest| number(rest.strip_prefix("\\u")?, 4))
        && let Some(character) = char::from_u32(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00))
    {
        return Ok((Item::Char(character), 10));
    }
    hex(rest, 4)
}

impl Dialect for Python {
    const DOLLAR: Assertion = Assertion::LastLine;
    const MOST_REPEATS: u32 = 1000;
    const IS_PYTHON: bool = true;
    const HAS_EMPTY_SETS: bool = false;
    const HAS_LOOSE_HYPHENS: bool = false;

    fn escape(letter: char, rest: &str) -> Result<(Item, usize), Cause> {
        Ok(match letter {
            'a' => (Item::Char('\u{7}'), 0),
            'u' => hex(rest, 4)?,
            'U' => hex(rest, 8)?,
            '0' => {
                let more = rest.bytes().take(2).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
                let code = rest[..more].bytes().fold(0, |code, digit| code << 3 | (digit & 7));
                (Item::Char(char::from(code)), more)
            }
            'p' | 'P' => property(letter, rest, None)?,
            _ => common(letter, rest)?,
        })
    }
}
