//! How many tokens an answer may have, and under which name the upstream knows a model.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::piece::Ask;
use super::{ERROR, Trouble, Upstream, beginning, unreachable};
use crate::http::config::UpstreamApi;
use crate::http::discover::{UpstreamModel, models, with_key};
use crate::http::log::LogLine;

/// The limit of tokens where nothing is known: servers with OpenAI's protocol need one, because their own default is 16.
const UNKNOWN: u64 = 4096;

/// If at least this many tokens are left, a prompt is not counted for a request that names no limit.
const ENOUGH: u64 = 8192;

impl Upstream {
    /// The upstream's models; none if it does not list them.
    pub(super) async fn models(&self) -> Arc<[UpstreamModel]> {
        let (known, is_new) = self.listed.get();
        if is_new {
            return known;
        }
        self.list().await.unwrap_or(known)
    }

    /// Asks the upstream for its models, and remembers them. What else is known of another model is forgotten.
    async fn list(&self) -> Option<Arc<[UpstreamModel]>> {
        let ask = async {
            let request = with_key(self.client.get(self.url("/v1/models")), self.config.key.as_ref());
            // One that fails at the moment has not lost its models.
            let answer = request.send().await.ok().filter(|answer| !answer.status().is_server_error())?;
            let list: Option<Value> = serde_json::from_slice(&beginning(answer, ERROR).await).ok();
            // A server without such a list is not asked for it with every request.
            Some(list.map(|list| models(&list)).unwrap_or_default())
        };
        let models: Arc<[UpstreamModel]> = timeout(self.timeouts.connect, ask).await.ok()??.into();
        let before = self.listed.set(models.clone());
        if before != models {
            if !before.is_empty() && !models.is_empty() {
                self.log.write(LogLine::OtherModels(models.iter().map(|model| model.name.clone()).collect()));
            }
            *self.adds_bos.lock().unwrap_or_else(PoisonError::into_inner) = None;
            self.counts_nothing.store(false, Ordering::Relaxed);
            self.agreements().clear();
        }
        Some(models)
    }

    /// The upstream's model for this name. With `any_name`, that is its only one, whatever the name.
    fn named<'m>(models: &'m [UpstreamModel], name: &str, any_name: bool) -> Option<&'m UpstreamModel> {
        let only = match models {
            [one] if any_name => Some(one),
            _ => None,
        };
        models.iter().find(|model| model.name == name || model.aliases.iter().any(|alias| alias == name)).or(only)
    }

    /// The name by which the upstream knows the model of a request.
    pub(crate) async fn name_of(&self, name: &str, any_name: bool) -> String {
        let models = self.models().await;
        Self::named(&models, name, any_name).map_or(name, |model| &model.name).to_owned()
    }

    /// The name of the model as the upstream knows it, and the most tokens that its answer may have.
    pub(super) async fn name_and_room(&self, ask: &Ask) -> (String, u64) {
        let models = self.models().await;
        let model = Self::named(&models, &ask.model, ask.any_name);
        let name = model.map_or(&ask.model, |model| &model.name);
        (name.clone(), self.room(ask, name, model.and_then(|model| model.context)).await)
    }

    /// The most tokens that an answer may have: what the request says, as far as the context has room after the prompt.
    async fn room(&self, ask: &Ask, name: &str, context: Option<u64>) -> u64 {
        let wanted = ask.max_tokens.or(self.config.max_tokens);
        let Some(context) = context else { return wanted.unwrap_or(UNKNOWN) };
        if let Some(asked) = &ask.ids {
            let left = context.saturating_sub(asked.ids.len() as u64).max(1);
            return wanted.map_or(left, |wanted| wanted.min(left));
        }
        // A token has at least one byte. A tokenizer may add BOS, and a token for the beginning of a word.
        let left = context.saturating_sub(ask.prompt.len() as u64 + 2);
        match wanted {
            Some(wanted) if wanted <= left => return wanted,
            None if left >= ENOUGH => return left,
            _ => {}
        }
        match self.count(name, &ask.prompt, ask.adds_bos).await.ok().flatten() {
            // A prompt that is too long is refused by the upstream, which says so better.
            Some(count) => wanted.unwrap_or(u64::MAX).min(context.saturating_sub(count).max(1)),
            None => wanted.unwrap_or(left.max(context / 4)),
        }
    }

    /// Of how many tokens a prompt consists; `None` if the upstream does not say.
    ///
    /// # Errors
    /// If it cannot be reached.
    pub(crate) async fn count(&self, model: &str, prompt: &str, adds_bos: bool) -> Result<Option<u64>, Trouble> {
        let body = match self.config.api {
            // vLLM and SGLang read the first field, and TGI the second.
            UpstreamApi::OpenAi => {
                json!({"model": model, "prompt": prompt, "inputs": prompt, "add_special_tokens": adds_bos})
            }
            UpstreamApi::LlamaCpp => json!({"content": prompt, "add_special": adds_bos, "parse_special": true}),
        };
        if self.counts_nothing.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let sent = timeout(self.timeouts.first_byte, self.post("/tokenize", &body).send()).await;
        let answer = match sent {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => return Err(unreachable(&error)),
            Err(_) => return Ok(None),
        };
        let read = async {
            if answer.status() == StatusCode::NOT_FOUND {
                self.counts_nothing.store(true, Ordering::Relaxed);
            }
            if !answer.status().is_success() {
                return None;
            }
            let said: Value = serde_json::from_slice(&beginning(answer, self.longest).await).ok()?;
            // TGI answers with the list itself.
            let list = said["tokens"].as_array().or(said.as_array());
            let count = said["count"].as_u64().or_else(|| list.map(|tokens| tokens.len() as u64));
            // A server that reads the text from another field has counted nothing.
            count.filter(|count| *count > 0 || prompt.is_empty())
        };
        Ok(timeout(self.timeouts.first_byte, read).await.ok().flatten())
    }
}
