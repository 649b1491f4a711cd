//! A rendered prompt, and where in it the assistant's turn begins.

use std::fmt;

use serde_json::Value;
use unjinja_render::{Clock, Labels};
use unjinja_runtime::{Channel, Event, Interpreter, Options, Stream};
use unjinja_spec::{TurnMarkers, WrittenTags};

use crate::conversation::Conversation;
use crate::missing::Missing;
use crate::model::Model;

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
#[derive(Clone)]
pub struct Prompt {
    text: String,
    /// The offset of the turn.
    turn: usize,
    /// What was rendered. It is rendered again, with labels, for who asks what is missing.
    model: Model,
    conversation: Conversation,
}

impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompt").field("text", &self.text).field("turn", &self.turn()).finish_non_exhaustive()
    }
}

/// Two prompts are equal if they have the same text and the turn begins in the same place.
impl PartialEq for Prompt {
    fn eq(&self, other: &Self) -> bool {
        (&self.text, self.turn) == (&other.text, other.turn)
    }
}

impl Eq for Prompt {}

impl Prompt {
    /// `before` is the same conversation without a generation prompt.
    pub(crate) fn new(text: String, before: &str, model: Model, conversation: Conversation) -> Self {
        let turn = text.len() - model.spec().begun_by(&text, before).len();
        Self { text, turn, model, conversation }
    }

    /// What the conversation hands over and the prompt lacks, because the template does not write it. Reasoning of earlier turns is not
    /// among it: templates leave it out on purpose. This renders the conversation once more, with the origin of each byte.
    ///
    /// ```
    /// use serde_json::json;
    /// use unjinja_dynamic::{Conversation, Model};
    ///
    /// let model = Model::from_template("{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}")?;
    /// let conversation = Conversation::new(json!([{"role": "user", "content": "Run!"}]));
    /// let prompt = model.prompt(&conversation.tools(json!([{"type": "function", "function": {"name": "run"}}])))?;
    /// assert_eq!(prompt.missing()[0].to_string(), "tool:run");
    /// # Ok::<(), unjinja_dynamic::ModelError>(())
    /// ```
    pub fn missing(&self) -> Vec<Missing> {
        let labelled = self.model.render_labelled(&self.conversation);
        labelled.map(|prompt| self.model.missing(&prompt)).unwrap_or_default()
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
    /// nothing for the model to continue. Where the template writes the start of the turn together with the user's message, it is
    /// the markers of reasoning at the end of the prompt.
    pub fn turn(&self) -> &str {
        &self.text[self.turn..]
    }
}

/// A rendered prompt with the origin of each byte. [`Model::render_labelled`](crate::Model::render_labelled) makes it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LabelledPrompt {
    /// All of it: what the model reads.
    pub text: String,
    /// Where each part comes from. The paths are those of `context`.
    pub labels: Labels,
    /// The variables that the template got, in an object: the messages as they were handed over.
    pub context: Value,
    /// The tags of reasoning that were written into messages when they were handed over.
    pub written: Vec<WrittenTags>,
    /// The time that the template was told.
    pub clock: Clock,
}

/// [`Model::turn_of`](crate::Model::turn_of).
pub(crate) fn turn_of<'p>(parser: &Interpreter, turn: &TurnMarkers, prompt: &'p str) -> &'p str {
    let program = parser.program();
    let written = program.entries.iter().map(|entry| &*entry.text).filter(|text| prompt.ends_with(text));
    if let Some(text) = written.max_by_key(|text| text.len()).filter(|text| !text.is_empty()) {
        return &prompt[prompt.len() - text.len()..];
    }
    let start = turn.assistant_start.as_str();
    let at = if start.is_empty() { None } else { prompt.rfind(start) };
    let over = |text: &str| {
        let markers = [turn.end.trim(), turn.user_start.trim()];
        markers.into_iter().any(|marker| !marker.is_empty() && text[start.len()..].contains(marker))
    };
    at.map(|at| &prompt[at..]).filter(|text| !over(text) && is_open(parser, text)).unwrap_or_default()
}

/// Whether the model can continue a turn: it reads text, and no call was made. A letter says which text: after a marker, the
/// parser still waits for white space.
fn is_open(parser: &Interpreter, turn: &str) -> bool {
    let mut stream = Stream::new(parser.clone(), &Options::new().generation_prompt(turn));
    let mut called = false;
    stream.push("x", |event| called |= matches!(event, Event::ToolCallStart { .. }));
    !called && matches!(stream.channel(), Some(Channel::Content | Channel::Reasoning))
}
