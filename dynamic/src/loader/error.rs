//! Why nothing was loaded. The error keeps the typed errors of the earlier stages and the file at fault, so that a caller never
//! has to read a message to find out what happened.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use unjinja_analyzer::AnalyzeError;
use unjinja_render::TemplateError;
use unjinja_source::{SourceError, SourceErrorKind};
use unjinja_spec::SpecError;

/// Why a [`Loader`](crate::Loader) found no spec.
///
/// [`Display`](fmt::Display) prints the place and the cause. The same facts are available one by one.
///
/// ```
/// use unjinja_dynamic::{Input, LoadError, Loader};
///
/// let error = Loader::new().load(Input::file("nowhere.jinja")).unwrap_err();
/// assert!(matches!(error, LoadError::Source(_)));
/// assert_eq!(error.path(), Some("nowhere.jinja".as_ref()));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LoadError {
    /// A file gives no template.
    Source(SourceError),
    /// A spec or an overlay cannot be read.
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: Arc<io::Error>,
    },
    /// A GGUF file was asked for, and this is another kind of file.
    NotGguf {
        /// The file.
        path: PathBuf,
    },
    /// The template has a syntax error.
    Template {
        /// The file that holds the template.
        path: PathBuf,
        /// The error, with its line.
        error: TemplateError,
    },
    /// The template cannot be analysed: it is not a chat template, refuses a simple conversation, or exceeds a limit.
    Analysis {
        /// The file that holds the template.
        path: PathBuf,
        /// The error, with the comparison that found it.
        error: Box<AnalyzeError>,
    },
    /// A spec or an overlay is not valid, or an overlay does not fit the spec that it is applied to.
    Spec {
        /// The file of the spec or the overlay.
        path: PathBuf,
        /// All problems, each with its line.
        error: SpecError,
    },
    /// The committed spec was made from another template.
    OtherTemplate {
        /// The committed spec: its file, or its name if it was not read from a file.
        spec: PathBuf,
        /// The template.
        template: PathBuf,
        /// SHA-256 of the template that the spec was made from.
        expected: String,
        /// SHA-256 of the template.
        seen: String,
    },
    /// No supported model has this name, or several have it.
    Name {
        /// The name that was looked up.
        name: String,
        /// The names of the specs that it fits; empty if it fits none.
        candidates: Vec<String>,
        /// If it fits none: the names of specs that are similar.
        near: Vec<String>,
    },
    /// Several errors, of several files. The facts are those of the first.
    Several(Vec<LoadError>),
}

impl LoadError {
    /// The file to correct. It can be another than the one that was to be loaded: an overlay, or a committed spec.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Source(error) => Some(error.path()),
            Self::File { path, .. }
            | Self::NotGguf { path }
            | Self::Template { path, .. }
            | Self::Analysis { path, .. }
            | Self::Spec { path, .. }
            | Self::OtherTemplate { spec: path, .. } => Some(path),
            Self::Several(errors) => errors.first().and_then(Self::path),
            Self::Name { .. } => None,
        }
    }

    /// The line in [`path`](Self::path), from 1, if the error has one.
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::Template { error, .. } => Some(error.line()),
            Self::Spec { error, .. } => error.problems.first().map(|problem| problem.line),
            Self::Several(errors) => errors.first().and_then(Self::line),
            _ => None,
        }
    }

    /// What to do about it.
    pub fn next_step(&self) -> Cow<'_, str> {
        Cow::Borrowed(match self {
            Self::File { .. } => "check the path and its permissions",
            Self::Source(error) => match error.kind() {
                SourceErrorKind::Unknown => "nothing is downloaded here: name what is on this machine",
                SourceErrorKind::Unreadable => "check the path and its permissions, or name another file",
                SourceErrorKind::Invalid => "download the file again, or name another file",
                SourceErrorKind::NoTemplate => "pass the model's chat_template.jinja or tokenizer_config.json",
                _ => "name another file, or one of its templates as FILE#NAME",
            },
            Self::NotGguf { .. } => "name a GGUF file, or load this one as a file or a folder of another kind",
            Self::Template { .. } => "correct the template, or report it if Python renders it",
            Self::Analysis { .. } => "look at what the analysis saw: `unjinja explain TEMPLATE`",
            Self::Spec { error, .. } => match error.problems.first() {
                Some(problem) => return Cow::Borrowed(&problem.next_step),
                None => "correct the file",
            },
            Self::OtherTemplate { .. } => "see what changed with `unjinja check`",
            Self::Name { candidates, near, .. } => match (&candidates[..], &near[..]) {
                ([], []) => "look for it in the list of supported models, or load the model's template from its file",
                ([], near) => {
                    let near = near.join(", ");
                    return Cow::Owned(format!("use {near}, or load the model's template from its file"));
                }
                _ => "use one of these names",
            },
            Self::Several(errors) => return errors.first().map_or(Cow::Borrowed(""), Self::next_step),
        })
    }

    /// Whether the text of the error itself says what to do.
    pub(crate) fn tells_next_step(&self) -> bool {
        matches!(self, Self::Analysis { .. } | Self::Spec { .. } | Self::OtherTemplate { .. })
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(error) => error.fmt(f),
            Self::File { path, error } => write!(f, "{}: {error}", path.display()),
            Self::NotGguf { path } => {
                write!(f, "{}: this is not a GGUF file: it does not begin with the bytes `GGUF`", path.display())
            }
            Self::Template { error, .. } => error.fmt(f),
            Self::Analysis { error, .. } => error.fmt(f),
            Self::Spec { error, .. } => error.fmt(f),
            Self::OtherTemplate { spec, template, .. } => write!(
                f,
                "{} was made from another template than {}: `unjinja check` shows what changed",
                spec.display(),
                template.display()
            ),
            Self::Name { name, candidates, near } => match (&candidates[..], &near[..]) {
                ([], []) => write!(f, "no supported model is called {name:?}"),
                ([], near) => write!(f, "no supported model is called {name:?}; did you mean {}?", near.join(", ")),
                (candidates, _) => {
                    write!(f, "{name:?} is the name of several models: use one of {}", candidates.join(", "))
                }
            },
            Self::Several(errors) => {
                let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
                f.write_str(&texts.join("\n"))
            }
        }
    }
}

impl std::error::Error for LoadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Source(error) => Some(error),
            Self::File { error, .. } => Some(&**error),
            Self::Template { error, .. } => Some(error),
            Self::Analysis { error, .. } => Some(&**error),
            Self::Spec { error, .. } => Some(error),
            Self::NotGguf { .. } | Self::OtherTemplate { .. } | Self::Name { .. } | Self::Several(_) => None,
        }
    }
}

impl From<SourceError> for LoadError {
    fn from(error: SourceError) -> Self {
        Self::Source(error)
    }
}

impl From<SpecError> for LoadError {
    fn from(error: SpecError) -> Self {
        let path = error.problems.first().map(|problem| PathBuf::from(&problem.file)).unwrap_or_default();
        Self::Spec { path, error }
    }
}

#[cfg(feature = "generated")]
impl From<unjinja_generated::LookupError> for LoadError {
    fn from(error: unjinja_generated::LookupError) -> Self {
        use unjinja_generated::LookupError;
        let said = error.to_string();
        match error {
            LookupError::Ambiguous { name, candidates } => Self::Name { name, candidates, near: Vec::new() },
            LookupError::Unknown { name, near } => Self::Name { name, candidates: Vec::new(), near },
            _ => Self::Name { name: said, candidates: Vec::new(), near: Vec::new() },
        }
    }
}
