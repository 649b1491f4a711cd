//! Python's words and numbers, translated to JSON.

use crate::readers::json::escape_bytes_into;
use crate::readers::number::write_python_number;
use crate::readers::words::Word;

/// Writes the JSON of a token. Returns `false` if JSON has no such value: then `null` was written for a number that is
/// not finite, else a string.
pub(super) fn write(token: &[u8], out: &mut Vec<u8>) -> bool {
    if let Some(word) = Word::of(token) {
        out.extend_from_slice(word.json().as_bytes());
        return true;
    }
    let from = out.len();
    if let Some(regular) = write_python_number(token, out) {
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
    let begins_word = Word::begun(token).is_some_and(|(_, missing)| missing > 0);
    let begins_number = token.first().is_some_and(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.'));
    begins_word || (begins_number && !write(token, &mut Vec::new()))
}

/// Whether a number or word continues with this byte, where a name may follow it without a separator. A name that begins with
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
    Word::of(token).is_none()
}

/// Whether the bytes from `from` on show that JSON has no value for the token, however it continues.
pub(super) fn is_lost(token: &[u8], from: usize) -> bool {
    // The first bytes may be the prefix of a string, such as `rb`.
    let ([first, ..], Some(rest)) = (token, token.get(from.max(2)..)) else { return false };
    if first.is_ascii_digit() || matches!(first, b'+' | b'-' | b'.') {
        return !rest.iter().all(|byte| byte.is_ascii_hexdigit() || b"+-._xXoO".contains(byte));
    }
    !rest.is_empty() && Word::begun(token).is_none()
}

/// Writes the part of the JSON that is certain for a token that was cut off. It can be continued or closed.
pub(super) fn write_cut(token: &[u8], out: &mut Vec<u8>) {
    if let Some(json) = Word::begun_json(token) {
        out.extend_from_slice(json);
    } else {
        let from = out.len();
        // A number is written as far as it is valid.
        if !(write_python_number(token, out) == Some(true) || matches!(token, [b'-', ..] | [b'0'..=b'9', ..])) {
            out.truncate(from);
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
