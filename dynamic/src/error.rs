//! The error of this crate. It keeps the typed errors of the earlier stages, so that a caller never has to read a message
//! to find out what happened.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use unjinja_analyzer::AnalyzeError;
use unjinja_codegen::LowerError;
use unjinja_render::{RenderError, RenderErrorKind, TemplateError};
use unjinja_source::{MODEL_FILES, SourceError, SourceErrorKind};
use unjinja_spec::SpecError;

/// Why there is no model, or why it cannot render a conversation.
///
/// [`Display`](fmt::Display) prints the place, the cause and what to do next, on one or more lines.
///
/// ```
/// use unjinja_dynamic::{Model, ModelError};
///
/// let error = Model::from_template("{% for m in messages %}").unwrap_err();
/// assert!(matches!(error, ModelError::Template(_)));
/// assert!(error.to_string().contains("template.jinja:1"));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ModelError {
    /// A file gives no template.
    Source(SourceError),
    /// A spec or an overlay cannot be read.
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: Arc<io::Error>,
    },
    /// [`from_gguf`](crate::Model::from_gguf) was given another kind of file.
    NotGguf {
        /// The file.
        path: PathBuf,
    },
    /// [`from_pretrained`](crate::Loader::from_pretrained) was given a folder without a file that has a template.
    NoModelFile {
        /// The folder.
        folder: PathBuf,
    },
    /// The template has a syntax error.
    Template(TemplateError),
    /// The template cannot be analysed: it is not a chat template, refuses a simple conversation, or exceeds a limit.
    Analysis(Box<AnalyzeError>),
    /// A spec or an overlay is not valid, or an overlay does not fit the spec that it is applied to.
    Spec(SpecError),
    /// The committed spec was made from another template.
    OtherTemplate {
        /// Name of the committed spec.
        spec: String,
        /// The template, as its file or its name.
        template: String,
        /// SHA-256 of the template that the spec was made from.
        expected: String,
        /// SHA-256 of the template.
        seen: String,
    },
    /// No parser can be made from a valid spec.
    Lower(LowerError),
    /// The model has no template to render with, because it was made from a spec.
    NoTemplate {
        /// Name of the model's spec.
        name: String,
    },
    /// The template could not render a conversation.
    Render(RenderError),
    /// No supported model has this name, or several have it.
    Name {
        /// The name that was looked up.
        name: String,
        /// The names of the specs that it fits; empty if it fits none.
        candidates: Vec<String>,
        /// If it fits none: the names of specs that are similar.
        near: Vec<String>,
    },
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(error) => {
                write!(f, "{error}")?;
                // The other kinds of this error say it themselves.
                match error.kind() {
                    SourceErrorKind::Unreadable => f.write_str("\n  = next: check the path and its permissions"),
                    SourceErrorKind::Invalid => f.write_str("\n  = next: download the file again, or name another"),
                    SourceErrorKind::NoTemplate => {
                        f.write_str("\n  = next: pass the model's chat_template.jinja or tokenizer_config.json")
                    }
                    _ => Ok(()),
                }
            }
            Self::File { path, error } => {
                write!(f, "{}: {error}\n  = next: check the path and its permissions", path.display())
            }
            Self::NotGguf { path } => write!(
                f,
                "{}: this is not a GGUF file: it does not begin with the bytes `GGUF`\n  = next: name a GGUF \
                 file, or load this one as a file or a folder of another kind",
                path.display()
            ),
            Self::NoModelFile { folder } => write!(
                f,
                "{}: this folder has no chat template\n  = expected: one of {}\n  = next: name the file of the template, or the \
                 folder of one model",
                folder.display(),
                MODEL_FILES.join(", ")
            ),
            Self::Template(error) => {
                write!(f, "{}\n  = next: correct the template, or report it if Python renders it", line(error))
            }
            Self::Analysis(error) => write!(f, "{error}"),
            Self::Spec(error) => f.write_str(line(error).as_str()),
            Self::OtherTemplate { spec, template, expected, seen } => write!(
                f,
                "{template}: the spec `{spec}` was made from another template\n  = expected: SHA-256 {expected}\n  = seen: \
                 SHA-256 {seen}\n  = next: see what changed with `unjinja check`"
            ),
            Self::Lower(error) => write!(f, "{error}"),
            Self::NoTemplate { name } => write!(
                f,
                "{name}: this model was made from a spec and has no template, so it renders nothing\n  = next: load the \
                 model from its chat template"
            ),
            Self::Render(error) => {
                write!(f, "{}\n  = next: ", line(error))?;
                f.write_str(match error.kind() {
                    RenderErrorKind::Raised => "change the conversation: the template refuses it with this message",
                    RenderErrorKind::Limit => "shorten the conversation, or look for a loop in the template that grows",
                    _ => "compare the conversation with what the template reads on the marked line",
                })
            }
            Self::Name { name, candidates, near } => match (&candidates[..], &near[..]) {
                ([], []) => write!(
                    f,
                    "no supported model is called {name:?}\n  = next: look for it in the list of supported models, or load the \
                     model's template from its file"
                ),
                ([], near) => write!(
                    f,
                    "no supported model is called {name:?}\n  = next: use {}, or load the model's template from its file",
                    near.join(", ")
                ),
                (candidates, _) => {
                    write!(f, "{name:?} is the name of several models\n  = next: use one of {}", candidates.join(", "))
                }
            },
        }
    }
}

/// A message without the line break at its end.
fn line(error: &dyn fmt::Display) -> String {
    error.to_string().trim_end().to_owned()
}

impl std::error::Error for ModelError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Source(error) => Some(error),
            Self::File { error, .. } => Some(&**error),
            Self::Template(error) => Some(error),
            Self::Analysis(error) => Some(&**error),
            Self::Spec(error) => Some(error),
            Self::Lower(error) => Some(error),
            Self::Render(error) => Some(error),
            Self::NotGguf { .. }
            | Self::NoModelFile { .. }
            | Self::OtherTemplate { .. }
            | Self::NoTemplate { .. }
            | Self::Name { .. } => None,
        }
    }
}

impl From<SourceError> for ModelError {
    fn from(error: SourceError) -> Self {
        Self::Source(error)
    }
}

impl From<TemplateError> for ModelError {
    fn from(error: TemplateError) -> Self {
        Self::Template(error)
    }
}

impl From<AnalyzeError> for ModelError {
    fn from(error: AnalyzeError) -> Self {
        Self::Analysis(Box::new(error))
    }
}

impl From<SpecError> for ModelError {
    fn from(error: SpecError) -> Self {
        Self::Spec(error)
    }
}

impl From<LowerError> for ModelError {
    fn from(error: LowerError) -> Self {
        Self::Lower(error)
    }
}

impl From<RenderError> for ModelError {
    fn from(error: RenderError) -> Self {
        Self::Render(error)
    }
}
