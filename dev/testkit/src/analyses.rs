//! A folder in which tests keep the analyses of templates: each test is a process of its own, and many ask for the same templates.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::{Failure, root};

/// The packages whose code decides what an analysis finds.
const PACKAGES: [&str; 8] = ["analyzer", "builder", "codegen", "dynamic", "render", "runtime", "source", "spec"];

/// The folder, for `Loader::cache`. It is below cargo's target folder, and another one whenever the code of an analysis has changed;
/// then what was kept is removed.
///
/// # Errors
///
/// The code cannot be read.
pub fn analyses() -> Result<&'static Path, Failure> {
    static FOLDER: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
        let mut code = BTreeMap::new();
        let read = PACKAGES.iter().try_for_each(|package| files(&root().join(package).join("src"), &mut code));
        read.map_err(|error| error.to_string())?;
        let mut hash = DefaultHasher::new();
        code.hash(&mut hash);
        let all = root().join(target).join("analysed");
        let folder = all.join(format!("{:016x}", hash.finish()));
        if !folder.exists() {
            // What older code found. Another test may remove it at the same time.
            let old = fs::read_dir(all).into_iter().flatten().flatten().map(|entry| entry.path());
            old.filter(|path| *path != folder).for_each(|path| drop(fs::remove_dir_all(path)));
        }
        Ok(folder)
    });
    Ok(FOLDER.as_deref().map_err(String::clone)?)
}

/// Reads all files below a folder.
fn files(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) -> Result<(), Failure> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files(&path, found)?;
        } else {
            found.insert(path.clone(), fs::read(path)?);
        }
    }
    Ok(())
}
