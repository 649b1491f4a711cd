//! Continues a text as an engine allows it, byte by byte.

use crate::Vocabulary;

/// What an engine allows next: bytes, and whether the text may end.
pub(crate) struct Next {
    pub(crate) bytes: Vec<u8>,
    pub(crate) end: bool,
}

impl Next {
    /// What a mask allows: a question about the number of each token.
    pub(crate) fn new(allows: impl Fn(u32) -> bool) -> Self {
        // Without NUL in free text, about which the engines differ and which no model writes.
        Self { bytes: (1..u8::MAX).filter(|byte| allows(u32::from(*byte))).collect(), end: allows(Vocabulary::END) }
    }
}

/// Bytes that bring a text to its end: what closes strings, objects and tags.
const CLOSERS: &[u8] = b"\"'}])>";

/// The text `begin`, continued until it is complete: at random at first, and from `length` bytes on with what may close it: the
/// closers, and the texts in `endings`, which chance never spells. `None` if it is not complete after some hundred bytes.
///
/// # Errors
/// The engine gives up.
pub(crate) fn continued(
    begin: &str,
    length: usize,
    endings: &[String],
    mut below: impl FnMut(usize) -> usize,
    mut next: impl FnMut(Option<u8>) -> Result<Next, String>,
) -> Result<Option<String>, String> {
    const MOST: usize = 600;
    let mut written: Vec<u8> = Vec::new();
    // The start of the character that the last bytes belong to. XGrammar's free text allows bytes that are not UTF-8.
    let mut open = 0;
    // What is left of the ending that is being written.
    let mut ending: &[u8] = &[];
    let mut allowed = next(None)?;
    while written.len() < MOST {
        let closing = written.len() >= length;
        allowed.bytes.retain(|byte| may_follow(written.get(open..).unwrap_or_default(), *byte));
        if allowed.end && open == written.len() && (closing || allowed.bytes.is_empty() || below(4) == 0) {
            return Ok(String::from_utf8([begin.as_bytes(), &written].concat()).ok());
        }
        if closing && ending.is_empty() && below(3) == 0 {
            ending = endings.get(below(endings.len().max(1))).map_or(&[], |ending| ending.as_bytes());
        }
        let byte = match ending.split_first() {
            Some((first, rest)) if allowed.bytes.contains(first) => {
                ending = rest;
                *first
            }
            _ => {
                ending = &[];
                let closes = |byte: &u8| closing && allowed.bytes.contains(byte);
                let closers: Vec<u8> = CLOSERS.iter().copied().filter(closes).collect();
                let choose = if closers.is_empty() || below(8) == 0 { &allowed.bytes } else { &closers };
                let Some(&byte) = choose.get(below(choose.len().max(1))) else { return Ok(None) };
                byte
            }
        };
        written.push(byte);
        if str::from_utf8(written.get(open..).unwrap_or_default()).is_ok() {
            open = written.len();
        }
        allowed = next(Some(byte))?;
    }
    Ok(None)
}

/// Whether a byte continues a character, or begins one.
fn may_follow(begun: &[u8], byte: u8) -> bool {
    match str::from_utf8(&[begun, &[byte]].concat()) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    }
}
