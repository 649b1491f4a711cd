//! The error of this crate. It keeps the typed errors of the earlier stages, so that a caller never has to read a message
//! to find out what happened.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use unjinja_codegen::{LowerError, LowerProblem};
use unjinja_dynamic::LoadError;
use unjinja_source::SourceError;

/// Why no parser was made.
///
/// [`Display`](fmt::Display) prints the place, the cause and what to do, on one or more lines, and so does [`Debug`](fmt::Debug), in which
/// a build script that returns the error prints it. The place and the next step are
/// also available one by one: [`path`](Self::path), [`line`](Self::line), [`next_step`](Self::next_step).
///
/// ```
/// use unjinja_build::{Build, BuildError, Input, LoadError};
///
/// let error = Build::new(Input::template("nowhere.jinja")).spec().unwrap_err();
/// assert!(matches!(error, BuildError::Load(LoadError::Source(_))));
/// assert_eq!(error.path(), Some("nowhere.jinja".as_ref()));
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub enum BuildError {
    /// No spec was found.
    Load(LoadError),
    /// A file cannot be read or written: one of tools, or one of the results.
    File {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: FileAction,
        /// Why it failed.
        error: Arc<io::Error>,
    },
    /// No parser can be made from a valid spec.
    Lower {
        /// The template or spec that it is about.
        path: PathBuf,
        /// All problems.
        error: LowerError,
    },
    /// A file of tools cannot be used.
    Tools {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// No types can be made of a file of tools.
    Types {
        /// The file.
        path: PathBuf,
        /// What is wrong with it: the tool, the path in its schema, the cause and what to do.
        problem: String,
    },
    /// Types of tools were asked for, but no tools were given.
    TypesWithoutTools,
    /// Types of tools were asked for, but this crate was compiled without its feature `types`.
    TypesNotCompiled,
    /// Two templates of a folder would get modules of the same name.
    SameName {
        /// The name of both modules.
        name: String,
        /// The files of the two templates.
        files: [String; 2],
    },
    /// A function for build scripts was called outside of one: cargo has not set `OUT_DIR`.
    NotABuildScript,
    /// Several errors, of several templates.
    Several(Vec<BuildError>),
}

/// What was tried with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAction {
    /// Reading it.
    Read,
    /// Writing it.
    Write,
}

impl BuildError {
    /// The error for a list of errors; `None` if the list is empty.
    pub(crate) fn of_all(mut errors: Vec<BuildError>) -> Option<Self> {
        if errors.len() > 1 { Some(Self::Several(errors)) } else { errors.pop() }
    }

    /// The file to correct. It can be another than the input: an overlay, a committed spec, a file of tools.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Load(error) => error.path(),
            Self::File { path, .. }
            | Self::Lower { path, .. }
            | Self::Tools { path, .. }
            | Self::Types { path, .. } => Some(path),
            Self::Several(errors) => errors.first().and_then(Self::path),
            Self::TypesWithoutTools | Self::TypesNotCompiled | Self::SameName { .. } | Self::NotABuildScript => None,
        }
    }

    /// The line in [`path`](Self::path), from 1, if the error has one.
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::Load(error) => error.line(),
            Self::Several(errors) => errors.first().and_then(Self::line),
            _ => None,
        }
    }

    /// What to do about it.
    pub fn next_step(&self) -> Cow<'_, str> {
        Cow::Borrowed(match self {
            Self::Load(error) => return error.next_step(),
            Self::File { action: FileAction::Read, .. } => "check the path and its permissions",
            Self::File { action: FileAction::Write, .. } => "check the folder and its permissions",
            Self::Lower { error, .. } => error.problems.first().map_or("", LowerProblem::next_step),
            Self::Tools { .. } => "pass the `tools` of a request: a JSON list",
            Self::Types { .. } => "correct the file of tools, or do without types",
            Self::TypesWithoutTools => "name the file of tools too",
            Self::TypesNotCompiled => "switch on the feature `types`",
            Self::SameName { .. } => "rename one of the files",
            Self::NotABuildScript => "call it from build.rs, or use `Templates::compile` with a path",
            Self::Several(errors) => return errors.first().map_or(Cow::Borrowed(""), Self::next_step),
        })
    }
}

impl fmt::Debug for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, error, .. } => write!(f, "{}: {error}", path.display()),
            Self::Load(error) => error.fmt(f),
            Self::Lower { error, .. } => write!(f, "{error}"),
            Self::Tools { path, problem } | Self::Types { path, problem } => write!(f, "{}: {problem}", path.display()),
            Self::TypesWithoutTools => f.write_str("types are made of tools, and no tools were given: name their file too"),
            Self::TypesNotCompiled => f.write_str(
                "types of tools need the feature `types`: of `unjinja` for the macros, else of `unjinja-build` and `unjinja`",
            ),
            Self::SameName { name, files: [first, second] } => {
                write!(f, "{first} and {second} would both become the module `{name}`: rename one of them")
            }
            Self::NotABuildScript => f.write_str("OUT_DIR is not set: this function is for build scripts"),
            Self::Several(errors) => {
                for (index, error) in errors.iter().enumerate() {
                    if index > 0 {
                        writeln!(f)?;
                    }
                    write!(f, "{error}")?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Load(error) => error.source(),
            Self::File { error, .. } => Some(error.as_ref()),
            Self::Lower { error, .. } => Some(error),
            _ => None,
        }
    }
}

impl From<LoadError> for BuildError {
    fn from(error: LoadError) -> Self {
        Self::Load(error)
    }
}

impl From<SourceError> for BuildError {
    fn from(error: SourceError) -> Self {
        Self::Load(error.into())
    }
}
