//! Completes JSON that was cut off, so that it becomes valid.

use super::text::{escape_byte_into, plain_len};
use super::{ARRAY, At, HexDigits, Progress, Scanner, escaped, is_space};

/// Completes the beginning of a JSON value, so that the result is valid JSON. Strings and brackets are closed; an
/// unfinished escape, key or comma is dropped; a key without a value gets `null`; a literal or number is completed. An
/// empty text becomes `{}`.
///
/// The result is valid for any text. In strings, control characters and unknown escapes are escaped, and half surrogate
/// pairs are replaced. At any other error the text ends.
///
/// ```
/// use unjinja_runtime::close_json;
///
/// assert_eq!(close_json(r#"{"city": "Par"#), r#"{"city": "Par"}"#);
/// assert_eq!(close_json(r#"{"days": [1, 2,"#), r#"{"days": [1, 2]}"#);
/// assert_eq!(close_json(r#"{"exact": tr"#), r#"{"exact": true}"#);
/// assert_eq!(close_json(""), "{}");
/// ```
pub fn close(json: &str) -> String {
    let bytes = json.as_bytes();
    let mut closer = Closer { scanner: Scanner::new(), out: Vec::with_capacity(bytes.len() + 8), safe: 0 };
    closer.run(bytes);
    closer.complete();
    // Only whole characters were copied, so there is nothing to replace.
    String::from_utf8(closer.out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

struct Closer {
    scanner: Scanner,
    out: Vec<u8>,
    /// The output up to here is complete but for closing brackets: it ends before the last comma or after the last
    /// opening bracket.
    safe: usize,
}

impl Closer {
    fn run(&mut self, bytes: &[u8]) {
        let mut taken = 0;
        while let Some(&byte) = bytes.get(taken) {
            let before = self.scanner.at;
            let fed = self.scanner.feed(&[byte]);
            if self.scanner.malformed {
                // The text ends before the wrong byte.
                self.scanner.malformed = false;
                self.scanner.at = before;
                return;
            }
            if fed == Progress::Done(0) {
                return;
            }
            if byte == b',' {
                self.safe = self.out.len();
            }
            self.out.push(byte);
            taken += 1;
            match self.scanner.at {
                At::KeyOrClose | At::ValueOrClose if !is_space(byte) => self.safe = self.out.len(),
                At::Text => match self.string(&bytes[taken..]) {
                    Some(contents) => {
                        taken += contents + 1;
                        self.out.push(b'"');
                        self.scanner.end_string();
                    }
                    None => return,
                },
                _ => {}
            }
        }
    }

    /// Copies the contents of a string and corrects them. Returns the offset of the closing quote, if there is one.
    fn string(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        loop {
            let plain = plain_len(&bytes[at..]);
            self.out.extend_from_slice(&bytes[at..at + plain]);
            at += plain;
            match bytes.get(at)? {
                b'"' => return Some(at),
                b'\\' => at += self.escape(&bytes[at..])?,
                &control => {
                    escape_byte_into(control, &mut self.out);
                    at += 1;
                }
            }
        }
    }

    /// Copies one escape, or its correction. Returns how many bytes it took; `None` if the escape is cut off.
    fn escape(&mut self, bytes: &[u8]) -> Option<usize> {
        let taken = match unit(bytes)? {
            _ if escaped(bytes[1]).is_some() => 2,
            None => {
                self.out.extend_from_slice(b"\\\\");
                return Some(1);
            }
            Some(0xd800..=0xdbff) if matches!(unit(&bytes[6..])?, Some(0xdc00..=0xdfff)) => 12,
            // Half a pair.
            Some(0xd800..=0xdfff) => {
                self.out.extend_from_slice("\u{fffd}".as_bytes());
                return Some(6);
            }
            Some(_) => 6,
        };
        self.out.extend_from_slice(&bytes[..taken]);
        Some(taken)
    }

    fn complete(&mut self) {
        match self.scanner.at {
            At::Before => {
                self.out.clear();
                self.out.extend_from_slice(b"{}");
            }
            At::Key => self.out.truncate(self.safe),
            At::Value if self.scanner.nesting.last() == Some(ARRAY) => self.out.truncate(self.safe),
            At::Value => self.out.extend_from_slice(b"null"),
            At::Colon => self.out.extend_from_slice(b": null"),
            At::Text if self.scanner.in_key => self.out.truncate(self.safe),
            At::Text => self.out.push(b'"'),
            At::Number(number) if !number.is_whole() => self.out.push(b'0'),
            At::Word(word, read) => {
                self.out.extend_from_slice(word.json().as_bytes().get(usize::from(read)..).unwrap_or_default());
            }
            _ => {}
        }
        while let Some(kind) = self.scanner.nesting.pop() {
            self.out.push(if kind == ARRAY { b']' } else { b'}' });
        }
    }
}

/// The code unit of the `\uXXXX` at the start of the bytes: `None` if it is cut off, `Some(None)` if they are something else.
fn unit(bytes: &[u8]) -> Option<Option<u32>> {
    if *bytes.first()? != b'\\' || *bytes.get(1)? != b'u' {
        return Some(None);
    }
    let mut digits = HexDigits::of(4);
    for at in 2..6 {
        let Some(next) = digits.next(*bytes.get(at)?) else { return Some(None) };
        digits = next;
    }
    Some(digits.value())
}
