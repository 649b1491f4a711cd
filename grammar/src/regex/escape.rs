//! Characters that are written with a backslash, in every dialect.
//!
//! Each function returns the characters, and how many bytes of the text after the letter belong to the escape.

use super::error::Cause;
use super::tree::{Item, Named};

/// The characters of a letter that means the same in every dialect. `rest` is the text after it.
pub(super) fn common(letter: char, rest: &str) -> Result<(Item, usize), Cause> {
    let item = match letter {
        'n' => Item::Char('\n'),
        'r' => Item::Char('\r'),
        't' => Item::Char('\t'),
        'f' => Item::Char('\u{c}'),
        'v' => Item::Char('\u{b}'),
        'd' => Item::Named(Named::Digit),
        'D' => Item::NotNamed(Named::Digit),
        's' => Item::Named(Named::Space),
        'S' => Item::NotNamed(Named::Space),
        'w' => Item::Named(Named::Word),
        'W' => Item::NotNamed(Named::Word),
        'x' => return hex(rest, 2),
        other if other.is_ascii_alphanumeric() => return Err(Cause::UnknownEscape(other)),
        other => Item::Char(other),
    };
    Ok((item, 0))
}

/// The number that a text begins with, in this many hexadecimal digits.
#[inline(never)]
pub(super) fn number(text: &str, digits: usize) -> Option<u32> {
    let digits = text.get(..digits).filter(|digits| !digits.is_empty())?;
    digits.chars().try_fold(0_u32, |number, digit| Some(number.checked_mul(16)? + digit.to_digit(16)?))
}

/// A character by its number in hexadecimal digits.
pub(super) fn hex(rest: &str, digits: usize) -> Result<(Item, usize), Cause> {
    match number(rest, digits).and_then(char::from_u32) {
        Some(character) => Ok((Item::Char(character), digits)),
        None => Err(Cause::Wrong(match digits {
            2 => "2 hexadecimal digits of a character must follow",
            8 => "8 hexadecimal digits of a character must follow",
            _ => "4 hexadecimal digits of a character must follow",
        })),
    }
}

/// A property of Unicode, whose name consists of letters, digits, `_` and this byte: `\p{Lu}`.
pub(super) fn property(letter: char, rest: &str, and: Option<u8>) -> Result<(Item, usize), Cause> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || Some(byte) == and;
    match rest.strip_prefix('{').and_then(|inside| inside.split_once('}')) {
        Some((name, _)) if !name.is_empty() && name.bytes().all(is_name) => {
            let property = if letter == 'p' { Item::Property } else { Item::NotProperty };
            Ok((property(name.to_owned()), name.len() + 2))
        }
        _ => Err(Cause::Wrong("the name of a property must follow in braces")),
    }
}
