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

/// The text `begin`, continued until it is complete: at random at first, and from `length` bytes on with what may close it. `None`
/// if it is not complete after some hundred bytes, or is no text.
///
/// # Errors
/// The engine gives up.
pub(crate) fn continued(
    begin: &str,
    length: usize,
    mut below: impl FnMut(usize) -> usize,
    mut next: impl FnMut(Option<u8>) -> Result<Next, String>,
) -> Result<Option<String>, String> {
    const MOST: usize = 600;
    let mut written: Vec<u8> = Vec::new();
    let mut allowed = next(None)?;
    while written.len() < MOST {
        let closing = written.len() >= length;
        if allowed.end && (closing || allowed.bytes.is_empty() || below(4) == 0) {
            return Ok(String::from_utf8([begin.as_bytes(), &written].concat()).ok());
        }
        let closers: Vec<u8> = CLOSERS.iter().copied().filter(|byte| closing && allowed.bytes.contains(byte)).collect();
        let choose = if closers.is_empty() || below(8) == 0 { &allowed.bytes } else { &closers };
        let Some(&byte) = choose.get(below(choose.len().max(1))) else { return Ok(None) };
        written.push(byte);
        allowed = next(Some(byte))?;
    }
    Ok(None)
}
