//! Converts text to the contents of JSON strings and back, and searches such contents fast.

/// How many leading bytes a JSON string contains unchanged: up to the first quote, backslash or control character.
pub(crate) fn plain_len(bytes: &[u8]) -> usize {
    next_special(bytes, 0)
}

/// The first bytes of a text are searched eight at a time, this many; then the search goes on in larger blocks. Short
/// texts gain from it.
const NEAR: usize = 64;

/// How far ahead the search in large blocks looks at a time. A limit is needed because the text before the hit is
/// searched a second time, for control characters.
const WINDOW: usize = 1024;

const ONES: u64 = u64::from_le_bytes([1; 8]);

const HIGH: u64 = ONES << 7;

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

/// The same behind the first [`NEAR`] bytes. `search` finds special bytes other than control characters.
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

/// Marks the special bytes of a word by their high bits. The lowest mark is exact; marks above it may be wrong.
#[inline(always)]
fn special_bits(word: u64, other: u8) -> u64 {
    // If a byte is below the subtracted number, the subtraction borrows into its high bit.
    let below = |word: u64, than: u64| word.wrapping_sub(ONES * than) & !word;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (below(word, 0x20) | equal(b'"') | equal(b'\\') | equal(other)) & HIGH
}

/// Follows a JSON string from `from` on. Returns the offset behind its closing quote and `true`, or the offset of the
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
                Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => at += 2,
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
    LETTERS[usize::from(byte)] == 0
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

/// Writes an ASCII byte as the contents of a JSON string.
#[inline]
pub(crate) fn escape_ascii_into(byte: u8, out: &mut String) {
    let byte = byte & 0x7f;
    match LETTERS[usize::from(byte)] {
        0 => out.push(char::from(byte)),
        b'u' => out.push_str(escape(byte).unwrap_or_default()),
        letter => {
            out.push('\\');
            out.push(char::from(letter & 0x7f));
        }
    }
}

/// The letter of a byte's escape; 0 if the byte needs none.
static LETTERS: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        if let Some(escape) = escape(byte as u8) {
            table[byte] = escape.as_bytes()[1];
        }
        byte += 1;
    }
    table
};

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
const fn escape(byte: u8) -> Option<&'static str> {
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

/// Writes a character in UTF-8.
#[inline(never)]
pub(crate) fn push_char(char: char, out: &mut Vec<u8>) {
    out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Joins the halves of surrogate pairs that `\u` escapes name.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Surrogates {
    high: Option<u16>,
}

impl Surrogates {
    /// Takes the next code unit. Returns the characters that are now certain. Half a pair alone becomes U+FFFD.
    pub(crate) fn unit(&mut self, unit: u16) -> (Option<char>, Option<char>) {
        let waiting = self.high.take();
        match (waiting, unit) {
            (Some(high), 0xdc00..=0xdfff) => {
                let point = 0x10000 + ((u32::from(high) & 0x3ff) << 10 | u32::from(unit) & 0x3ff);
                (None, char::from_u32(point))
            }
            (_, 0xd800..=0xdbff) => {
                self.high = Some(unit);
                (waiting.map(|_| char::REPLACEMENT_CHARACTER), None)
            }
            _ => {
                let char = char::from_u32(u32::from(unit)).unwrap_or(char::REPLACEMENT_CHARACTER);
                (waiting.map(|_| char::REPLACEMENT_CHARACTER), Some(char))
            }
        }
    }

    /// Whether half a pair waits for the other.
    pub(crate) fn waits(&self) -> bool {
        self.high.is_some()
    }

    /// Something else than a `\u` escape follows, so half a pair that waits stays alone. Returns its character.
    pub(crate) fn settle(&mut self) -> Option<char> {
        self.high.take().map(|_| char::REPLACEMENT_CHARACTER)
    }
}

/// Turns one JSON string, quotes included, into its text.
///
/// It checks nothing; a [`Scanner`](super::Scanner) beside it does. An unknown escape is kept, half a surrogate pair
/// becomes U+FFFD, and bytes outside the quotes are dropped.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unescaper {
    at: Unescape,
    surrogates: Surrogates,
}

#[derive(Debug, Clone, Copy, Default)]
enum Unescape {
    #[default]
    Before,
    Plain,
    Escape,
    Hex {
        left: u8,
        unit: u16,
    },
    After,
}

impl Unescaper {
    /// An unescaper before its string.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes of the JSON string and appends their text.
    pub(crate) fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let mut taken = 0;
        while let Some(&byte) = bytes.get(taken) {
            match self.at {
                Unescape::Before => {
                    if byte == b'"' {
                        self.at = Unescape::Plain;
                    }
                }
                Unescape::Plain => {
                    let plain = plain_len(&bytes[taken..]);
                    if byte != b'\\' {
                        self.settle(out);
                    }
                    out.extend_from_slice(&bytes[taken..taken + plain]);
                    taken += plain;
                    match bytes.get(taken) {
                        None => return,
                        Some(b'"') => {
                            self.settle(out);
                            self.at = Unescape::After;
                        }
                        Some(b'\\') => self.at = Unescape::Escape,
                        Some(&control) => out.push(control),
                    }
                }
                Unescape::Escape => self.escape(byte, out),
                Unescape::Hex { left, unit } => {
                    let Some(digit) = char::from(byte).to_digit(16) else {
                        self.settle(out);
                        push_char(char::REPLACEMENT_CHARACTER, out);
                        self.at = Unescape::Plain;
                        continue;
                    };
                    let unit = unit << 4 | digit as u16;
                    if left > 1 {
                        self.at = Unescape::Hex { left: left - 1, unit };
                    } else {
                        let (alone, char) = self.surrogates.unit(unit);
                        if let Some(alone) = alone {
                            push_char(alone, out);
                        }
                        if let Some(char) = char {
                            push_char(char, out);
                        }
                        self.at = Unescape::Plain;
                    }
                }
                Unescape::After => return,
            }
            taken += 1;
        }
    }

    fn escape(&mut self, byte: u8, out: &mut Vec<u8>) {
        if byte == b'u' {
            self.at = Unescape::Hex { left: 4, unit: 0 };
            return;
        }
        self.settle(out);
        self.at = Unescape::Plain;
        match byte {
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            b'r' => out.push(b'\r'),
            b'b' => out.push(0x08),
            b'f' => out.push(0x0c),
            b'"' | b'\\' | b'/' => out.push(byte),
            _ => out.extend_from_slice(&[b'\\', byte]),
        }
    }

    fn settle(&mut self, out: &mut Vec<u8>) {
        if let Some(char) = self.surrogates.settle() {
            push_char(char, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readers::json::testkit::{Random, json_samples};

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

    #[test]
    fn unescapes_as_serde_json_does() {
        for sample in json_samples().into_iter().filter(|sample| sample.starts_with('"')) {
            let expected: String = serde_json::from_str(&sample).unwrap();
            for step in [1, 2, 3, 50] {
                let (mut unescaper, mut out) = (Unescaper::new(), Vec::new());
                sample.as_bytes().chunks(step).for_each(|piece| unescaper.feed(piece, &mut out));
                assert_eq!(String::from_utf8(out).unwrap(), expected, "{sample} by {step}");
            }
        }
        for (text, expected) in [
            (r#""\ud83d x""#, "\u{fffd} x"),
            (r#""\ude00""#, "\u{fffd}"),
            (r#""\ud83d\n""#, "\u{fffd}\n"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
            (r#""\u12g \q""#, "\u{fffd}g \\q"),
            (r#""x"y"#, "x"),
        ] {
            for step in [1, 2, 3, 50] {
                let (mut unescaper, mut out) = (Unescaper::new(), Vec::new());
                text.as_bytes().chunks(step).for_each(|piece| unescaper.feed(piece, &mut out));
                assert_eq!(String::from_utf8(out).unwrap(), expected, "{text} by {step}");
            }
        }
    }
}
