//! What each token of a prompt is.

use unjinja_dynamic::authors::TokenPart;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// The message that it belongs to: its position in the list that the template got. `None` for what belongs to none: the tools,
    /// text before the first message, and the generation prompt.
    pub message: Option<usize>,
    /// Which part of the message or the prompt it is.
    pub part: TokenPart,
    /// Whether the model writes it: the assistant's reasoning, answer and calls with their markers, and what ends its turn, whatever tokens
    /// spell that.
    pub by_model: bool,
}
