//! How much of a JSON object that is being written stays as it is, whatever follows.

use super::text::plain_len;
use super::{At, JsonKind, OBJECT, Progress, Scanner, is_space};

/// Follows a JSON object that arrives in pieces, for a stream in which nothing can be taken back: finds how much of the text
/// [`close_json`](super::close) keeps if the text is closed there.
///
/// Numbers and words are kept once they are complete: what looks like one may be something else.
///
/// ```
/// use unjinja_runtime::literals::StablePrefix;
///
/// let mut prefix = StablePrefix::new(100);
/// prefix.push(r#"{"days": 1"#);
/// assert_eq!(prefix.kept(), r#"{"days": "#.len());
/// prefix.push(", ");
/// assert_eq!(prefix.kept(), r#"{"days": 1"#.len());
/// prefix.push("oops");
/// assert!(prefix.is_over());
/// ```
#[derive(Clone, Debug)]
pub struct StablePrefix {
    scanner: Scanner,
    /// The maximum number of open arrays and objects.
    deepest: usize,
    read: usize,
    kept: usize,
    is_over: bool,
}

impl StablePrefix {
    /// Before the object. Text that is nested deeper than this counts as malformed.
    pub fn new(deepest: usize) -> Self {
        Self { scanner: Scanner::new(), deepest, read: 0, kept: 0, is_over: false }
    }

    /// The number of bytes that stay.
    pub fn kept(&self) -> usize {
        self.kept
    }

    /// Whether the text is not a JSON object from some place on, so that no more bytes will stay.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Reads the next piece.
    pub fn push(&mut self, piece: &str) {
        let bytes = piece.as_bytes();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if self.is_over {
                return;
            }
            let plain = if self.scanner.in_plain_string() { plain_len(&bytes[at..]) } else { 0 };
            if plain > 0 {
                self.advance(plain, bytes[at + plain - 1]);
                at += plain;
                continue;
            }
            let before = self.scanner.at;
            let is_after_end = self.scanner.feed(&[byte]) == Progress::Done(0) && !is_space(byte);
            let is_object = self.scanner.kind().is_none_or(|kind| kind == JsonKind::Object);
            let is_deep = self.scanner.depth() > self.deepest;
            self.is_over |= self.scanner.malformed() || is_after_end || !is_object || is_deep;
            if self.is_over {
                return;
            }
            if matches!(before, At::Number(_)) && !matches!(self.scanner.at, At::Number(_)) {
                self.kept = self.read;
            }
            self.advance(1, byte);
            at += 1;
        }
    }

    /// Counts bytes that were read, the last of which is `byte`.
    fn advance(&mut self, count: usize, byte: u8) {
        self.read += count;
        if self.stays(byte) {
            self.kept = self.read;
        }
    }

    /// Whether the text up to and with the byte that was just read stays.
    fn stays(&self, byte: u8) -> bool {
        match self.scanner.at {
            At::After | At::Colon => true,
            // After a comma the value may be missing, and then the comma goes.
            At::Value => self.scanner.nesting.last() == Some(OBJECT),
            At::KeyOrClose | At::ValueOrClose => !is_space(byte),
            At::Text => !self.scanner.in_key && !self.scanner.high,
            At::Word(word, read) => usize::from(read) == word.json().len(),
            // A name may be incomplete, and something may follow the last bracket.
            _ => false,
        }
    }
}

/// A JSON object that arrives in pieces and is passed on as far as it stays, whatever follows.
///
/// ```
/// use unjinja_runtime::literals::StableText;
///
/// let mut text = StableText::new(100);
/// assert_eq!(text.push(r#"{"city": "Par"#), r#"{"city": "Par"#);
/// assert_eq!(text.push(r#"is", "da"#), r#"is""#);
/// assert_eq!(text.finish(unjinja_runtime::close_json), "}");
/// ```
#[derive(Clone, Debug)]
pub struct StableText {
    text: String,
    /// How much of it was passed on.
    sent: usize,
    prefix: StablePrefix,
}

impl StableText {
    /// Before the object. Text that is nested deeper than this counts as malformed.
    pub fn new(deepest: usize) -> Self {
        Self { text: String::new(), sent: 0, prefix: StablePrefix::new(deepest) }
    }

    /// Takes the next piece and returns what can be passed on.
    pub fn push(&mut self, piece: &str) -> &str {
        self.text.push_str(piece);
        self.prefix.push(piece);
        let ready = self.sent..self.prefix.kept();
        self.sent = ready.end;
        self.text.get(ready).unwrap_or_default()
    }

    /// The text is over. `whole` makes of it what is to be passed on in all, and must keep what stays. Returns what is missing.
    pub fn finish(self, whole: impl FnOnce(&str) -> String) -> String {
        let whole = whole(&self.text);
        let sent = self.text.get(..self.sent).unwrap_or_default();
        whole.strip_prefix(sent).unwrap_or_default().to_owned()
    }
}
