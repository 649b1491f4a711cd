//! The error of this crate: which file gave no template, why, and what to do. It must never hold text that was parsed
//! out of another error's message.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::hub::is_hub_id;
use crate::names::STDIN;

/// How many templates of a folder an error names.
const SHOWN: usize = 3;

/// Why a file gave no template: the file, the cause, and what to do about it.
///
/// [`Display`](fmt::Display) prints `FILE: PROBLEM` on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceError {
    path: PathBuf,
    problem: String,
    kind: SourceErrorKind,
}

/// The kinds of [`SourceError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SourceErrorKind {
    /// The file cannot be opened or read.
    Unreadable,
    /// This is neither a path nor the id of a model in the Hub's cache, and does not look like the name of a file.
    Unknown,
    /// The content is damaged, or is not what the file's name or first bytes promise.
    Invalid,
    /// The file is sound, but holds no template.
    NoTemplate,
    /// The file holds named templates, but not the one that was asked for.
    UnknownVariant,
    /// The file holds several templates, and none was asked for by name.
    Ambiguous,
}

impl SourceError {
    pub(crate) fn invalid(path: &Path, problem: impl fmt::Display) -> Self {
        Self::new(path, SourceErrorKind::Invalid, problem)
    }

    pub(crate) fn unreadable(path: &Path, error: std::io::Error) -> Self {
        Self::new(path, SourceErrorKind::Unreadable, error)
    }

    pub(crate) fn no_template(path: &Path, problem: impl fmt::Display) -> Self {
        Self::new(path, SourceErrorKind::NoTemplate, problem)
    }

    /// `names` are the names of the templates that the file does hold.
    pub(crate) fn unknown_variant(path: &Path, wanted: &str, names: &[&str]) -> Self {
        let problem = if names.is_empty() {
            format!("the file holds one template, which has no name, so there is no `{wanted}`: leave `#{wanted}` out")
        } else {
            format!("the file holds no template called `{wanted}`; it holds {}", listed(names))
        };
        Self::new(path, SourceErrorKind::UnknownVariant, problem)
    }

    /// `names` are the names of all the file's templates.
    pub(crate) fn ambiguous(path: &Path, names: &[&str]) -> Self {
        let first = names.first().copied().unwrap_or("NAME");
        let (count, names, shown) = (names.len(), listed(names), path.display());
        let problem = format!("the file holds {count} templates: {names}; choose one, as in {shown}#{first}");
        Self::new(path, SourceErrorKind::Ambiguous, problem)
    }

    /// `places` are those of all templates in a folder.
    pub(crate) fn ambiguous_folder(path: &Path, places: &[String]) -> Self {
        let more = if places.len() > SHOWN { ", …" } else { "" };
        let places = places[..places.len().min(SHOWN)].join(", ");
        let problem = format!("this is a folder, and one template is needed: name the file, such as {places}{more}");
        Self::new(path, SourceErrorKind::Ambiguous, problem)
    }

    /// The only template of a model has a name of its own.
    pub(crate) fn no_default(path: &Path, name: &str) -> Self {
        let shown = path.display();
        let problem =
            format!("the model has no default template, only one named {name}: choose it, as in {shown}#{name}");
        Self::new(path, SourceErrorKind::Ambiguous, problem)
    }

    /// A name that is no path.
    pub(crate) fn unknown(path: &Path) -> Self {
        let name = path.to_string_lossy();
        let problem = match is_hub_id(&name) {
            true => format!(
                "there is no such path, and no such model in the Hub's cache; `unjinja fetch {name}` downloads its template"
            ),
            false => "there is no such path; name a file, the folder of a model, or a model on the Hub as OWNER/NAME"
                .to_owned(),
        };
        Self::new(path, SourceErrorKind::Unknown, problem)
    }

    /// The same error with another problem: for those who know more of the name.
    #[must_use]
    pub fn because(self, problem: impl Into<String>) -> Self {
        Self { problem: problem.into(), ..self }
    }

    fn new(path: &Path, kind: SourceErrorKind, problem: impl fmt::Display) -> Self {
        Self { path: path.to_owned(), problem: problem.to_string(), kind }
    }

    /// The file; `-` is standard input.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is wrong and what to do, without the file's path.
    pub fn problem(&self) -> &str {
        &self.problem
    }

    /// What kind of error this is.
    pub fn kind(&self) -> SourceErrorKind {
        self.kind
    }

    /// Whether the file is sound and merely holds no template. Callers that look through many files skip these.
    pub fn is_without_template(&self) -> bool {
        self.kind == SourceErrorKind::NoTemplate
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path == Path::new(STDIN) { Path::new("standard input") } else { &self.path };
        write!(f, "{}: {}", path.display(), self.problem)
    }
}

impl std::error::Error for SourceError {}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
