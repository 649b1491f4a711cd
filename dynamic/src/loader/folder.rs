//! The specs of a folder, as people commit them: each with its overlay next to it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Input, LoadError, Loaded, Loader};

/// Every spec of a folder, in the order of the file names. If there is an overlay next to a spec, it is applied; what is known of
/// supported models is not used.
///
/// ```
/// let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../generated/specs");
/// let specs = unjinja_dynamic::specs_in(folder)?;
/// let corrected = specs.iter().filter(|(_, loaded)| !loaded.corrections.is_empty());
/// assert!(corrected.count() > 0);
/// # Ok::<(), unjinja_dynamic::LoadError>(())
/// ```
///
/// # Errors
/// Unreadable files and invalid specs, all at once.
pub fn specs_in(folder: impl AsRef<Path>) -> Result<Vec<(PathBuf, Loaded)>, LoadError> {
    let folder = folder.as_ref();
    let failed = |error: io::Error| LoadError::File { path: folder.to_owned(), error: Arc::new(error) };
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".toml") && !name.ends_with(".overlay.toml") {
            paths.push(path);
        }
    }
    paths.sort_unstable();
    let loader = Loader::new().without_known_formats();
    let (mut specs, mut errors) = (Vec::new(), Vec::new());
    for path in paths {
        match loader.load(Input::spec(&path)) {
            Ok(loaded) => specs.push((path, loaded)),
            Err(error) => errors.push(error),
        }
    }
    match errors.len() {
        0 => Ok(specs),
        1 => Err(errors.remove(0)),
        _ => Err(LoadError::Several(errors)),
    }
}
