//! The error of this crate. It keeps the typed errors of the earlier stages, so that a caller never has to read a message
//! to find out what happened.

use std::fmt;

use unjinja_codegen::LowerError;
use unjinja_render::{RenderError, RenderErrorKind, TemplateError};

use crate::loader::LoadError;

/// Why there is no model, or why it cannot render a conversation.
///
/// [`Display`](fmt::Display) prints the place, the cause and what to do next, on one or more lines.
///
/// ```
/// use unjinja_dynamic::{LoadError, Model, ModelError};
///
/// let error = Model::from_template("{% for m in messages %}").unwrap_err();
/// assert!(matches!(error, ModelError::Load(LoadError::Template { .. })));
/// assert!(error.to_string().contains("template.jinja:1"));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ModelError {
    /// No spec was found.
    Load(LoadError),
    /// No parser can be made from a valid spec.
    Lower(LowerError),
    /// The model has no template to render with, because it was made from a spec.
    NoTemplate {
        /// Name of the model's spec.
        name: String,
    },
    /// The template could not render a conversation.
    Render(RenderError),
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Load(error) if error.tells_next_step() => f.write_str(&line(error)),
            Self::Load(error) => write!(f, "{}\n  = next: {}", line(error), error.next_step()),
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
            Self::Load(error) => Some(error),
            Self::Lower(error) => Some(error),
            Self::Render(error) => Some(error),
            Self::NoTemplate { .. } => None,
        }
    }
}

impl From<LoadError> for ModelError {
    fn from(error: LoadError) -> Self {
        Self::Load(error)
    }
}

impl From<TemplateError> for ModelError {
    fn from(error: TemplateError) -> Self {
        Self::Load(LoadError::Template { path: error.name().into(), error })
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
