//! Characters with a backslash, and sets of characters in brackets. Both are translated to sets as the library that searches
//! writes them, with every character as a number, so that no character means something else there.

/// What an escape matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// One character.
    Char(char),
    /// One of several: the text between the brackets of a set.
    Set(String),
}

/// What is wrong, and the offset of the place.
type Wrong = (String, usize);

/// A character as a set of it.
pub(crate) fn char_in_set(char: char) -> String {
    format!("\\x{{{:x}}}", u32::from(char))
}

/// The escape at the start of a text, and where it ends. Places and references are not read here.
pub(crate) fn escape(text: &str) -> Result<(Item, usize), Wrong> {
    let Some(char) = text.chars().nth(1) else { return Err(("a backslash ends the pattern".to_owned(), 0)) };
    let end = 1 + char.len_utf8();
    let item = match char {
        'n' => Item::Char('\n'),
        'r' => Item::Char('\r'),
        't' => Item::Char('\t'),
        'f' => Item::Char('\u{c}'),
        'v' => Item::Char('\u{b}'),
        'a' => Item::Char('\u{7}'),
        'd' | 'D' | 'w' | 'W' | 's' | 'S' => Item::Set(format!("\\{char}")),
        'x' => return number(text, end, 2),
        'u' => return number(text, end, 4),
        'U' => return number(text, end, 8),
        'p' | 'P' => return property(text, end),
        '0' => {
            let more = text[end..].bytes().take(2).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
            let code = u32::from_str_radix(&text[1..end + more], 8).unwrap_or(0);
            return Ok((Item::Char(char::from_u32(code).unwrap_or_default()), end + more));
        }
        other if other.is_ascii_alphanumeric() => return Err((format!("the escape `\\{other}` is not supported"), 0)),
        other => Item::Char(other),
    };
    Ok((item, end))
}

/// A character by its number in hexadecimal digits.
fn number(text: &str, from: usize, digits: usize) -> Result<(Item, usize), Wrong> {
    let code = text.get(from..from + digits).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    match code.and_then(char::from_u32) {
        Some(char) => Ok((Item::Char(char), from + digits)),
        None => Err((format!("{digits} hexadecimal digits of a character must follow"), 0)),
    }
}

/// A property of Unicode: `\p{Lu}`.
fn property(text: &str, from: usize) -> Result<(Item, usize), Wrong> {
    let name = text[from..].strip_prefix('{').and_then(|rest| rest.split_once('}')).map(|(name, _)| name);
    let name =
        name.filter(|name| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'));
    match name {
        Some(name) => Ok((Item::Set(text[..from + name.len() + 2].to_owned()), from + name.len() + 2)),
        None => Err(("the name of a property must follow in braces".to_owned(), 0)),
    }
}

/// The set in brackets at the start of a text, and where it ends.
pub(crate) fn set(text: &str) -> Result<(String, usize), Wrong> {
    let mut out = String::from("[");
    let mut at = 1;
    if text[at..].starts_with('^') {
        out.push('^');
        at += 1;
    }
    let first = at;
    loop {
        let Some(char) = text[at..].chars().next() else { return Err(("this set is not closed".to_owned(), 0)) };
        // A bracket at the start of a set means itself.
        if char == ']' && at > first {
            out.push(']');
            return Ok((out, at + 1));
        }
        if text[at..].starts_with("[:") {
            return Err(("a class of POSIX is not supported".to_owned(), at));
        }
        let (item, end) = set_item(text, at)?;
        let to = text[end..].strip_prefix('-').filter(|rest| !rest.starts_with(']') && !rest.is_empty());
        match (item, to) {
            (Item::Char(low), Some(_)) => {
                let (high, high_end) = set_item(text, end + 1)?;
                let Item::Char(high) = high else {
                    return Err(("a range ends with a character".to_owned(), end + 1));
                };
                if high < low {
                    return Err(("the range ends before it begins".to_owned(), at));
                }
                out.push_str(&format!("{}-{}", char_in_set(low), char_in_set(high)));
                at = high_end;
            }
            (Item::Char(char), None) => {
                out.push_str(&char_in_set(char));
                at = end;
            }
            (Item::Set(_), Some(_)) => return Err(("a range begins with a character".to_owned(), at)),
            (Item::Set(set), None) => {
                out.push_str(&set);
                at = end;
            }
        }
    }
}

fn set_item(text: &str, at: usize) -> Result<(Item, usize), Wrong> {
    let rest = &text[at..];
    match rest.chars().next() {
        None => Err(("this set is not closed".to_owned(), 0)),
        Some('\\') if rest[1..].starts_with('b') => Ok((Item::Char('\u{8}'), at + 2)),
        Some('\\') => {
            let (item, end) = escape(rest).map_err(|(cause, offset)| (cause, at + offset))?;
            Ok((item, at + end))
        }
        Some(char) => Ok((Item::Char(char), at + char.len_utf8())),
    }
}
