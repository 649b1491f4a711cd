//! A model's tokenizer: prompts become ids, and ids that the model wrote become tokens. Nothing here does I/O.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use unjinja_dynamic::{LabelledPrompt, Model};
use unjinja_runtime::{Options, Token};
use unjinja_tokens::{EncodeOptions, Encoder, SpelledTokens, TokensError, Vocabulary};

use super::config::SpelledMarkers;
use crate::error::ApiError;

/// A text that tokenizers cut in different ways: words, numbers, white space, letters of several scripts.
const PLAIN: &str = "Hello world, it's 12345.67\n\n  Żółw 東京 привет 🙂\tfn f(x) { return x != y; }";

/// Numbers of encodings, to tell them apart.
static MADE: AtomicU64 = AtomicU64::new(0);

/// A model with its tokenizer.
#[derive(Clone)]
pub(crate) struct Encoding {
    encoder: Encoder,
    number: u64,
    samples: Arc<[String]>,
}

impl fmt::Debug for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoding").field("number", &self.number).finish_non_exhaustive()
    }
}

impl Encoding {
    /// `prompts` are prompts of this model, to compare vocabularies with.
    pub(crate) fn new(model: &Model, vocabulary: Vocabulary, prompts: &[String]) -> Self {
        let longest = prompts.iter().max_by_key(|prompt| prompt.len());
        let samples = longest.into_iter().cloned().chain([PLAIN.to_owned()]).collect();
        // Made once, when they are first asked for: a request need not wait for that.
        vocabulary.bytes(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        Self { encoder: Encoder::new(model.clone(), vocabulary), number, samples }
    }

    /// Another encoding has another number.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Texts by which an upstream shows that it has the same vocabulary.
    pub(crate) fn samples(&self) -> &[String] {
        &self.samples
    }

    /// The ids of a prompt, and how many control tokens texts of the conversation spell.
    pub(crate) fn prompt(
        &self,
        prompt: &LabelledPrompt,
        markers: SpelledMarkers,
    ) -> Result<(Vec<u32>, usize), ApiError> {
        let spelled = match markers {
            SpelledMarkers::Report => SpelledTokens::AsText,
            SpelledMarkers::Refuse => SpelledTokens::Refused,
            SpelledMarkers::Trust => SpelledTokens::Trusted,
        };
        let made = self.encoder.prompt_ids(prompt, &EncodeOptions::new().spelled_tokens(spelled));
        made.map(|made| (made.ids, made.spelled.len())).map_err(|error| refused(&error))
    }

    /// The ids of a text, in which control tokens count.
    pub(crate) fn ids(&self, text: &str) -> Option<Vec<u32>> {
        self.encoder.vocabulary().ids(text).ok()
    }

    /// Whether these ids of a text, by somebody else's tokenizer, are those of the same vocabulary: the same control tokens, and around
    /// them the same text. Implementations differ in how they cut some words, and where they add a blank; a model reads both.
    pub(crate) fn agrees(&self, own: &[u32], theirs: &[u32]) -> bool {
        let vocabulary = self.encoder.vocabulary();
        let control = |ids: &[u32]| ids.iter().copied().filter(|&id| vocabulary.control_token(id).is_some()).collect();
        let letters = |ids: &[u32]| {
            let pieces: Option<Vec<&[u8]>> = ids.iter().map(|&id| vocabulary.bytes(id)).collect();
            Some(pieces?.concat().into_iter().filter(|byte| *byte != b' ').collect::<Vec<u8>>())
        };
        let (ours, other): (Vec<u32>, Vec<u32>) = (control(own), control(theirs));
        own == theirs || (ours == other && letters(theirs).is_some() && letters(own) == letters(theirs))
    }

    /// The options for a parser that gets tokens.
    pub(crate) fn options(&self, options: &Options) -> Options {
        let control = self.encoder.vocabulary().control_tokens().map(|(_, text)| text);
        options.clone().special_tokens(control)
    }

    /// The id of a control token.
    pub(crate) fn control_id(&self, text: &str) -> Option<u32> {
        let mut control = self.encoder.vocabulary().control_tokens();
        control.find(|(_, known)| *known == text).map(|(id, _)| id)
    }

    /// The token of an id; `None` if there is no such id.
    pub(crate) fn token(&self, id: u32) -> Option<Token<'_>> {
        let vocabulary = self.encoder.vocabulary();
        let control = vocabulary.control_token(id).map(Token::special);
        control.or_else(|| vocabulary.bytes(id).map(Token::text))
    }
}

/// The error for a client whose conversation cannot be encoded.
fn refused(error: &TokensError) -> ApiError {
    let place = |path: &str| if path.is_empty() { "messages".to_owned() } else { path.to_owned() };
    match error {
        TokensError::Spelled(spelled) => {
            let tokens: Vec<String> =
                spelled.iter().map(|one| format!("{:?} in {}", one.token, place(&one.path))).collect();
            let first = spelled.first().map_or_else(String::new, |one| place(&one.path));
            ApiError::invalid(
                &first,
                format!("this spells special tokens: {}", tokens.join(", ")),
                "write them in another way",
            )
        }
        TokensError::Undecided(spelled) => {
            let cause = format!("this may spell {:?}, and the template hides whether it does", spelled.token);
            ApiError::invalid(&place(&spelled.path), cause, "write it in another way")
        }
        other => {
            ApiError::invalid("messages", other.to_string().replace("\n  = next: ", "; "), "change the conversation")
        }
    }
}
