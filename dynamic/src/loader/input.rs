//! What is loaded: a template or a spec, as a text or as a file. Reading it says nothing yet about which spec is used.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use unjinja_source::{MODEL_FILES, Source, split_variant};
use unjinja_spec::FormatSpec;

use super::error::LoadError;
#[cfg(feature = "generated")]
use crate::known;

/// The first bytes of a GGUF file.
const GGUF: [u8; 4] = *b"GGUF";

/// The file name that a template without a file and without a name has in messages.
const UNNAMED: &str = "template.jinja";

/// The named template that a model takes where no other is asked for.
const DEFAULT_FILE: &str = "additional_chat_templates/default.jinja";

/// What a [`Loader`](crate::Loader) is to load: a chat template, or a format spec.
///
/// Files of templates are `.jinja`, `tokenizer_config.json`, `chat_template.json` and GGUF files; `PATH#NAME` is one of several
/// named templates in a file, and `-` is standard input.
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
    Template(PathBuf),
    Gguf(PathBuf),
    Pretrained(PathBuf),
    Source(Box<Source>),
    Spec(PathBuf),
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

    /// A file that holds a chat template.
    pub fn template(path: impl Into<PathBuf>) -> Self {
        Self(InputKind::Template(path.into()))
    }

    /// A GGUF file; another kind of file is an error. The weights are not read.
    pub fn gguf(path: impl Into<PathBuf>) -> Self {
        Self(InputKind::Gguf(path.into()))
    }

    /// The folder of a pretrained model, as the Hugging Face Hub has it, or a [`file`](Self::file). [`template_file`] says which of its
    /// files is read.
    pub fn pretrained(path: impl Into<PathBuf>) -> Self {
        Self(InputKind::Pretrained(path.into()))
    }

    /// A template that was read with [`Source`].
    pub fn source(source: Source) -> Self {
        Self(InputKind::Source(Box::new(source)))
    }

    /// The file of a format spec.
    pub fn spec(path: impl Into<PathBuf>) -> Self {
        Self(InputKind::Spec(path.into()))
    }

    /// The text of a format spec.
    pub fn spec_text(text: impl Into<String>) -> Self {
        Self(InputKind::SpecText(text.into()))
    }

    /// A file: a format spec if it is called `.toml`, else one that holds a template.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        if path.extension().is_some_and(|extension| extension == "toml") {
            Self::spec(path)
        } else {
            Self::template(path)
        }
    }

    /// The reviewed spec of a supported model; [`known_spec`](crate::known_spec) says which names it has.
    #[cfg(feature = "generated")]
    pub fn known(name: impl Into<String>) -> Self {
        Self(InputKind::Known(name.into()))
    }

    /// The file, for messages. What is no file has the name under which it is reported.
    pub fn place(&self) -> &Path {
        match &self.0 {
            InputKind::Template(path) | InputKind::Gguf(path) | InputKind::Pretrained(path) | InputKind::Spec(path) => {
                path
            }
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
            InputKind::Template(path) => template(&path),
            InputKind::Gguf(path) => {
                is_gguf(&path)?;
                template(&path)
            }
            InputKind::Pretrained(path) => Self::file(template_file(&path)?).read(name),
            InputKind::Source(source) => Ok(Subject::Template { source, is_named: true }),
            InputKind::Spec(path) => {
                let (spec, adjacent) = spec(&path)?;
                let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                Ok(Subject::Spec { file, spec: Box::new(spec), adjacent: Some(adjacent) })
            }
            InputKind::SpecText(text) => {
                let file = name.map_or_else(|| "spec.toml".to_owned(), |name| format!("{name}.toml"));
                let spec = Box::new(FormatSpec::from_toml(&text, &file)?);
                Ok(Subject::Spec { file, spec, adjacent: None })
            }
            #[cfg(feature = "generated")]
            InputKind::Known(name) => {
                let spec = Box::new(known::known_spec(&name)?);
                Ok(Subject::Spec { file: format!("{}.toml", spec.template.name), spec, adjacent: None })
            }
        }
    }
}

fn template(path: &Path) -> Result<Subject, LoadError> {
    Ok(Subject::Template { source: Box::new(Source::read_one(path)?), is_named: true })
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

fn is_gguf(path: &Path) -> Result<(), LoadError> {
    let (file, _) = split_variant(path);
    let mut start = Vec::new();
    let opened = File::open(&file).and_then(|file| file.take(GGUF.len() as u64).read_to_end(&mut start));
    // What cannot be opened is the reader's error to report.
    if opened.is_ok() && start != GGUF { Err(LoadError::NotGguf { path: file }) } else { Ok(()) }
}

/// The file that holds the chat template of a pretrained model, as transformers chooses it: in a folder, the named template
/// `additional_chat_templates/default.jinja`, else the first of [`MODEL_FILES`] that exists. A path that is no folder is returned as it is.
///
/// # Errors
/// If the folder has none of these files.
pub fn template_file(path: impl AsRef<Path>) -> Result<PathBuf, LoadError> {
    let path = path.as_ref();
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let files = std::iter::once(DEFAULT_FILE).chain(MODEL_FILES);
    let own = files.map(|name| path.join(name)).find(|file| file.is_file());
    own.ok_or_else(|| LoadError::NoModelFile { folder: path.to_owned() })
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
