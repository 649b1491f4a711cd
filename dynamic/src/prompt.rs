//! A rendered prompt, and where in it the assistant's turn begins.

use unjinja_spec::Turn;

/// A rendered prompt. The parser has to know how it ends, because the model's output begins there: it may already open the
/// reasoning.
///
/// ```
/// use unjinja_dynamic::{Conversation, Model, Options};
///
/// let template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}\
///     {% if add_generation_prompt %}<assistant>{% endif %}";
/// let model = Model::from_template(template)?;
/// let prompt = model.prompt(&Conversation::new(serde_json::json!([{"role": "user", "content": "Hello"}])))?;
/// assert_eq!((prompt.text(), prompt.turn()), ("<user>Hello</><assistant>", "<assistant>"));
/// let message = model.parse("Good morning!</>", &Options::new().generation_prompt(prompt.turn()));
/// assert_eq!(message.content, "Good morning!");
/// # Ok::<(), unjinja_dynamic::ModelError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    text: String,
    /// The offset of the turn.
    turn: usize,
}

impl Prompt {
    /// `before` is the same conversation without a generation prompt.
    pub(crate) fn new(text: String, before: &str, turn: &Turn) -> Self {
        let turn = text.len() - turn.begun_by(&text, before).len();
        Self { text, turn }
    }

    /// All of it: what the model reads.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// All of it, owned.
    pub fn into_text(self) -> String {
        self.text
    }

    /// What the prompt has of the assistant's turn: pass it to [`Options::generation_prompt`](crate::Options::generation_prompt)
    /// and [`GrammarOptions::generation_prompt`](crate::GrammarOptions::generation_prompt). It is empty if the template adds
    /// nothing for the model to continue.
    pub fn turn(&self) -> &str {
        &self.text[self.turn..]
    }
}
