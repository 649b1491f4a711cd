//! The encoder: a conversation becomes ids, each with a label.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use unjinja_dynamic::authors::{LikelyTokens, PromptWriters, Spelled, TokenVerdict};
use unjinja_dynamic::{Conversation, LabelledPrompt, Model};

use crate::error::TokensError;
use crate::label::Label;
use crate::second_render::{echoed, not_by_conversation, spelled_too};
use crate::vocabulary::{Piece, Vocabulary};

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
    /// The likely tokens of the template that the vocabulary lacks, such as ends of turns. `None` for a model without a template.
    ends: Option<Arc<LikelyTokens>>,
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

/// A rendered prompt as ids. [`Encoder::prompt_ids`] makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromptIds {
    /// The ids.
    pub ids: Vec<u32>,
    /// The control tokens that texts of the conversation spell.
    pub spelled: Vec<Spelled>,
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
        let known: HashSet<&str> = vocabulary.control_tokens().map(|(_, text)| text).collect();
        let ends = model.parsed_template().ok().map(|template| {
            let likely = LikelyTokens::of(template, spec).filtered(|token| !known.contains(token));
            Arc::new(likely)
        });
        Self { model, vocabulary: Arc::new(vocabulary), ends }
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
        let writers = self.writers(&prompt);
        let (pieces, spelled) = self.pieces(&prompt, &writers, options)?;
        let (labels, turn_ends) = self.labels(&prompt, &writers, &pieces);
        let (ids, ranges) = pieces.into_iter().map(|piece| (piece.id, piece.range)).unzip();
        Ok(Encoded { ids, ranges, labels, spelled, turn_ends, prompt })
    }

    /// The ids of a prompt that [`Model::render_labelled`] made, without the labels of tokens: what a server sends to a model. The text of
    /// `prompt` may have been cut, or else continued: text that was added at its end counts as the conversation's.
    ///
    /// ```no_run
    /// use unjinja_dynamic::Conversation;
    /// use unjinja_tokens::{EncodeOptions, Encoder};
    ///
    /// let encoder = Encoder::from_folder("models/qwen3")?;
    /// let conversation = Conversation::new(serde_json::json!([{"role": "user", "content": "Hello"}]));
    /// let mut prompt = encoder.model().render_labelled(&conversation)?;
    /// prompt.text.push_str("Good mor"); // the client began the answer
    /// let ids = encoder.prompt_ids(&prompt, &EncodeOptions::new())?.ids;
    /// # Ok::<(), unjinja_tokens::TokensError>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`encode_with`](Self::encode_with).
    pub fn prompt_ids(&self, prompt: &LabelledPrompt, options: &EncodeOptions) -> Result<PromptIds, TokensError> {
        let (pieces, spelled) = self.pieces(prompt, &self.writers(prompt), options)?;
        Ok(PromptIds { ids: pieces.into_iter().map(|piece| piece.id).collect(), spelled })
    }

    fn writers<'p>(&self, prompt: &'p LabelledPrompt) -> PromptWriters<'p> {
        PromptWriters::new(prompt, &|text| self.vocabulary.control_tokens().any(|(_, token)| token == text))
    }

    /// The tokens of a prompt, and the control tokens that the conversation spells in it.
    fn pieces(
        &self,
        prompt: &LabelledPrompt,
        writers: &PromptWriters<'_>,
        options: &EncodeOptions,
    ) -> Result<(Vec<Piece>, Vec<Spelled>), TokensError> {
        if !prompt.labels.is_complete() {
            return Err(TokensError::TooLarge);
        }
        let text = &prompt.text;
        if options.spelled == SpelledTokens::Trusted {
            return Ok((self.vocabulary.encode(text, &|_| true)?, Vec::new()));
        }
        let control = RefCell::new(Vec::new());
        let [spelled, undecided] = [const { RefCell::new(Vec::new()) }; 2];
        let found = |range: &Range<usize>| writers.spelled(text.get(range.clone()).unwrap_or_default(), range);
        let is_control = |range: &Range<usize>| {
            let verdict = writers.verdict(range);
            match verdict {
                TokenVerdict::Control => control.borrow_mut().push(range.clone()),
                TokenVerdict::Text => spelled.borrow_mut().push(found(range)),
                TokenVerdict::Undecided => undecided.borrow_mut().push(found(range)),
            }
            verdict == TokenVerdict::Control
        };
        let mut pieces = self.vocabulary.encode(text, &is_control)?;
        let (mut spelled, undecided) = (spelled.into_inner(), undecided.into_inner());
        let control: Vec<Spelled> = spelled_too(prompt, control.into_inner()).iter().map(found).collect();
        let echoed = echoed(&self.model, prompt, &control).map_err(|found| TokensError::Undecided(found.clone()))?;
        if !echoed.is_empty() {
            let is_echo = |range: &Range<usize>| echoed.iter().any(|found| found.range == *range);
            pieces = self
                .vocabulary
                .encode(text, &|range| !is_echo(range) && writers.verdict(range) == TokenVerdict::Control)?;
            spelled.extend(echoed.into_iter().cloned());
            spelled.sort_by_key(|found| found.range.start);
        }
        if let Some(found) = not_by_conversation(&self.model, prompt, &undecided) {
            return Err(TokensError::Undecided(found.clone()));
        }
        if !undecided.is_empty() {
            spelled.extend(undecided);
            spelled.sort_by_key(|found| found.range.start);
        }
        if options.spelled == SpelledTokens::Refused && !spelled.is_empty() {
            return Err(TokensError::Spelled(spelled));
        }
        Ok((pieces, spelled))
    }

    /// What each token is, and where the turns of the assistant end.
    fn labels(
        &self,
        prompt: &LabelledPrompt,
        writers: &PromptWriters<'_>,
        pieces: &[Piece],
    ) -> (Vec<Label>, Vec<usize>) {
        let parts = self.model.prompt_parts(prompt);
        let control = pieces.iter().filter(|piece| self.vocabulary.control_token(piece.id).is_some());
        let mut tokens: Vec<Range<usize>> = control.map(|piece| piece.range.clone()).collect();
        // A tokenizer may have no token for what ends a turn or a call. The model then writes it letter by letter.
        tokens.extend(self.ends.iter().flat_map(|ends| ends.written(prompt, writers)));
        tokens.sort_by_key(|range| (range.end, range.start));
        let turns = self.model.written_by_model(prompt, &parts, &tokens);
        let stops = self.model.stops(prompt, &turns, &tokens);
        let mut by_model: Vec<Range<usize>> = turns.iter().flatten().cloned().chain(stops).collect();
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
}
