//! How a command ends: fine, with something found (1), or with wrong usage or unreadable input (2).

use std::fmt;
use std::io;
use std::path::Path;

/// The result of a command.
pub(crate) type Done = Result<(), Failure>;

/// Why a command did not end well.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A difference, or a template that cannot be analysed: exit code 1.
    Found(String),
    /// Wrong usage or unreadable input: exit code 2.
    Input(String),
    /// Nobody reads the output any more.
    BrokenPipe,
}

impl Failure {
    pub(crate) fn code(&self) -> u8 {
        match self {
            Failure::Found(_) => 1,
            Failure::Input(_) => 2,
            Failure::BrokenPipe => 0,
        }
    }

    pub(crate) fn file(path: &Path, error: impl fmt::Display) -> Self {
        Failure::Input(format!("{}: {error}", path.display()))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Found(message) | Failure::Input(message) => f.write_str(message),
            Failure::BrokenPipe => f.write_str("the output was closed"),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe { Failure::BrokenPipe } else { Failure::Input(error.to_string()) }
    }
}
