//! The kinds of messages: which parts an assistant's message has, and whether two messages say the same.

use std::fmt;

use serde_json::Value;
use unjinja_runtime::Message;

/// Which parts a message has.
///
/// ```
/// use unjinja_analyzer::MessageKind;
/// use unjinja_runtime::Message;
///
/// let mut message = Message::default();
/// message.content = "Hello".into();
/// message.reasoning_content = "I see.".into();
/// assert_eq!(MessageKind::of(&message).to_string(), "reasoning and an answer");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub struct MessageKind {
    /// It has an answer.
    pub answer: bool,
    /// It has reasoning.
    pub reasoning: bool,
    /// How many calls it has: 0, 1, or 2 for several.
    pub calls: u8,
}

impl MessageKind {
    /// The kind of a message.
    pub fn of(message: &Message) -> Self {
        Self {
            answer: !message.content.is_empty(),
            reasoning: !message.reasoning_content.is_empty(),
            calls: message.tool_calls.len().min(2) as u8,
        }
    }
}

impl MessageKind {
    /// Whether a message has an answer and nothing else.
    pub fn is_answer(&self) -> bool {
        self.answer && !self.reasoning && self.calls == 0
    }
}

impl fmt::Display for MessageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls = ["", "a call", "several calls"][usize::from(self.calls.min(2))];
        let parts = [(self.reasoning, "reasoning"), (self.answer, "an answer"), (self.calls > 0, calls)];
        let parts: Vec<&str> = parts.into_iter().filter(|(has, _)| *has).map(|(_, part)| part).collect();
        match parts.as_slice() {
            [] => f.write_str("an empty message"),
            [one] => f.write_str(one),
            [first, last] => write!(f, "{first} and {last}"),
            [first, second, ..] => write!(f, "{first}, {second} and {calls}"),
        }
    }
}

/// Whether a message that was parsed is the expected one. White space at the ends of texts does not count.
pub(crate) fn same(parsed: &Message, expected: &Message) -> bool {
    parsed.content.trim() == expected.content.trim()
        && parsed.reasoning_content.trim() == expected.reasoning_content.trim()
        && parsed.tool_calls.len() == expected.tool_calls.len()
        && parsed.tool_calls.iter().zip(&expected.tool_calls).all(|(a, b)| {
            let value = |text: &str| serde_json::from_str::<Value>(text).ok();
            let same_id = b.id.is_none() || a.id == b.id;
            a.name == b.name && same_id && value(&a.arguments).is_some() && value(&a.arguments) == value(&b.arguments)
        })
}
