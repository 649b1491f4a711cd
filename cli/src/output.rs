//! Writes results for programs: JSON documents, lines of JSON, and arguments of commands that can be copied.

use std::io::Write;
use std::path::Path;

use serde::Serialize;

use crate::failure::Done;
use crate::visible;

/// Prints one JSON document.
pub(crate) fn json(value: &impl Serialize) -> Done {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, value).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

/// Prints one line of JSON and flushes it, because somebody may be reading along.
pub(crate) fn json_line(value: &impl Serialize) -> Done {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, value).map_err(std::io::Error::from)?;
    out.write_all(b"\n")?;
    out.flush()?;
    Ok(())
}

/// A path, quoted for a shell.
pub(crate) fn argument(path: &Path) -> String {
    let text = path.to_string_lossy();
    shlex::try_quote(&text).map_or_else(|_| visible::line(&text), std::borrow::Cow::into_owned)
}
