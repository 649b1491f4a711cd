//! Committed expectations: a test compares what it found with a file of the repository. Where the environment variable
//! `UPDATE_EXPECT` is set, the file is rewritten instead; the change is then reviewed as a diff.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Failure;

/// Whether expectations are to be rewritten.
fn update() -> bool {
    std::env::var_os("UPDATE_EXPECT").is_some()
}

/// Compares a text with a committed file.
///
/// # Errors
///
/// They differ. The message has both texts and says how the file is rewritten.
pub fn file(path: &Path, found: &str) -> Result<(), Failure> {
    match difference(path, found)? {
        None => Ok(()),
        Some(difference) => Err(format!("UPDATE_EXPECT=1 rewrites {}\n{difference}", path.display()).into()),
    }
}

/// Both texts where they differ, after rewriting the file where that is asked for.
fn difference(path: &Path, found: &str) -> Result<Option<String>, Failure> {
    if update() {
        fs::write(path, found)?;
        return Ok(None);
    }
    // A file that is not there yet expects nothing.
    let expected = fs::read_to_string(path).unwrap_or_default();
    Ok((found != expected).then(|| format!("-- expected\n{expected}\n-- found\n{found}")))
}

/// Compares a text with the part of a committed file between the lines `<!-- NAME -->` and
/// `<!-- end of NAME -->`.
///
/// # Errors
///
/// They differ, or the file does not have the two lines.
pub fn part(path: &Path, name: &str, found: &str) -> Result<(), Failure> {
    let whole = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let (from, to) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let no_line = |line: &str| format!("{}: there is no line {line:?}", path.display());
    let (before, rest) = whole.split_once(&from).ok_or_else(|| no_line(&from))?;
    let (_, after) = rest.split_once(&to).ok_or_else(|| no_line(&to))?;
    file(path, &format!("{before}{from}{found}{to}{after}"))
}

/// Runs a folder of cases. Each file with the extension `input` is a case; next to each `NAME.input` is
/// `NAME.expected`, which holds what `run` returns. `run` is given the case's file name and text.
///
/// # Errors
///
/// Some cases differ: the message has all of them. Or the folder has no cases, or `run` fails.
pub fn folder(folder: &Path, input: &str, run: impl Fn(&str, &str) -> Result<String, Failure>) -> Result<(), Failure> {
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>, Failure>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == input));
    paths.sort();
    if paths.is_empty() {
        return Err(format!("{}: there are no cases", folder.display()).into());
    }
    let mut differing = Vec::new();
    for path in &paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let found = run(&name, &fs::read_to_string(path)?).map_err(|e| format!("{name}: {e}"))?;
        if let Some(difference) = difference(&path.with_extension("expected"), &found)? {
            differing.push(format!("== {name}\n{difference}"));
        }
    }
    if differing.is_empty() {
        return Ok(());
    }
    let (count, all) = (differing.len(), paths.len());
    Err(format!("{count} of {all} cases differ; UPDATE_EXPECT=1 rewrites them\n{}", differing.join("\n")).into())
}
