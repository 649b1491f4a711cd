//! How a command ends: well, with a difference or a failure (exit code 1), or with wrong usage or unreadable input (2).
//! Every error of a command passes through here, so that the exit codes are the same everywhere.

use std::fmt;
use std::io;
use std::path::Path;

use unjinja_dynamic::LoadError;
use unjinja_spec::{Problem, SpecError};

/// The result of a command.
pub(crate) type Done = Result<(), Failure>;

/// Why a command did not end well.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A difference, or a template that cannot be analysed: exit code 1.
    Found(String),
    /// Several of those.
    FoundAll(Vec<String>),
    /// Wrong usage or unreadable input: exit code 2.
    Input(String),
    /// Several of those.
    InputAll(Vec<String>),
    /// Nobody reads the output any more, as with `unjinja list | head -1`: exit code 0.
    BrokenPipe,
}

impl Failure {
    pub(crate) fn code(&self) -> u8 {
        match self {
            Failure::Found(_) | Failure::FoundAll(_) => 1,
            Failure::Input(_) | Failure::InputAll(_) => 2,
            Failure::BrokenPipe => 0,
        }
    }

    /// An error about a file.
    pub(crate) fn file(path: &Path, error: impl fmt::Display) -> Self {
        Failure::Input(format!("{}: {error}", path.display()))
    }

    /// The messages, each of which is printed as an error of its own.
    pub(crate) fn messages(&self) -> &[String] {
        match self {
            Failure::Found(message) | Failure::Input(message) => std::slice::from_ref(message),
            Failure::FoundAll(messages) | Failure::InputAll(messages) => messages,
            Failure::BrokenPipe => &[],
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.messages().join("\n"))
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe { Failure::BrokenPipe } else { Failure::Input(error.to_string()) }
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        match &error {
            LoadError::Spec { error, .. } => error.clone().into(),
            LoadError::Template { .. } | LoadError::Analysis { .. } | LoadError::OtherTemplate { .. } => {
                Failure::Found(error.to_string())
            }
            LoadError::Several(errors) => {
                let failures = errors.iter().cloned().map(Failure::from);
                Failure::InputAll(failures.flat_map(|failure| failure.messages().to_vec()).collect())
            }
            LoadError::Name { candidates, near, .. } if candidates.is_empty() => {
                let mark = if near.is_empty() { ";" } else { "" };
                Failure::Input(format!("{error}{mark} `unjinja list` shows all"))
            }
            _ => Failure::Input(error.to_string()),
        }
    }
}

impl From<SpecError> for Failure {
    fn from(error: SpecError) -> Self {
        Failure::InputAll(error.problems.iter().map(framed).collect())
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Failure::Input(framed(&problem))
    }
}

/// A problem with the marked line of its file, as [`Problem`] displays it, but without the word `error` before it.
fn framed(problem: &Problem) -> String {
    let Problem { file, line, column, cause, excerpt, next_step, .. } = problem;
    format!("{cause}\n --> {file}:{line}:{column}\n{excerpt}  = next: {next_step}\n")
}
