//! What can go wrong, with the place and a next step.

use std::fmt;

use unjinja_dynamic::ModelError;
use unjinja_dynamic::authors::Spelled;

use crate::rewrite::Rewrite;

/// Why there are no ids.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TokensError {
    /// A file is no tokenizer, or a tokenizer failed.
    Tokenizer {
        /// The file, or the text that it failed at.
        at: String,
        /// What the tokenizer said.
        message: String,
    },
    /// There is no template, or it cannot render the conversation.
    Model(ModelError),
    /// Texts of the conversation spell control tokens, and the options refuse that.
    Spelled(Vec<Spelled>),
    /// A control token is in a text that the template made of a field in a way that cannot be followed. It cannot be told whether the
    /// template or the field wrote it.
    Undecided(Spelled),
    /// The vocabulary can write this text of the conversation only as a control token.
    OnlyControl {
        /// The text.
        token: String,
    },
    /// The template writes the conversation in another way once it continues, so ids that the model has read or written do not stay.
    Rewritten(Box<Rewrite>),
    /// The template does not write all that the model wrote, or writes it so that it is read differently.
    Lossy {
        /// What the template makes of the turn.
        written: String,
    },
    /// The template writes nothing for a turn of the assistant.
    NoTurn,
    /// The conversation has more values than labels can tell apart.
    TooLarge,
}

impl TokensError {
    pub(crate) fn tokenizer(at: impl fmt::Display, message: impl fmt::Display) -> Self {
        Self::Tokenizer { at: at.to_string(), message: message.to_string() }
    }
}

impl fmt::Display for TokensError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tokenizer { at, message } => write!(
                f,
                "{at}: {message}\n  = next: use the `tokenizer.json` of the model, as `tokenizers` writes it"
            ),
            Self::Model(error) => write!(f, "{error}"),
            Self::Spelled(spelled) => {
                let list: Vec<_> = spelled.iter().map(ToString::to_string).collect();
                write!(
                    f,
                    "the conversation spells control tokens: {}\n  = next: remove them, or allow them as ordinary text",
                    list.join(", ")
                )
            }
            Self::Undecided(spelled) => write!(
                f,
                "{spelled}: the template changes this text in a way that hides who wrote the token\n  = next: remove the token \
                 from the conversation, or change the filter in the template"
            ),
            Self::OnlyControl { token } => write!(
                f,
                "`{token}`: the tokenizer can write this text only as a control token\n  = next: remove it from the conversation"
            ),
            Self::Rewritten(rewrite) => write!(
                f,
                "{rewrite}: the template writes anew what the model has read\n  = next: encode the whole conversation, or keep what is \
                 taken out: `unjinja lint --explain prefix-changes`"
            ),
            Self::Lossy { written } => write!(
                f,
                "the template does not write what the model wrote, but {written:?}\n  = next: encode the whole conversation"
            ),
            Self::NoTurn => f.write_str(
                "the template writes nothing for the assistant's turn\n  = next: encode the whole conversation",
            ),
            Self::TooLarge => f.write_str(
                "the conversation has more than a million values\n  = next: shorten it: what the template wrote cannot be told from the rest",
            ),
        }
    }
}

impl std::error::Error for TokensError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Model(error) => Some(error),
            _ => None,
        }
    }
}

impl From<ModelError> for TokensError {
    fn from(error: ModelError) -> Self {
        Self::Model(error)
    }
}
