//! The official Python clients, for tests that ask with them. They come from PyPI, into a virtual environment below cargo's
//! target folder.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The Python that has the clients. Nothing where it cannot be made; standard error then says that the test is skipped. With
/// the environment variable `UNJINJA_CLIENTS=required` that is an error.
pub fn with_clients() -> Result<Option<PathBuf>, String> {
    match python() {
        Ok(python) => Ok(Some(python)),
        Err(reason) if std::env::var("UNJINJA_CLIENTS").is_ok_and(|value| value == "required") => Err(reason),
        Err(reason) => {
            // Not `eprintln!`: the test harness would capture it and show nothing of a test that passes.
            let next = "UNJINJA_CLIENTS=required makes this an error";
            writeln!(std::io::stderr(), "SKIPPED: the official clients could not be installed ({next}): {reason}")
                .map_err(|error| error.to_string())?;
            Ok(None)
        }
    }
}

/// The Python of a virtual environment with both clients. It is made once for each test program, because these run at the same
/// time, and kept.
fn python() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(concat!("clients-", env!("CARGO_CRATE_NAME")));
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let run = |program: &Path, arguments: &[&str]| match Command::new(program).args(arguments).output() {
        Err(error) => Err(format!("{} cannot be started: {error}", program.display())),
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("{program:?} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr))),
    };
    if run(&python, &["-c", "import anthropic, openai"]).is_err() {
        run(Path::new("python3"), &["-m", "venv", "--clear", &folder.to_string_lossy()])?;
        run(
            &python,
            &["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "openai>=1.50", "anthropic>=0.40"],
        )?;
    }
    Ok(python)
}
