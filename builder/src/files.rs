//! Reads and writes text files; every error names its file.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::error::{BuildError, FileAction};

pub(crate) fn read(path: &Path) -> Result<String, BuildError> {
    std::fs::read_to_string(path).map_err(|error| failed(path, FileAction::Read, error))
}

/// Writes a file, and makes its folder if that is missing.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), BuildError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(path, text));
    written.map_err(|error| failed(path, FileAction::Write, error))
}

pub(crate) fn failed(path: &Path, action: FileAction, error: io::Error) -> BuildError {
    BuildError::File { path: path.to_owned(), action, error: Arc::new(error) }
}
