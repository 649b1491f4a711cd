//! Whether an upstream has the vocabulary of a model's tokenizer: it is asked before the first ids go to it. Ids of another vocabulary are
//! other words, and nothing else shows it.

use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::piece::{Agreement, Agreements, REFUSED};
use super::{COMPLETION, COMPLETIONS, Trouble, Upstream, beginning, unreachable};
use crate::http::config::UpstreamApi;
use crate::http::encoding::Encoding;
use crate::http::guard::Trace;
use crate::http::log::LogLine;

/// The kind of trouble with an upstream that has another vocabulary.
pub(crate) const VOCABULARY: &str = "vocabulary";

impl Upstream {
    /// Whether the upstream's model of this name has the vocabulary of an encoding, takes ids as a prompt, and gives ids. It is asked once,
    /// and again when it has other models.
    pub(crate) async fn agree(&self, encoding: &Encoding, name: &str) -> Result<Agreement, Trouble> {
        let key = (encoding.number(), name.to_owned());
        if let Some(known) = self.agreements().get(&key) {
            return Ok(*known);
        }
        let mut is_told = true;
        for text in encoding.samples() {
            let Some(own) = encoding.ids(text) else { continue };
            match self.tokenized(name, text).await? {
                Some(theirs) if !encoding.agrees(&own, &theirs) => return Err(differs(text, &own, &theirs)),
                Some(_) => {}
                None => is_told = false,
            }
        }
        let gives_ids = self.completes_ids(encoding, name).await?;
        let note = |text: &str| self.log.write(LogLine::Note(format!("{}: {text}", self.config.base())));
        if !is_told {
            note("it has no /tokenize, so its vocabulary was not compared with that of the tokenizer");
        }
        if !gives_ids {
            note("it does not give the ids of what it writes: special tokens in answers are told by their text");
        }
        let agreement = Agreement { gives_ids };
        self.agreements().insert(key, agreement);
        Ok(agreement)
    }

    pub(super) fn agreements(&self) -> std::sync::MutexGuard<'_, Agreements> {
        self.agreements.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The ids of a text by the upstream's own tokenizer; `None` if it does not say.
    async fn tokenized(&self, name: &str, text: &str) -> Result<Option<Vec<u32>>, Trouble> {
        let body = match self.config.api {
            UpstreamApi::OpenAi => json!({"model": name, "prompt": text, "add_special_tokens": false}),
            UpstreamApi::LlamaCpp => json!({"content": text, "add_special": false, "parse_special": true}),
        };
        let answer = match timeout(self.timeouts.first_byte, self.post("/tokenize", &body).send()).await {
            Ok(Ok(answer)) if answer.status().is_success() => answer,
            Ok(Err(error)) => return Err(unreachable(&error)),
            // One that still loads its model answers later.
            Ok(Ok(answer)) if answer.status() == StatusCode::SERVICE_UNAVAILABLE => {
                return Err(super::refused(answer.status(), b""));
            }
            Ok(Ok(_)) | Err(_) => return Ok(None),
        };
        let read = timeout(self.timeouts.first_byte, beginning(answer, self.longest)).await;
        let said: Value = read.ok().and_then(|body| serde_json::from_slice(&body).ok()).unwrap_or_default();
        let Some(list) = said["tokens"].as_array() else { return Ok(None) };
        let ids: Option<Vec<u32>> = list.iter().map(|id| u32::try_from(id.as_u64()?).ok()).collect();
        // One that reads the text from another field has found nothing.
        Ok(ids.filter(|ids| !ids.is_empty()))
    }

    /// Has one token written after a prompt of ids. Returns whether the upstream gives its id.
    async fn completes_ids(&self, encoding: &Encoding, name: &str) -> Result<bool, Trouble> {
        let Some(ids) = encoding.samples().first().and_then(|text| encoding.ids(text)) else { return Ok(false) };
        let (path, body) = match self.config.api {
            UpstreamApi::OpenAi => (
                COMPLETIONS,
                json!({"model": name, "prompt": ids, "max_tokens": 1, "return_token_ids": true, "add_special_tokens": false}),
            ),
            UpstreamApi::LlamaCpp => (COMPLETION, json!({"prompt": ids, "n_predict": 1, "return_tokens": true})),
        };
        let answer = match self.forward(path, &body, &Trace::default()).await {
            Ok(answer) => timeout(self.timeouts.first_byte, beginning(answer, self.longest)).await.unwrap_or_default(),
            Err(trouble) if trouble.kind == REFUSED && matches!(trouble.error.status(), 400 | 422) => {
                let next = "serve the model without --tokenizer";
                let cause = trouble.error.message();
                return Err(unfit(format!("the upstream takes no token ids as a prompt: {cause}; {next}")));
            }
            Err(trouble) => return Err(trouble),
        };
        let said: Value = serde_json::from_slice(&answer).unwrap_or_default();
        let (read, written) = match self.config.api {
            UpstreamApi::OpenAi => (&said["usage"]["prompt_tokens"], &said["choices"][0]["token_ids"]),
            UpstreamApi::LlamaCpp => (&said["tokens_evaluated"], &said["tokens"]),
        };
        if let Some(count) = read.as_u64().filter(|count| *count != ids.len() as u64) {
            let next = "serve the model without --tokenizer, and report this";
            let counts = format!("of a prompt of {} token ids, the upstream read {count}", ids.len());
            return Err(unfit(format!("{counts}: it changes what it is sent; {next}")));
        }
        Ok(written.as_array().is_some_and(|written| !written.is_empty()))
    }
}

fn unfit(message: String) -> Trouble {
    Trouble::new(VOCABULARY, 502, message)
}

fn differs(text: &str, own: &[u32], theirs: &[u32]) -> Trouble {
    let at = own.iter().zip(theirs).take_while(|(own, theirs)| own == theirs).count();
    let shown = |ids: &[u32]| ids.get(at).map_or_else(|| "the end".to_owned(), u32::to_string);
    let next = "give the tokenizer of the model that the upstream serves";
    let begin: String = text.chars().take(40).collect();
    unfit(format!(
        "the tokenizer is not the upstream's: of {begin:?}, token {at} is {} here and {} there; {next}",
        shown(own),
        shown(theirs)
    ))
}
