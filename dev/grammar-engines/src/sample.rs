//! Continues a text as an engine allows it, byte by byte.

/// What an engine allows next: bytes, and whether the text may end.
pub(crate) struct Next {
    pub(crate) bytes: Vec<u8>,
    pub(crate) end: bool,
}

/// Bytes that bring a text to its end: what closes strings, objects and tags.
const CLOSERS: &[u8] = b"\"'}])>";

/// Continues a text until it is complete: at random at first, and from `length` bytes on with what may close it. `None` if it is
/// not complete after some hundred bytes.
///
/// # Errors
/// The engine gives up.
pub(crate) fn continued(
    length: usize,
    mut below: impl FnMut(usize) -> usize,
    mut next: impl FnMut(Option<u8>) -> Result<Next, String>,
) -> Result<Option<Vec<u8>>, String> {
    const MOST: usize = 600;
    let mut written: Vec<u8> = Vec::new();
    let mut allowed = next(None)?;
    while written.len() < MOST {
        let closing = written.len() >= length;
        if allowed.end && (closing || allowed.bytes.is_empty() || below(4) == 0) {
            return Ok(Some(written));
        }
        let closers: Vec<u8> = CLOSERS.iter().copied().filter(|byte| closing && allowed.bytes.contains(byte)).collect();
        let choose = if closers.is_empty() || below(8) == 0 { &allowed.bytes } else { &closers };
        let Some(&byte) = choose.get(below(choose.len().max(1))) else { return Ok(None) };
        written.push(byte);
        allowed = next(Some(byte))?;
    }
    Ok(None)
}
