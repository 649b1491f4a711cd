//! The encoder: a conversation becomes ids, each with a label.

use std::cell::RefCell;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use unjinja_dynamic::{Conversation, LabelledPrompt, Model};

use crate::error::TokensError;
use crate::label::{Label, Parts};
use crate::origin::{Spelled, Verdict, Writers};
use crate::vocabulary::{Piece, Vocabulary};
use crate::written::Rendered;

/// A model and its tokenizer.
///
/// ```no_run
/// use unjinja_dynamic::Conversation;
/// use unjinja_tokens::Encoder;
///
/// let encoder = Encoder::from_folder("models/qwen3")?; // tokenizer.json and the chat template
/// let conversation = Conversation::new(serde_json::json!([{"role": "user", "content": "What does <|im_end|> do?"}]));
/// let encoded = encoder.encode(&conversation)?;
/// assert_eq!(encoded.spelled()[0].path.as_ref(), "messages[0].content"); // it became ordinary tokens
/// # Ok::<(), unjinja_tokens::TokensError>(())
/// ```
#[derive(Clone)]
pub struct Encoder {
    model: Model,
    vocabulary: Arc<Vocabulary>,
}

/// What becomes of a control token that a text of the conversation spells: `<|im_end|>` in a user's message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpelledTokens {
    /// It becomes ordinary tokens, and [`Encoded::spelled`] reports it. The model reads the same text and no marker.
    #[default]
    AsText,
    /// The conversation is refused with [`TokensError::Spelled`].
    Refused,
    /// It becomes the control token, as in transformers. Only for conversations that are trusted.
    Trusted,
}

/// Choices for [`Encoder::encode_with`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EncodeOptions {
    spelled: SpelledTokens,
}

impl EncodeOptions {
    /// Control tokens that a text spells become ordinary tokens.
    pub fn new() -> Self {
        Self::default()
    }

    /// What becomes of control tokens that a text of the conversation spells.
    pub fn spelled_tokens(mut self, spelled: SpelledTokens) -> Self {
        self.spelled = spelled;
        self
    }
}

/// A conversation as ids.
#[derive(Clone, Debug, PartialEq)]
pub struct Encoded {
    ids: Vec<u32>,
    ranges: Vec<Range<usize>>,
    labels: Vec<Label>,
    spelled: Vec<Spelled>,
    /// Where the text of each turn of the assistant ends.
    pub(crate) turn_ends: Vec<usize>,
    pub(crate) prompt: LabelledPrompt,
}

impl Encoded {
    /// The ids.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// What each token is.
    pub fn labels(&self) -> &[Label] {
        &self.labels
    }

    /// For each token the bytes of [`text`](Self::text) that it stands for. Tokens that split a character have all of it.
    pub fn ranges(&self) -> &[Range<usize>] {
        &self.ranges
    }

    /// For each token whether the model writes it: what training learns from.
    pub fn assistant_mask(&self) -> Vec<bool> {
        self.labels.iter().map(|label| label.by_model).collect()
    }

    /// The control tokens that texts of the conversation spell.
    pub fn spelled(&self) -> &[Spelled] {
        &self.spelled
    }

    /// The rendered prompt.
    pub fn text(&self) -> &str {
        &self.prompt.text
    }

    /// The messages as the template got them. [`Label::message`] is a position in this list. It differs from the list of the conversation
    /// where the template reads no system message at that place.
    pub fn messages(&self) -> &Value {
        &self.prompt.context["messages"]
    }
}

impl Encoder {
    /// A model and its vocabulary.
    pub fn new(model: Model, mut vocabulary: Vocabulary) -> Self {
        let spec = model.spec();
        let source = model.template().unwrap_or_default();
        let markers: Vec<&str> = spec.markers().map(|(_, text)| text).collect();
        vocabulary.add_markers(&|token| source.contains(token) || markers.iter().any(|marker| marker.contains(token)));
        Self { model, vocabulary: Arc::new(vocabulary) }
    }

    /// Reads the folder of a model: its chat template, `tokenizer.json`, and `tokenizer_config.json` if it is there.
    ///
    /// # Errors
    /// Unreadable files, files that are no tokenizer, and a template that no model can be made from.
    pub fn from_folder(folder: impl AsRef<Path>) -> Result<Self, TokensError> {
        let folder = folder.as_ref();
        Ok(Self::new(Model::from_file(folder)?, Vocabulary::from_folder(folder)?))
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The vocabulary.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// The ids of a conversation. If no text of it spells a control token, they are those that transformers gives for the rendered
    /// text. If a text spells one, it becomes ordinary tokens: no text changes, and none becomes a marker.
    ///
    /// # Errors
    /// The template cannot render the conversation, or it cannot be told who wrote a control token.
    pub fn encode(&self, conversation: &Conversation) -> Result<Encoded, TokensError> {
        self.encode_with(conversation, &EncodeOptions::new())
    }

    /// The same with choices.
    ///
    /// # Errors
    /// Those of [`encode`](Self::encode), and [`TokensError::Spelled`] where the options refuse spelled tokens.
    pub fn encode_with(&self, conversation: &Conversation, options: &EncodeOptions) -> Result<Encoded, TokensError> {
        let prompt = self.model.render_labelled(conversation)?;
        if !prompt.labels.is_complete() {
            return Err(TokensError::TooLarge);
        }
        let writers = self.writers(&prompt);
        let trusted = options.spelled == SpelledTokens::Trusted;
        let (pieces, spelled) = self.pieces(&prompt.text, &writers, trusted)?;
        if options.spelled == SpelledTokens::Refused && !spelled.is_empty() {
            return Err(TokensError::Spelled(spelled));
        }
        let (labels, turn_ends) = self.labels(&prompt, &writers, &pieces);
        let (ids, ranges) = pieces.into_iter().map(|piece| (piece.id, piece.range)).unzip();
        Ok(Encoded { ids, ranges, labels, spelled, turn_ends, prompt })
    }

    fn writers<'p>(&self, prompt: &'p LabelledPrompt) -> Writers<'p> {
        let is_given = |name: &str| {
            let value = &prompt.context[name];
            // A caller may give the tokenizer's own tokens as variables.
            let is_token = name.ends_with("_token")
                && value.as_str().is_some_and(|text| self.vocabulary.control_tokens().any(|(_, token)| token == text));
            !value.is_null() && !is_token
        };
        Writers::new(prompt, &is_given)
    }

    /// The tokens of a text, and the control tokens that the conversation spells in it.
    fn pieces(
        &self,
        text: &str,
        writers: &Writers<'_>,
        trusted: bool,
    ) -> Result<(Vec<Piece>, Vec<Spelled>), TokensError> {
        if trusted {
            return Ok((self.vocabulary.encode(text, &|_| true)?, Vec::new()));
        }
        let spelled = RefCell::new(Vec::new());
        let undecided = RefCell::new(None);
        let is_control = |range: &Range<usize>| match writers.verdict(range) {
            Verdict::Control => true,
            verdict => {
                let found = writers.spelled(text.get(range.clone()).unwrap_or_default(), range);
                if verdict == Verdict::Undecided {
                    undecided.borrow_mut().get_or_insert(found);
                } else {
                    spelled.borrow_mut().push(found);
                }
                false
            }
        };
        let pieces = self.vocabulary.encode(text, &is_control)?;
        match undecided.into_inner() {
            Some(found) => Err(TokensError::Undecided(found)),
            None => Ok((pieces, spelled.into_inner())),
        }
    }

    /// What each token is, and where the turns of the assistant end.
    fn labels(&self, prompt: &LabelledPrompt, writers: &Writers<'_>, pieces: &[Piece]) -> (Vec<Label>, Vec<usize>) {
        let parts = Parts::new(&prompt.labels, &prompt.context);
        let control = pieces.iter().filter(|piece| self.vocabulary.control_token(piece.id).is_some());
        let tokens: Vec<Range<usize>> = control.map(|piece| piece.range.clone()).collect();
        let rendered = Rendered {
            text: &prompt.text,
            parts: &parts,
            writers,
            spec: self.model.spec(),
            generation_prompt: &self.generation_prompt(&prompt.context),
            tokens: &tokens,
        };
        let turns = rendered.by_model(&prompt.context);
        let mut by_model: Vec<Range<usize>> = turns.iter().flatten().cloned().collect();
        by_model.sort_by_key(|range| range.start);
        let mut at = 0;
        let label = |piece: &Piece| {
            while by_model.get(at).is_some_and(|range| range.end <= piece.range.start) {
                at += 1;
            }
            let by_model = by_model.get(at).is_some_and(|range| range.start < piece.range.end);
            let (message, part) = parts.at(piece.range.start);
            Label { message, part, by_model }
        };
        let ends = turns.iter().map(|ranges| ranges.last().map_or(0, |range| range.end)).collect();
        (pieces.iter().map(label).collect(), ends)
    }

    /// What a prompt has of the assistant's turn, with the variables of this conversation. It is asked for with the messages before the
    /// assistant's first one.
    fn generation_prompt(&self, context: &Value) -> String {
        let messages = context["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let Some(first) = messages.iter().position(|message| message["role"] == "assistant") else {
            return String::new();
        };
        let mut asked = context.clone();
        asked["messages"] = messages.get(..first).unwrap_or_default().into();
        let asked = Conversation::from_context(&asked).generation_prompt(true);
        self.model.prompt(&asked).map(|prompt| prompt.turn().to_owned()).unwrap_or_default()
    }
}
