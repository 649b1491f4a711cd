//! Where the corpus is. It is no part of the project: it is looked for at `$UNJINJA_CORPUS`, else beside the project,
//! and is required in CI.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The corpus, or `None` where it may be absent and is. `root` is the root of the project.
pub fn corpus(root: &Path) -> Result<Option<PathBuf>, Box<dyn Error>> {
    let path = std::env::var_os("UNJINJA_CORPUS").map_or_else(|| root.join("../shared/corpus"), PathBuf::from);
    if path.join("conversations.json").is_file() {
        return Ok(Some(path));
    }
    if std::env::var("CI").is_ok_and(|ci| ci == "true") {
        return Err(format!("no corpus at {}: CI needs it, set UNJINJA_CORPUS", path.display()).into());
    }
    // Straight to the terminal: what a passing test prints is not shown.
    writeln!(std::io::stderr(), "SKIPPED: no corpus at {} (set UNJINJA_CORPUS to its folder)", path.display())?;
    Ok(None)
}
