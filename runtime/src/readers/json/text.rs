//! Converts text to the contents of JSON strings, and searches such contents fast.

use crate::byte_set::{HIGH, special_bits};

/// The byte that the letter of an escape names, such as `n`. `None` if JSON has no such escape, or if it is `u`.
#[inline]
pub(crate) const fn escaped(letter: u8) -> Option<u8> {
    Some(match letter {
        b'"' | b'\\' | b'/' => letter,
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 0x08,
        b'f' => 0x0c,
        _ => return None,
    })
}

/// How many leading bytes a JSON string contains unchanged: up to the first quote, backslash or control character.
pub(crate) fn plain_len(bytes: &[u8]) -> usize {
    next_special(bytes, 0)
}

/// The first bytes of a text are searched eight at a time, this many; then the search continues in larger blocks. Short
/// texts gain from it.
const NEAR: usize = 64;

/// How far ahead the search in large blocks looks at a time. A limit is needed because the text before the hit is
/// searched a second time, for control characters.
const WINDOW: usize = 1024;

/// ASCII text of at most this many bytes is escaped byte by byte.
const SHORT: usize = 8;

/// How many bytes are compared at once.
const BLOCK: usize = 128;

/// The offset of the first quote, backslash or control character at or after `from`; else the end.
#[inline]
fn next_special(bytes: &[u8], from: usize) -> usize {
    next_of(bytes, from, b'"', |window| memchr::memchr2(b'"', b'\\', window))
}

/// The same, and `other` counts as well.
#[inline]
pub(crate) fn next_special_or(bytes: &[u8], from: usize, other: u8) -> usize {
    next_of(bytes, from, other, |window| memchr::memchr3(b'"', b'\\', other, window))
}

#[inline(always)]
fn next_of(bytes: &[u8], from: usize, other: u8, search: impl Fn(&[u8]) -> Option<usize>) -> usize {
    let mut at = from;
    let mut near = from + NEAR;
    while let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let special = special_bits(u64::from_le_bytes(*word), other);
        if special != 0 {
            return at + special.trailing_zeros() as usize / 8;
        }
        at += 8;
        if at >= near {
            at = next_further(bytes, at, &search);
            near = usize::MAX;
        }
    }
    while at < bytes.len() && is_plain(bytes[at]) && bytes[at] != other {
        at += 1;
    }
    at
}

/// The same after the first [`NEAR`] bytes. `search` finds special bytes other than control characters.
#[inline(never)]
fn next_further(bytes: &[u8], from: usize, search: &impl Fn(&[u8]) -> Option<usize>) -> usize {
    let mut at = from;
    while at < bytes.len() {
        let end = bytes.len().min(at + WINDOW);
        let hit = search(&bytes[at..end]);
        let to = hit.map_or(end, |hit| at + hit);
        let (rest, blocks) = bytes[at..to].as_rchunks::<BLOCK>();
        let (_, less) = rest.as_rchunks::<NEAR>();
        // The rest is shorter than a block. It is compared together with bytes before it.
        let first = bytes[..at + rest.len() % NEAR].last_chunk::<NEAR>();
        if first.is_some_and(has_control) || less.iter().any(has_control) || blocks.iter().any(has_control) {
            let control = bytes[at..to].iter().position(|&byte| byte < 0x20);
            return control.map_or(to, |control| at + control);
        }
        if hit.is_some() {
            return to;
        }
        at = to;
    }
    at
}

fn has_control<const N: usize>(block: &[u8; N]) -> bool {
    any(block, |byte| byte < 0x20)
}

/// Whether a block contains such a byte. There is no early exit: the compiler turns such a loop into vector
/// instructions.
#[inline]
fn any<const N: usize>(block: &[u8; N], is: impl Fn(u8) -> bool) -> bool {
    block.iter().fold(0, |found, &byte| found | u8::from(is(byte))) != 0
}

/// How many leading bytes are printable ASCII characters that a JSON string contains unchanged.
#[inline(never)]
pub(crate) fn printable_len(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*word);
        let odd = special_bits(word, 0x7f) | (word & HIGH);
        if odd != 0 {
            return at + odd.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|&&byte| is_plain(byte) && matches!(byte, b' '..=b'~')).count()
}

/// Follows a JSON string from `from` on. Returns the offset after its closing quote and `true`, or the offset of the
/// first byte that needs a closer look and `false`: a control character, or the backslash of an escape that is cut off,
/// unknown, or names a code unit.
#[inline]
pub(crate) fn string_end(bytes: &[u8], from: usize) -> (usize, bool) {
    let mut at = from;
    loop {
        at = next_special(bytes, at);
        match bytes.get(at) {
            Some(b'"') => return (at + 1, true),
            Some(b'\\') => match bytes.get(at + 1) {
                Some(&letter) if escaped(letter).is_some() => at += 2,
                _ => return (at, false),
            },
            _ => return (at, false),
        }
    }
}

/// The length of the leading whole blocks without a special byte.
#[inline(never)]
fn plain_blocks(bytes: &[u8]) -> usize {
    let (blocks, _) = bytes.as_chunks::<NEAR>();
    let special = |block: &[u8; NEAR]| any(block, |byte| byte < 0x20 || byte == b'"' || byte == b'\\');
    NEAR * blocks.iter().position(special).unwrap_or(blocks.len())
}

/// Whether a JSON string contains this byte unchanged.
#[inline]
pub(crate) fn is_plain(byte: u8) -> bool {
    byte >= b' ' && byte != b'"' && byte != b'\\'
}

/// Writes text as the contents of a JSON string, without the quotes around it. Quotes, backslashes and control
/// characters are escaped as `serde_json` does.
pub(crate) fn escape_into(text: &str, out: &mut String) {
    out.reserve(room(text.len()));
    let bytes = text.as_bytes();
    if bytes.len() <= SHORT && bytes.is_ascii() {
        bytes.iter().for_each(|&byte| escape_ascii_into(byte, out));
        return;
    }
    let mut from = 0;
    loop {
        let at = next_special(bytes, from);
        out.push_str(&text[from..at]);
        let Some(&byte) = bytes.get(at) else { return };
        escape_ascii_into(byte, out);
        from = at + 1;
    }
}

/// Writes an ASCII byte as the contents of a JSON string.
#[inline]
pub(crate) fn escape_ascii_into(byte: u8, out: &mut String) {
    match is_plain(byte) {
        true => out.push(char::from(byte & 0x7f)),
        false => out.push_str(escape(byte).unwrap_or_default()),
    }
}

/// The room to reserve for a text of this length with its escapes. It is generous, so that a buffer that is used again
/// and again grows once and not with every longer piece.
pub(crate) fn room(len: usize) -> usize {
    (len + len / 8).max(1024)
}

/// Writes bytes as the contents of a JSON string. Bytes that are not UTF-8 are written unchanged.
pub(crate) fn escape_bytes_into(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(room(bytes.len()));
    let (mut at, mut near) = (0, NEAR);
    while let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        // All eight bytes are written, and those from the special byte on are removed again. That is faster than a copy
        // of variable length.
        out.extend_from_slice(word);
        let special = special_bits(u64::from_le_bytes(*word), b'"');
        if special != 0 {
            let plain = special.trailing_zeros() as usize / 8;
            out.truncate(out.len() - word.len() + plain);
            escape_byte_into(word[plain], out);
            at += plain + 1;
            near = at + NEAR;
            continue;
        }
        at += word.len();
        if at >= near {
            let blocks = plain_blocks(&bytes[at..]);
            out.extend_from_slice(&bytes[at..at + blocks]);
            at += blocks;
            near = usize::MAX;
        }
    }
    let rest = &bytes[at..];
    if rest.iter().all(|&byte| is_plain(byte)) {
        return out.extend_from_slice(rest);
    }
    rest.iter().for_each(|&byte| escape_byte_into(byte, out));
}

/// Writes one ASCII byte as the contents of a JSON string.
#[inline]
pub(crate) fn escape_byte_into(byte: u8, out: &mut Vec<u8>) {
    match escape(byte) {
        Some(escape) => out.extend_from_slice(escape.as_bytes()),
        None => out.push(byte),
    }
}

/// The escape of a byte; `None` if the byte needs none.
#[inline]
pub(crate) const fn escape(byte: u8) -> Option<&'static str> {
    const CONTROLS: &str = "\\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007\\u0008\\u0009\\u000a\\u000b\\u000c\\u000d\\u000e\\u000f\
                            \\u0010\\u0011\\u0012\\u0013\\u0014\\u0015\\u0016\\u0017\\u0018\\u0019\\u001a\\u001b\\u001c\\u001d\\u001e\\u001f";
    Some(match byte {
        b'"' => "\\\"",
        b'\\' => "\\\\",
        b'\n' => "\\n",
        b'\r' => "\\r",
        b'\t' => "\\t",
        0x08 => "\\b",
        0x0c => "\\f",
        0x00..0x20 => CONTROLS.split_at(6 * byte as usize).1.split_at(6).0,
        _ => return None,
    })
}

#[inline(never)]
pub(crate) fn push_char(char: char, out: &mut Vec<u8>) {
    out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readers::json::testkit::Random;

    #[test]
    fn escapes_as_serde_json_does() {
        let mut random = Random::new(29);
        for _ in 0..20_000 {
            let text = String::from_utf8_lossy(&random.bytes(120)).into_owned();
            let mut out = String::from('"');
            escape_into(&text, &mut out);
            out.push('"');
            assert_eq!(out, serde_json::to_string(&text).unwrap());
            let mut bytes = Vec::new();
            escape_bytes_into(text.as_bytes(), &mut bytes);
            assert_eq!(bytes, out.as_bytes()[1..out.len() - 1]);
        }
        let controls: String = (0..=0x7f).map(char::from).collect();
        let mut out = String::new();
        escape_into(&controls, &mut out);
        assert_eq!(format!("\"{out}\""), serde_json::to_string(&controls).unwrap());
    }

    #[test]
    fn finds_the_special_byte_wherever_it_stands() {
        for len in (0..100).chain(500..520).chain([WINDOW + NEAR - 1, 2 * WINDOW + 3 * NEAR + 5]) {
            for at in 0..=len {
                let mut bytes = vec![b'x'; len];
                if at < len {
                    bytes[at] = b"\"\\\n\x1f\0"[at % 5];
                    bytes[at + 1..].fill(b"\"\\\n\x1f\0"[at / 5 % 5]);
                }
                assert_eq!(plain_len(&bytes), at);
                assert_eq!(next_special_or(&bytes, at / 2, b'\''), at);
            }
            let mut other = vec![b'x'; len];
            other.iter_mut().skip(len / 2).for_each(|byte| *byte = b'\'');
            assert_eq!((plain_len(&other), next_special_or(&other, 0, b'\'')), (len, len / 2));
        }
    }
}
