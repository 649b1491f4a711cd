//! The turns with calls that a template was asked for.

use unjinja_render::RenderError;

use crate::conversation::Style;
use crate::observed::{LabelledTurn, MessagePart};
use crate::probe::Variable;

pub(crate) struct CallTurns {
    pub style: Style,
    /// The variables that have to be set.
    pub extra: Vec<Variable>,
    /// T1: one call.
    pub one: LabelledTurn,
    /// T2: two calls; `None` if the template does not show both.
    pub two: Option<LabelledTurn>,
    /// A call after an answer.
    pub after_answer: Option<LabelledTurn>,
    /// T6: a call without arguments.
    pub no_arguments: Option<LabelledTurn>,
    /// T5: a call with two arguments.
    pub two_arguments: Option<LabelledTurn>,
    /// T5: a call with arguments, and an object in one of them, whose keys are not sorted.
    pub unsorted: Option<LabelledTurn>,
    /// A2: a number.
    pub number: Option<LabelledTurn>,
    /// ValueTypes: a text with markup in it.
    pub markup: Option<LabelledTurn>,
    /// ValueTypes: a value of each other type.
    pub others: Vec<(&'static str, LabelledTurn)>,
    /// NullContent: the call with content that is null.
    pub null: Result<LabelledTurn, RenderError>,
}

impl CallTurns {
    /// Whether the template refuses a call next to content that is null, or prints the null.
    pub(crate) fn refuses_null(&self) -> bool {
        self.null.as_ref().map_or(true, |turn| ["None", "null"].iter().any(|word| has_word(&turn.text, word)))
    }
}

/// Whether a turn shows the name and the arguments of its first call.
pub(super) fn shows_call(turn: &LabelledTurn, number: usize) -> bool {
    [MessagePart::Name(number), MessagePart::Key(number, 0), MessagePart::Value(number, 0)]
        .into_iter()
        .all(|part| turn.first(part).is_some())
}

/// Whether a text holds a word, other than in the middle of a longer one.
fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let inside =
            text[..at].ends_with(char::is_alphabetic) && text[at + word.len()..].starts_with(char::is_alphabetic);
        !inside
    })
}
