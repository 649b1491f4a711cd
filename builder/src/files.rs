//! Reads and writes text files, specs and overlays; every error names its file.

use std::io;
use std::path::Path;
use std::sync::Arc;

use unjinja_spec::{FormatSpec, Overlay};

use crate::error::{BuildError, FileAction};

pub(crate) fn read(path: &Path) -> Result<String, BuildError> {
    std::fs::read_to_string(path).map_err(|error| failed(path, FileAction::Read, error))
}

/// Writes a file, and makes its folder if there is none.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), BuildError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(path, text));
    written.map_err(|error| failed(path, FileAction::Write, error))
}

pub(crate) fn failed(path: &Path, action: FileAction, error: io::Error) -> BuildError {
    BuildError::File { path: path.to_owned(), action, error: Arc::new(error) }
}

pub(crate) fn read_spec(path: &Path) -> Result<FormatSpec, BuildError> {
    FormatSpec::from_toml(&read(path)?, &path.display().to_string())
        .map_err(|error| BuildError::Spec { path: path.to_owned(), error })
}

/// The spec with the corrections of an overlay file merged over it.
pub(crate) fn apply_overlay(spec: &FormatSpec, path: &Path) -> Result<FormatSpec, BuildError> {
    Overlay::from_toml(&read(path)?, &path.display().to_string())
        .and_then(|overlay| overlay.apply(spec))
        .map_err(|error| BuildError::Spec { path: path.to_owned(), error })
}
