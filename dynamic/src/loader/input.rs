//! What is loaded: a template or a spec, as a text or as a file. Reading it says nothing yet about which spec is used.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(feature = "generated")]
use unjinja_generated::LookupError;
#[cfg(feature = "generated")]
use unjinja_source::SourceErrorKind;
use unjinja_source::{Source, split_variant};
use unjinja_spec::FormatSpec;

use super::error::LoadError;
#[cfg(feature = "generated")]
use crate::known::{known_spec, with_names};

/// The first bytes of a GGUF file.
const GGUF: [u8; 4] = *b"GGUF";

/// The file name that a template without a file and without a name has in messages.
const UNNAMED: &str = "template.jinja";

/// What a [`Loader`](crate::Loader) is to load: a chat template, or a format spec.
///
/// A template is named by a path, or else by the id of a model in the cache of the Hugging Face Hub (`Qwen/Qwen3-8B`). Files of
/// templates are `.jinja`, `tokenizer_config.json`, `chat_template.json` and GGUF files; a folder is that of a model; `PATH#NAME` is one
/// of several named templates, and `-` is standard input. Nothing is downloaded.
///
/// ```
/// use unjinja_dynamic::Input;
///
/// assert_eq!(Input::file("models/qwen3.jinja").place(), std::path::Path::new("models/qwen3.jinja"));
/// ```
#[derive(Clone, Debug)]
pub struct Input(InputKind);

#[derive(Clone, Debug)]
enum InputKind {
    Text(String),
    /// What is read by its path. A pointer to the reader, so that programs without files, such as a web page, do not link it.
    Path(PathBuf, fn(&Path) -> Result<Subject, LoadError>),
    Source(Box<Source>),
    SpecText(String),
    #[cfg(feature = "generated")]
    Known(String),
}

/// What was read.
pub(crate) enum Subject {
    Template {
        source: Box<Source>,
        /// Whether the template has a path, be it only a name that the caller made up.
        is_named: bool,
    },
    Spec {
        /// The name of its file, without folders.
        #[cfg_attr(not(feature = "explain"), allow(dead_code, reason = "an explanation says it"))]
        file: String,
        spec: Box<FormatSpec>,
        /// Where an overlay of the spec would be.
        adjacent: Option<PathBuf>,
    },
}

impl Input {
    /// The text of a chat template.
    pub fn text(text: impl Into<String>) -> Self {
        Self(InputKind::Text(text.into()))
    }

    /// The chat template that a path or an id names.
    pub fn template(path: impl Into<PathBuf>) -> Self {
        Self(InputKind::Path(path.into(), template))
    }

    /// A GGUF file; another kind of file is an error. The weights are not read.
    pub fn gguf(path: impl Into<PathBuf>) -> Self {
        Self(InputKind::Path(path.into(), gguf))
    }

    /// A template that was read with [`Source`].
    pub fn source(source: Source) -> Self {
        Self(InputKind::Source(Box::new(source)))
    }

    /// The file of a format spec.
    pub fn spec(path: impl Into<PathBuf>) -> Self {
        Self(InputKind::Path(path.into(), spec_file))
    }

    /// The text of a format spec.
    pub fn spec_text(text: impl Into<String>) -> Self {
        Self(InputKind::SpecText(text.into()))
    }

    /// A format spec if the path is called `.toml`, else the [`template`](Self::template) that it names, else the reviewed spec of the
    /// [known](Self::known) model of this name, which has no template.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self(InputKind::Path(path.into(), any))
    }

    /// The reviewed spec of a supported model; [`known_spec`](crate::known_spec) says which names it has.
    #[cfg(feature = "generated")]
    pub fn known(name: impl Into<String>) -> Self {
        Self(InputKind::Known(name.into()))
    }

    /// The file, for messages. What is no file has the name under which it is reported.
    pub fn place(&self) -> &Path {
        match &self.0 {
            InputKind::Path(path, _) => path,
            InputKind::Source(source) => &source.path,
            InputKind::Text(_) => Path::new(UNNAMED),
            InputKind::SpecText(_) => Path::new("spec.toml"),
            #[cfg(feature = "generated")]
            InputKind::Known(name) => Path::new(name),
        }
    }

    /// Reads it. `name` is what a text is called.
    pub(crate) fn read(self, name: Option<&str>) -> Result<Subject, LoadError> {
        match self.0 {
            InputKind::Text(text) => {
                let file = name.map_or_else(|| UNNAMED.to_owned(), |name| format!("{name}.jinja"));
                Ok(Subject::Template { source: Box::new(Source::from_text(file, text)), is_named: false })
            }
            InputKind::Path(path, read) => read(&path),
            InputKind::Source(source) => Ok(Subject::Template { source, is_named: true }),
            InputKind::SpecText(text) => {
                let file = name.map_or_else(|| "spec.toml".to_owned(), |name| format!("{name}.toml"));
                let spec = Box::new(FormatSpec::from_toml(&text, &file)?);
                Ok(Subject::Spec { file, spec, adjacent: None })
            }
            #[cfg(feature = "generated")]
            InputKind::Known(name) => Ok(known(&name)?),
        }
    }
}

/// The reviewed spec of a supported model.
#[cfg(feature = "generated")]
fn known(name: &str) -> Result<Subject, LookupError> {
    let spec = Box::new(known_spec(name)?);
    Ok(Subject::Spec { file: format!("{}.toml", spec.template.name), spec, adjacent: None })
}

fn any(path: &Path) -> Result<Subject, LoadError> {
    if path.extension().is_some_and(|extension| extension == "toml") {
        return spec_file(path);
    }
    template(path).or_else(|error| match error {
        #[cfg(feature = "generated")]
        LoadError::Source(error) if error.kind() == SourceErrorKind::Unknown => {
            known(&path.to_string_lossy()).map_err(|_| error.into())
        }
        _ => Err(error),
    })
}

fn template(path: &Path) -> Result<Subject, LoadError> {
    let source = Source::read_one(path);
    #[cfg(feature = "generated")]
    let source = source.map_err(with_names);
    Ok(Subject::Template { source: Box::new(source?), is_named: true })
}

/// The spec in a file, and where an overlay of it would be.
pub(super) fn spec(path: &Path) -> Result<(FormatSpec, PathBuf), LoadError> {
    let spec = FormatSpec::from_toml(&text(path)?, &path.display().to_string())?;
    Ok((spec, overlay_of_spec(path)))
}

/// Where the overlay of a spec is looked for, whether the file exists or not. `Source::overlay` says it for templates.
///
/// ```
/// let overlay = unjinja_dynamic::overlay_of_spec("specs/robin.toml".as_ref());
/// assert_eq!(overlay, std::path::Path::new("specs/robin.overlay.toml"));
/// ```
pub fn overlay_of_spec(path: &Path) -> PathBuf {
    path.with_extension("overlay.toml")
}

fn gguf(path: &Path) -> Result<Subject, LoadError> {
    let (file, _) = split_variant(path);
    let mut start = Vec::new();
    let opened = File::open(&file).and_then(|file| file.take(GGUF.len() as u64).read_to_end(&mut start));
    // What cannot be opened is the reader's error to report.
    if opened.is_ok() && start != GGUF { Err(LoadError::NotGguf { path: file }) } else { template(path) }
}

fn spec_file(path: &Path) -> Result<Subject, LoadError> {
    let (spec, adjacent) = spec(path)?;
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Subject::Spec { file, spec: Box::new(spec), adjacent: Some(adjacent) })
}

/// The text of a spec or an overlay.
pub(super) fn text(path: &Path) -> Result<String, LoadError> {
    let failed = |error| LoadError::File { path: path.to_owned(), error: Arc::new(error) };
    String::from_utf8(fs::read(path).map_err(failed)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let problem = format!("the file is not UTF-8: bad byte at offset {at}");
        failed(io::Error::new(io::ErrorKind::InvalidData, problem))
    })
}
