//! Escapes in strings: what they name, and the text of a JSON string.

use super::Progress;
use super::text::{escaped, plain_len, push_char};

/// The hexadecimal digits of an escape such as `\u00e9`, as far as they were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HexDigits {
    left: u8,
    value: u32,
}

impl HexDigits {
    /// Before the first of `count` digits, at most eight.
    pub(crate) const fn of(count: u8) -> Self {
        Self { left: count, value: 0 }
    }

    /// The digits with one more; `None` if the byte is not a digit.
    #[inline]
    pub(crate) fn next(self, byte: u8) -> Option<Self> {
        let digit = char::from(byte).to_digit(16)?;
        Some(Self { left: self.left.saturating_sub(1), value: self.value << 4 | digit })
    }

    #[inline]
    pub(crate) fn value(self) -> Option<u32> {
        (self.left == 0).then_some(self.value)
    }
}

/// Joins the halves of surrogate pairs that `\u` escapes name.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Surrogates {
    high: Option<u16>,
    broken: bool,
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
                self.broken |= waiting.is_some();
                self.high = Some(unit);
                (waiting.map(|_| char::REPLACEMENT_CHARACTER), None)
            }
            _ => {
                let char = char::from_u32(u32::from(unit));
                self.broken |= waiting.is_some() || char.is_none();
                (waiting.map(|_| char::REPLACEMENT_CHARACTER), Some(char.unwrap_or(char::REPLACEMENT_CHARACTER)))
            }
        }
    }

    /// Whether half a pair waits for the other.
    pub(crate) fn waits(&self) -> bool {
        self.high.is_some()
    }

    /// Something else than a `\u` escape follows: half a pair that waits stays alone.
    #[inline]
    pub(crate) fn settle(&mut self, out: &mut Vec<u8>) {
        if self.high.take().is_some() {
            self.broken = true;
            push_char(char::REPLACEMENT_CHARACTER, out);
        }
    }

    /// Whether half a pair was alone.
    pub(crate) fn broken(&self) -> bool {
        self.broken
    }
}

/// Turns one JSON string, quotes included, into its text, and finds its end.
///
/// An unknown escape is kept, half a surrogate pair becomes U+FFFD, and bytes before the opening quote are dropped.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unescaper {
    at: Unescape,
    surrogates: Surrogates,
    malformed: bool,
}

#[derive(Debug, Clone, Copy, Default)]
enum Unescape {
    #[default]
    Before,
    Plain,
    Escape,
    Hex(HexDigits),
    After,
}

impl Unescaper {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Whether the string broke a rule of JSON until here.
    pub(crate) fn malformed(&self) -> bool {
        self.malformed || self.surrogates.broken()
    }

    /// Takes the next bytes of the JSON string and appends their text. `Done(n)`: the string ends after `n` of them.
    pub(crate) fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Progress {
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
                        self.surrogates.settle(out);
                    }
                    out.extend_from_slice(&bytes[taken..taken + plain]);
                    taken += plain;
                    match bytes.get(taken) {
                        None => return Progress::More,
                        Some(b'"') => {
                            self.surrogates.settle(out);
                            self.at = Unescape::After;
                        }
                        Some(b'\\') => self.at = Unescape::Escape,
                        Some(&control) => {
                            self.malformed = true;
                            out.push(control);
                        }
                    }
                }
                Unescape::Escape => self.escape(byte, out),
                Unescape::Hex(digits) => {
                    let Some(digits) = digits.next(byte) else {
                        self.surrogates.settle(out);
                        self.malformed = true;
                        push_char(char::REPLACEMENT_CHARACTER, out);
                        self.at = Unescape::Plain;
                        continue;
                    };
                    self.at = Unescape::Hex(digits);
                    if let Some(unit) = digits.value() {
                        let (alone, char) = self.surrogates.unit(unit as u16);
                        alone.into_iter().chain(char).for_each(|char| push_char(char, out));
                        self.at = Unescape::Plain;
                    }
                }
                Unescape::After => return Progress::Done(taken),
            }
            taken += 1;
        }
        if let Unescape::After = self.at { Progress::Done(taken) } else { Progress::More }
    }

    fn escape(&mut self, byte: u8, out: &mut Vec<u8>) {
        if byte == b'u' {
            self.at = Unescape::Hex(HexDigits::of(4));
            return;
        }
        self.surrogates.settle(out);
        self.at = Unescape::Plain;
        match escaped(byte) {
            Some(named) => out.push(named),
            None => {
                self.malformed = true;
                out.extend_from_slice(&[b'\\', byte]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readers::json::Scanner;
    use crate::readers::json::testkit::{Random, json_samples};

    #[test]
    fn unescapes_as_serde_json_does() {
        for sample in json_samples().into_iter().filter(|sample| sample.starts_with('"')) {
            let expected: String = serde_json::from_str(&sample).unwrap();
            for step in [1, 2, 3, 50] {
                let (mut unescaper, mut out) = (Unescaper::new(), Vec::new());
                sample.as_bytes().chunks(step).for_each(|piece| {
                    unescaper.feed(piece, &mut out);
                });
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
                text.as_bytes().chunks(step).for_each(|piece| {
                    unescaper.feed(piece, &mut out);
                });
                assert_eq!(String::from_utf8(out).unwrap(), expected, "{text} by {step}");
            }
        }
    }

    #[test]
    fn checks_a_string_as_the_scanner_does() {
        let mut random = Random::new(43);
        for _ in 0..20_000 {
            let mut bytes = vec![b'"'];
            for _ in 0..random.below(8) {
                const PARTS: [&str; 9] = ["a", "\\", "\\n", "\\u", "d83d", "\\ude00", "\\u00e9", "\n", "q\""];
                bytes.extend_from_slice(PARTS[random.below(PARTS.len())].as_bytes());
            }
            let (mut scanner, mut unescaper) = (Scanner::new(), Unescaper::new());
            for piece in bytes.chunks(1 + random.below(4)) {
                let progress = scanner.feed(piece);
                assert_eq!(unescaper.feed(piece, &mut Vec::new()), progress);
                assert_eq!(unescaper.malformed(), scanner.malformed(), "{:?}", String::from_utf8_lossy(&bytes));
            }
        }
    }
}
