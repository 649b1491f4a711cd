//! Reads a file as text, up to a limit that no template or configuration reaches.

use std::io::Read;
use std::path::Path;

use crate::error::SourceError;

/// Bytes. `tokenizer_config.json` files have up to a few megabytes.
const LIMIT: u64 = 32 << 20;

pub(crate) fn read(path: &Path, input: impl Read) -> Result<String, SourceError> {
    let mut bytes = Vec::new();
    input.take(LIMIT + 1).read_to_end(&mut bytes).map_err(|error| SourceError::unreadable(path, error))?;
    if bytes.len() as u64 > LIMIT {
        return Err(SourceError::invalid(path, format!("the file is larger than {LIMIT} bytes: it is not a template")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        SourceError::invalid(path, format!("the file is not UTF-8: bad byte at offset {at}"))
    })
}
