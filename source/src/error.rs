//! Why a file gave no template: its place, the cause, and what to do.

use std::fmt;
use std::path::{Path, PathBuf};

use super::Source;

/// Why a file gave no template: a text with the place, the cause and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceError {
    path: PathBuf,
    problem: String,
    is_without_template: bool,
}

impl SourceError {
    pub(super) fn new(path: &Path, problem: impl fmt::Display) -> Self {
        Self { path: path.to_owned(), problem: problem.to_string(), is_without_template: false }
    }

    /// That a file is sound and holds no template.
    pub(super) fn without_template(path: &Path, problem: impl fmt::Display) -> Self {
        Self { is_without_template: true, ..Self::new(path, problem) }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is wrong, without the file's path.
    pub fn problem(&self) -> &str {
        &self.problem
    }

    /// Whether the file is sound and holds no template.
    pub fn is_without_template(&self) -> bool {
        self.is_without_template
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path == Path::new(super::STDIN) { Path::new("standard input") } else { &self.path };
        write!(f, "{}: {}", path.display(), self.problem)
    }
}

impl std::error::Error for SourceError {}

/// The named templates of a file, for people.
fn listed(sources: &[Source]) -> String {
    let names: Vec<String> = sources.iter().filter_map(|s| Some(format!("`{}`", s.variant.as_deref()?))).collect();
    names.join(", ")
}

pub(super) fn no_variant(path: &Path, wanted: &str, sources: &[Source]) -> SourceError {
    let problem = match listed(sources) {
        names if names.is_empty() => {
            format!("it holds one template, without a name, and none called `{wanted}`: leave `#{wanted}` out")
        }
        names => format!("it holds no template called `{wanted}`, but {names}"),
    };
    SourceError::new(path, problem)
}

pub(super) fn several(path: &Path, sources: &[Source]) -> SourceError {
    let first = sources.iter().find_map(|source| source.variant.as_deref()).unwrap_or("NAME");
    let (names, path_shown) = (listed(sources), path.display());
    SourceError::new(
        path,
        format!("it holds {} templates: {names}; say which, as in {path_shown}#{first}", sources.len()),
    )
}
