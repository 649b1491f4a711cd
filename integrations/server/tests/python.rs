//! The official Python clients, for tests that ask with them. They come from PyPI, into a virtual environment below cargo's
//! target folder.

use std::path::{Path, PathBuf};

use unjinja_testkit::python::environment;
use unjinja_testkit::skip;

/// The Python that has the clients. Nothing where it cannot be made: the test is then counted as skipped. With the environment
/// variable `UNJINJA_CLIENTS=required` that is an error.
pub fn with_clients() -> Result<Option<PathBuf>, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients");
    match environment(&folder, &["openai>=1.50", "anthropic>=0.40"], "import anthropic, openai") {
        Ok(python) => Ok(Some(python)),
        Err(reason) => {
            let reason = format!("the official clients could not be installed: {reason}");
            skip(reason, ("UNJINJA_CLIENTS", "required")).map_err(|error| error.to_string())?;
            Ok(None)
        }
    }
}
