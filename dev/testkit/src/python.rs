//! Virtual environments of Python, for tests that ask real clients and readers.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

/// How long an environment may take to be made. A lock that is older was left by a test that was killed.
const LONGEST: Duration = Duration::from_secs(300);

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
    let _lock = Lock::take(folder.with_extension("lock"))?;
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

/// A file that only one test has at a time. It is removed with this value. (`File::lock` needs Rust 1.89.)
struct Lock(PathBuf);

impl Lock {
    /// Waits until no other test has the file.
    fn take(path: PathBuf) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        fs::create_dir_all(path.parent().unwrap_or(&path)).map_err(failed)?;
        loop {
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(_) => return Ok(Self(path)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
            // Another test may remove it meanwhile.
            let age = fs::metadata(&path).and_then(|data| data.modified()).ok().and_then(|at| at.elapsed().ok());
            if age.is_some_and(|age| age > LONGEST) {
                let _ = fs::remove_file(&path);
            }
            sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
