//! Reads and writes text files, specs and overlays; every error names its file.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use unjinja_spec::{FormatSpec, Overlay};

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

pub(crate) fn read_spec(path: &Path) -> Result<FormatSpec, BuildError> {
    FormatSpec::from_toml(&read(path)?, &path.display().to_string())
        .map_err(|error| BuildError::Spec { path: path.to_owned(), error })
}

/// Where corrections to a spec are looked for, whether the file exists or not.
pub(crate) fn overlay_of_spec(path: &Path) -> PathBuf {
    path.with_extension("overlay.toml")
}

/// The spec with the corrections of an overlay file merged over it, if there is one.
pub(crate) fn corrected(spec: FormatSpec, overlay: Option<&Path>) -> Result<FormatSpec, BuildError> {
    let Some(path) = overlay else { return Ok(spec) };
    Overlay::from_toml(&read(path)?, &path.display().to_string())
        .and_then(|overlay| overlay.apply(&spec))
        .map_err(|error| BuildError::Spec { path: path.to_owned(), error })
}
