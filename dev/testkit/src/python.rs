//! Virtual environments of Python, for tests that ask real clients and readers.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The Python of a virtual environment in `folder` that has these packages of PyPI. It is made once and kept. `check` is a
/// statement that fails where the packages are missing or have another version.
///
/// Tests that run at the same time may ask for the same folder: the first one makes the environment, the others wait.
///
/// # Errors
///
/// There is no `python3` with venv and pip, or PyPI cannot be reached. The text says which command failed and how.
pub fn environment(folder: &Path, packages: &[&str], check: &str) -> Result<PathBuf, String> {
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let path = folder.with_extension("lock");
    let lock = folder.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| File::create(&path));
    // Released when the file is closed, also if this process is killed.
    let _lock = lock
        .and_then(|file| file.lock().map(|()| file))
        .map_err(|error| format!("{} cannot be locked: {error}", path.display()))?;
    if run(&python, &["-c", check]).is_err() {
        run(Path::new("python3"), &["-m", "venv", "--clear", &folder.to_string_lossy()])?;
        let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        run(&python, &[&install, packages].concat())?;
    }
    Ok(python)
}

fn run(program: &Path, arguments: &[&str]) -> Result<(), String> {
    match Command::new(program).args(arguments).output() {
        Err(error) => Err(format!("{} cannot be started: {error}", program.display())),
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("{program:?} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr))),
    }
}
