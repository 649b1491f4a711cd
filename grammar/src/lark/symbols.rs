//! How texts, classes and tokens are written in Lark.

use std::fmt::Write;

use crate::expr::Class;
use crate::special_tokens::{SpecialToken, is_name};

pub(super) const NOTHING: &str = "/[^\\x{0}-\\x{10FFFF}]/";

/// A text between quotes, with the escapes of JSON.
pub(super) fn literal(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        let _ = match character {
            '"' | '\\' => write!(out, "\\{character}"),
            '\n' => out.write_str("\\n"),
            '\r' => out.write_str("\\r"),
            '\t' => out.write_str("\\t"),
            // The language has no escape for more than four digits.
            character if character.escape_debug().nth(1).is_some() && u32::from(character) <= 0xFFFF => {
                if character == '\'' {
                    out.write_char(character)
                } else {
                    write!(out, "\\u{:04X}", u32::from(character))
                }
            }
            character => out.write_char(character),
        };
    }
    out.push('"');
}

/// A special token: by its number if it is known, else by its name.
pub(super) fn token(out: &mut String, token: &SpecialToken) {
    let _ = match token.id() {
        Some(id) => write!(out, "<[{id}]>"),
        None if is_name(token.text()) => out.write_str(token.text()),
        // Such a token is never folded.
        None => return literal(out, token.text()),
    };
}

pub(super) fn class(out: &mut String, class: &Class) {
    if class.as_ranges().is_empty() {
        return out.push_str(if class.is_negated() { "/(?s:.)/" } else { NOTHING });
    }
    out.push_str(if class.is_negated() { "/[^" } else { "/[" });
    for &(first, last) in class.as_ranges() {
        character(out, first);
        if first != last {
            if u32::from(last) - u32::from(first) > 1 {
                out.push('-');
            }
            character(out, last);
        }
    }
    out.push_str("]/");
}

/// A character of a class. Letters, digits and what is not ASCII stand for themselves, if they can be seen.
fn character(out: &mut String, character: char) {
    let plain = character.is_ascii_alphanumeric() || !character.is_ascii() && character.escape_debug().nth(1).is_none();
    let _ = match character {
        '\n' => out.write_str("\\n"),
        '\r' => out.write_str("\\r"),
        '\t' => out.write_str("\\t"),
        character if plain => out.write_char(character),
        ' ' | '"' | '\'' | '<' | '>' | '=' | ',' | ';' | ':' | '_' | '!' | '%' | '@' | '`' => out.write_char(character),
        '/' => out.write_str("\\x2F"),
        character if character.is_ascii_punctuation() => write!(out, "\\{character}"),
        character => write!(out, "\\x{{{:X}}}", u32::from(character)),
    };
}

pub(super) fn count(out: &mut String, min: u32, max: Option<u32>) {
    match max {
        Some(max) if max == min => _ = write!(out, "{{{min},{max}}}"),
        max => crate::write::count(out, min, max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut String)) -> String {
        let mut out = String::new();
        write(&mut out);
        out
    }

    #[test]
    fn writes_what_the_engine_reads() {
        for (text, expected) in [
            ("a\"b\\c\n\r\t'[]-^/", r#""a\"b\\c\n\r\t'[]-^/""#),
            ("\0\u{7f}\u{a0}\u{200b}é｜😀", r#""\u0000\u007F\u00A0\u200Bé｜😀""#),
        ] {
            assert_eq!(written(|out| literal(out, text)), expected);
        }
        for (set, expected) in [
            (Class::ranges(&[('a', 'z'), ('0', '9'), ('_', '_')]), "/[0-9_a-z]/"),
            (Class::of(&['-', ']', '^', '\\', '/', '&', '~']), r"/[\&\-\x2F\\-\^\~]/"),
            (Class::of(&['\0', '"', '\n']).negate(), "/[^\\x{0}\\n\"]/"),
            (Class::of(&[]).negate(), "/(?s:.)/"),
            (Class::of(&[]), NOTHING),
        ] {
            assert_eq!(written(|out| class(out, &set)), expected);
        }
        for (min, max, expected) in
            [(0, None, "*"), (1, None, "+"), (0, Some(1), "?"), (2, None, "{2,}"), (2, Some(2), "{2,2}")]
        {
            assert_eq!(written(|out| count(out, min, max)), expected);
        }
    }
}
