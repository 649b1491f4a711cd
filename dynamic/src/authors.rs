//! Who wrote which byte of a prompt (`origin`), what it is (`parts`), also where no loop tells (`told`), which bytes the model
//! writes (`written`), and all of it for a prompt that is cut into `pieces`. Nothing here knows token ids: a caller that has a tokenizer
//! says where its control tokens are, and `likely` finds them for one that has none.

use std::ops::Range;

use unjinja_render::Template;

use crate::conversation::Conversation;
use crate::model::Model;
use crate::prompt::LabelledPrompt;

mod likely;
mod origin;
mod parts;
mod pieces;
mod told;
mod written;

use crate::error::ModelError;
pub use likely::LikelyTokens;
pub use origin::{PromptWriters, Spelled, TokenVerdict};
pub use parts::{PromptParts, TokenPart};
pub use pieces::PromptPiece;

impl Model {
    /// What each byte of a prompt is. Where the template's loops do not tell what was written for a message, it is asked again.
    pub fn prompt_parts(&self, prompt: &LabelledPrompt) -> PromptParts {
        let mut parts = PromptParts::new(&prompt.labels, &prompt.context);
        told::tell_messages(self, prompt, &mut parts);
        parts
    }

    /// The byte ranges of a prompt that the model writes, for each message of the assistant: its reasoning, its answer and its calls with
    /// their markers, and the token that ends the turn. `tokens` are the control tokens that the template wrote, in order.
    ///
    /// ```
    /// use unjinja_dynamic::{Conversation, Model};
    ///
    /// let model = Model::from_template("{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>\n{% endfor %}\
    ///     {% if add_generation_prompt %}<|assistant|>{% endif %}")?;
    /// let turn = [("user", "Hello"), ("assistant", "Hi!")].map(|(role, text)| serde_json::json!({"role": role, "content": text}));
    /// let prompt = model.render_labelled(&Conversation::new(turn.to_vec()).generation_prompt(false))?;
    /// let tokens: Vec<_> = prompt.text.match_indices("<|end|>").map(|(at, text)| at..at + text.len()).collect();
    /// let parts = model.prompt_parts(&prompt);
    /// let written = model.written_by_model(&prompt, &parts, &tokens);
    /// assert_eq!(&prompt.text[written[0][0].clone()], "Hi!<|end|>");
    /// # Ok::<(), unjinja_dynamic::ModelError>(())
    /// ```
    pub fn written_by_model(
        &self,
        prompt: &LabelledPrompt,
        parts: &PromptParts,
        tokens: &[Range<usize>],
    ) -> Vec<Vec<Range<usize>>> {
        let rendered = written::Rendered {
            text: &prompt.text,
            parts,
            spec: self.spec(),
            generation_prompt: &self.generation_prompt(prompt),
            tokens,
            prompt_end: &|message| told::end_of(self, prompt, message, true),
            done_end: &|message| told::end_of(self, prompt, message + 1, false),
        };
        rendered.by_model(&prompt.context)
    }

    /// The control tokens at which the model stops although they begin the next message: where no text ends a turn. `turns` are those of
    /// [`written_by_model`](Self::written_by_model), which do not have them. There are none where the template ends a turn with an
    /// `eos_token` that is not known: the model stops there, and the prompt does not show it.
    pub fn stops(
        &self,
        prompt: &LabelledPrompt,
        turns: &[Vec<Range<usize>>],
        tokens: &[Range<usize>],
    ) -> Vec<Range<usize>> {
        let reads_eos = |template: &Template| template.variables().contains("eos_token");
        if self.spec().tokens.eos.is_none() && self.parsed_template().is_ok_and(reads_eos) {
            return Vec::new();
        }
        written::stops(self.spec(), &prompt.text, turns, tokens)
    }

    /// The whole prompt in pieces: whose message each is, what it is, and whether the model writes it. No tokenizer is asked: what looks
    /// like a control token of the template is taken for one.
    ///
    /// ```
    /// use unjinja_dynamic::{Conversation, Model};
    ///
    /// let model = Model::from_template("{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>\n{% endfor %}\
    ///     {% if add_generation_prompt %}<|assistant|>{% endif %}")?;
    /// let turn = [("user", "Hello"), ("assistant", "Hi!")].map(|(role, text)| serde_json::json!({"role": role, "content": text}));
    /// let prompt = model.render_labelled(&Conversation::new(turn.to_vec()).generation_prompt(false))?;
    /// let pieces = model.prompt_pieces(&prompt)?;
    /// let by_model = pieces.iter().filter(|piece| piece.by_model).map(|piece| &prompt.text[piece.range.clone()]);
    /// assert_eq!(by_model.collect::<Vec<_>>(), ["Hi!", "<|end|>"]);
    /// # Ok::<(), unjinja_dynamic::ModelError>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`parsed_template`](Self::parsed_template).
    pub fn prompt_pieces(&self, prompt: &LabelledPrompt) -> Result<Vec<PromptPiece>, ModelError> {
        let tokens = LikelyTokens::of(self.parsed_template()?, self.spec());
        let parts = self.prompt_parts(prompt);
        let writers = PromptWriters::new(prompt, &|text| tokens.contains(text));
        let tokens = tokens.written(prompt, &writers);
        let turns = self.written_by_model(prompt, &parts, &tokens);
        let stops = self.stops(prompt, &turns, &tokens);
        let by_model: Vec<Range<usize>> = turns.into_iter().flatten().chain(stops).collect();
        Ok(pieces::pieces(prompt.text.len(), &parts, &by_model))
    }

    /// What a prompt has of the assistant's turn, with the variables of this conversation. It is asked for with the messages before the
    /// assistant's first one.
    fn generation_prompt(&self, LabelledPrompt { context, clock, .. }: &LabelledPrompt) -> String {
        let messages = context["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let Some(first) = messages.iter().position(|message| message["role"] == "assistant") else {
            return String::new();
        };
        let mut asked = context.clone();
        asked["messages"] = messages.get(..first).unwrap_or_default().into();
        let asked = Conversation::from_context(&asked).generation_prompt(true).clock(*clock);
        self.prompt(&asked).map(|prompt| prompt.turn().to_owned()).unwrap_or_default()
    }
}
