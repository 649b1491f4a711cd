//! Python's words and numbers, translated to JSON.

use crate::readers::json::escape_bytes_into;

/// Writes the JSON of a token. Returns `false` if JSON has no such value: then `null` was written for a number that is
/// not finite, else a string.
pub(super) fn write(token: &[u8], out: &mut Vec<u8>) -> bool {
    if let Some(word) = word(token) {
        out.extend_from_slice(word);
        return true;
    }
    let from = out.len();
    if let Some(regular) = decimal(token, out) {
        return regular;
    }
    out.truncate(from);
    if let Some(regular) = radix(token, out) {
        return regular;
    }
    out.truncate(from);
    let magnitude = token.strip_prefix(b"-").or_else(|| token.strip_prefix(b"+")).unwrap_or(token);
    if [b"nan".as_slice(), b"inf", b"infinity"].iter().any(|word| magnitude.eq_ignore_ascii_case(word)) {
        out.extend_from_slice(b"null");
        return false;
    }
    out.push(b'"');
    escape_bytes_into(token, out);
    out.push(b'"');
    false
}

/// Whether a token is incomplete: the beginning of a word, or a number that lacks digits.
pub(super) fn is_cut(token: &[u8]) -> bool {
    let begins_word = begun_word(token).is_some_and(|(word, _)| word.len() > token.len());
    let begins_number = token.first().is_some_and(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.'));
    begins_word || (begins_number && !write(token, &mut Vec::new()))
}

/// Whether a number or word goes on with this byte, where a name may follow it without a separator. A name that begins with
/// `e` is taken for the exponent of the number before it.
pub(super) fn goes_on(token: &[u8], byte: u8) -> bool {
    let (Some(first), Some(last)) = (token.first(), token.last()) else { return true };
    if first.is_ascii_digit() || matches!(first, b'+' | b'-' | b'.') {
        let exponent = |byte: &u8| matches!(byte, b'e' | b'E');
        return match byte {
            b'0'..=b'9' => true,
            b'.' => !token.iter().any(|byte| *byte == b'.' || exponent(byte)),
            b'e' | b'E' => !token.iter().any(exponent) && last.is_ascii_digit(),
            b'+' | b'-' => exponent(last),
            _ => !last.is_ascii_digit() && *last != b'.',
        };
    }
    word(token).is_none()
}

/// Whether the bytes from `from` on show that JSON has no value for the token, however it goes on.
pub(super) fn is_lost(token: &[u8], from: usize) -> bool {
    // The first bytes may be the prefix of a string, such as `rb`.
    let ([first, ..], Some(rest)) = (token, token.get(from.max(2)..)) else { return false };
    if first.is_ascii_digit() || matches!(first, b'+' | b'-' | b'.') {
        return !rest.iter().all(|byte| byte.is_ascii_hexdigit() || b"+-._xXoO".contains(byte));
    }
    !rest.is_empty() && begun_word(token).is_none()
}

/// Writes the part of the JSON that is certain for a token that was cut off. It can be continued or closed.
pub(super) fn write_cut(token: &[u8], out: &mut Vec<u8>) {
    if let Some((_, json)) = begun_word(token) {
        out.extend_from_slice(&json[..token.len()]);
    } else {
        let from = out.len();
        // A number is written as far as it is valid.
        if !(decimal(token, out) == Some(true) || matches!(token, [b'-', ..] | [b'0'..=b'9', ..])) {
            out.truncate(from);
        }
    }
}

/// The words of Python and JSON, and their JSON. Both lists have the same order.
const WORDS: [(&[u8], &[u8]); 6] = [
    (b"True", b"true"),
    (b"False", b"false"),
    (b"None", b"null"),
    (b"true", b"true"),
    (b"false", b"false"),
    (b"null", b"null"),
];

/// The JSON of a word.
pub(crate) fn word(token: &[u8]) -> Option<&'static [u8]> {
    begun_word(token).filter(|(word, _)| word.len() == token.len()).map(|(_, json)| json)
}

/// The word that begins with the token, and its JSON.
pub(crate) fn begun_word(token: &[u8]) -> Option<(&'static [u8], &'static [u8])> {
    WORDS.into_iter().find(|(word, _)| begins(word, token))
}

/// Whether a text begins with another. For such short texts this loop is faster than a call.
fn begins(text: &[u8], other: &[u8]) -> bool {
    other.len() <= text.len() && text.iter().zip(other).all(|(one, other)| one == other)
}

/// Writes an integer or a float. `Some(false)`: it has leading zeros, which Python does not allow. `None`: it is
/// neither; the part that fits was written.
fn decimal(token: &[u8], out: &mut Vec<u8>) -> Option<bool> {
    let mut rest = token;
    if let [b'+' | b'-', tail @ ..] = rest {
        if rest[0] == b'-' {
            out.push(b'-');
        }
        rest = tail;
    }
    let from = out.len();
    let whole = digits(&mut rest, out)?;
    let zeros = out[from..].iter().take_while(|&&byte| byte == b'0').count();
    // A zero alone is kept.
    let surplus = if zeros == whole { zeros.saturating_sub(1) } else { zeros };
    out.drain(from..from + surplus);
    let mut regular = surplus == 0 || zeros == whole;
    if let [b'.', tail @ ..] = rest {
        rest = tail;
        if whole == 0 {
            out.push(b'0');
        }
        out.push(b'.');
        let fraction = digits(&mut rest, out)?;
        if whole + fraction == 0 {
            return None;
        }
        if fraction == 0 {
            out.push(b'0');
        }
        regular = true;
    } else if whole == 0 {
        return None;
    }
    if let [b'e' | b'E', tail @ ..] = rest {
        out.push(rest[0]);
        rest = tail;
        if let [b'+' | b'-', tail @ ..] = rest {
            out.push(rest[0]);
            rest = tail;
        }
        if digits(&mut rest, out)? == 0 {
            return None;
        }
        regular = true;
    }
    rest.is_empty().then_some(regular)
}

/// Copies digits, without the underscores between them. Returns how many.
fn digits(rest: &mut &[u8], out: &mut Vec<u8>) -> Option<usize> {
    let mut count = 0;
    loop {
        match **rest {
            [digit @ b'0'..=b'9', ref tail @ ..] => {
                out.push(digit);
                count += 1;
                *rest = tail;
            }
            [b'_', ref tail @ ..] if count > 0 => {
                if !matches!(tail, [b'0'..=b'9', ..]) {
                    return None;
                }
                *rest = tail;
            }
            _ => return Some(count),
        }
    }
}

/// Writes an integer of base 16, 8 or 2 in base 10, if it has at most 128 bits. The standard library's formatting of
/// such numbers would be linked for this alone, so this is done by hand.
fn radix(token: &[u8], out: &mut Vec<u8>) -> Option<bool> {
    let (negative, text) = match token {
        [b'-', text @ ..] => (true, text),
        [b'+', text @ ..] => (false, text),
        text => (false, text),
    };
    let (base, digits) = match text {
        [b'0', b'x' | b'X', digits @ ..] => (16, digits),
        [b'0', b'o' | b'O', digits @ ..] => (8, digits),
        [b'0', b'b' | b'B', digits @ ..] => (2, digits),
        _ => return None,
    };
    let mut value: Option<u128> = None;
    for &digit in digits.iter().filter(|&&byte| byte != b'_') {
        let digit = char::from(digit).to_digit(base)?;
        value = Some(value.unwrap_or(0).checked_mul(u128::from(base))?.checked_add(u128::from(digit))?);
    }
    let mut value = value?;
    if negative {
        out.push(b'-');
    }
    let from = out.len();
    loop {
        out.push(b'0' + (value % 10) as u8);
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out[from..].reverse();
    Some(true)
}
