//! What an upstream says of itself: its protocol, its models with the length of their context, and the template that it has loaded.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::{Client, RequestBuilder};
use serde_json::Value;
use tokio::time::{Instant, timeout};

use super::client::{cause, client_builder};
use super::config::{Secret, UpstreamApi, UpstreamConfig};

/// The maximum of bytes of an answer that are read: a template is in it.
const LONGEST: usize = 4 << 20;

/// What an upstream says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpstreamFacts {
    /// Its protocol.
    pub api: UpstreamApi,
    /// The program that it is.
    pub server: UpstreamServer,
    /// The models that it serves.
    pub models: Vec<UpstreamModel>,
    /// The template that it has loaded, if it shows it. llama.cpp does.
    pub template: Option<UpstreamTemplate>,
}

/// The program that an upstream is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum UpstreamServer {
    /// None of those below.
    #[default]
    Other,
    /// vLLM.
    Vllm,
    /// SGLang.
    Sglang,
    /// Text Generation Inference.
    Tgi,
    /// The server of llama.cpp.
    LlamaCpp,
}

/// A model of an upstream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpstreamModel {
    /// The name that requests have to send.
    pub name: String,
    /// Other names that do as well. llama.cpp lists them.
    pub aliases: Vec<String>,
    /// Where the upstream has it from: a folder, a file, or an id of the Hugging Face Hub.
    pub root: Option<String>,
    /// The most tokens that a prompt and its answer may have together.
    pub context: Option<u64>,
}

/// A template that an upstream has loaded, with the texts of its tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpstreamTemplate {
    /// The template.
    pub text: String,
    /// The text of BOS, which may be empty; `None` if it is not told.
    pub bos: Option<String>,
    /// The text of EOS.
    pub eos: Option<String>,
}

/// Why an upstream does not say what it is. [`Display`](fmt::Display) prints a part of a sentence, without its address.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DiscoverError {
    /// There is no connection to it.
    Unreachable {
        /// Why not.
        cause: String,
    },
    /// Its certificate is not trusted.
    Untrusted {
        /// Why not.
        cause: String,
    },
    /// It has not loaded its model yet (status 503). Ask it again later.
    Loading,
    /// It wants a key, or another one.
    Key {
        /// Whether it got one.
        sent: bool,
    },
    /// It does not answer a question in time.
    Silent {
        /// The path that was asked.
        path: &'static str,
    },
}

impl fmt::Display for DiscoverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable { cause } | Self::Untrusted { cause } => write!(f, "it cannot be reached: {cause}"),
            Self::Loading => f.write_str("it has not loaded its model yet"),
            Self::Key { sent: true } => f.write_str("it refuses the key"),
            Self::Key { sent: false } => f.write_str("it wants a key"),
            Self::Silent { path } => write!(f, "it does not answer {path}"),
        }
    }
}

impl std::error::Error for DiscoverError {}

/// Asks an upstream what it is, and which models it has. `config.api` is not looked at. Each question may take `limit`.
///
/// # Errors
/// If the upstream does not answer, still loads its model, or refuses the key.
pub async fn discover(config: &UpstreamConfig, limit: Duration) -> Result<UpstreamFacts, DiscoverError> {
    let client = client_builder(&config.url).connect_timeout(limit).build();
    let client = client.map_err(|error| DiscoverError::Unreachable { cause: cause(&error) })?;
    let ask = Questions { client: &client, base: config.base(), key: config.key.as_ref(), limit };
    // vLLM and others answer this with an error.
    let props = ask.get("/props").await?.filter(|props| props.get("default_generation_settings").is_some());
    let list = ask.get("/v1/models").await?.unwrap_or_default();
    let mut models = models(&list);
    let Some(props) = props else {
        let mut server = owner(&list);
        if server == UpstreamServer::Other
            && let Some(info) = ask.get("/info").await?
            && let (Some(id), Some(context)) = (info["model_id"].as_str(), info["max_total_tokens"].as_u64())
        {
            server = UpstreamServer::Tgi;
            if models.is_empty() {
                models.push(UpstreamModel { name: id.to_owned(), ..UpstreamModel::default() });
            }
            models.iter_mut().for_each(|model| model.context = model.context.or(Some(context)));
        }
        return Ok(UpstreamFacts { api: UpstreamApi::OpenAi, server, models, template: None });
    };
    let context = props["default_generation_settings"]["n_ctx"].as_u64();
    let models = models.into_iter().map(|model| UpstreamModel { context, ..model }).collect();
    let word = |key: &str| props[key].as_str().map(str::to_owned);
    let text = word("chat_template").filter(|text| !text.is_empty());
    let template = text.map(|text| UpstreamTemplate { text, bos: word("bos_token"), eos: word("eos_token") });
    Ok(UpstreamFacts { api: UpstreamApi::LlamaCpp, server: UpstreamServer::LlamaCpp, models, template })
}

/// The program that says of itself that it owns the models.
fn owner(list: &Value) -> UpstreamServer {
    match list["data"][0]["owned_by"].as_str() {
        Some("vllm") => UpstreamServer::Vllm,
        Some("sglang") => UpstreamServer::Sglang,
        _ => UpstreamServer::Other,
    }
}

/// How long the upstream's list of models is used: it may be restarted with others.
const KEPT: Duration = Duration::from_secs(60);

/// The models of the upstream, and when it listed them. Without a time, the list is out of date.
#[derive(Debug, Default)]
pub(super) struct Listed(Mutex<(Option<Instant>, Arc<[UpstreamModel]>)>);

impl Listed {
    fn known(&self) -> MutexGuard<'_, (Option<Instant>, Arc<[UpstreamModel]>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The models, and whether the list is up to date.
    pub(super) fn get(&self) -> (Arc<[UpstreamModel]>, bool) {
        let (since, models) = &*self.known();
        (models.clone(), since.is_some_and(|since| since.elapsed() < KEPT))
    }

    /// Remembers the models. Returns those that were known before.
    pub(super) fn set(&self, models: Arc<[UpstreamModel]>) -> Arc<[UpstreamModel]> {
        std::mem::replace(&mut *self.known(), (Some(Instant::now()), models)).1
    }

    /// The list is out of date.
    pub(super) fn expire(&self) {
        self.known().0 = None;
    }
}

/// The models in an answer of `/v1/models`.
pub(super) fn models(list: &Value) -> Vec<UpstreamModel> {
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let read = |model: &Value| {
        let context = ["max_model_len", "context_length", "max_context_length"];
        Some(UpstreamModel {
            name: text(&model["id"])?,
            aliases: model["aliases"].as_array().into_iter().flatten().filter_map(text).collect(),
            root: text(&model["root"]),
            context: context.iter().find_map(|key| model[*key].as_u64()),
        })
    };
    list["data"].as_array().into_iter().flatten().filter_map(read).collect()
}

/// Where questions go.
struct Questions<'a> {
    client: &'a Client,
    base: &'a str,
    key: Option<&'a Secret>,
    limit: Duration,
}

impl Questions<'_> {
    /// The answer as JSON; `None` if there is no such endpoint.
    async fn get(&self, path: &'static str) -> Result<Option<Value>, DiscoverError> {
        let request = with_key(self.client.get(format!("{}{path}", self.base)), self.key);
        let ask = async {
            let sent = request.send().await;
            let mut response = sent.map_err(|error| match cause(&error) {
                cause if cause.contains("certificate") => DiscoverError::Untrusted { cause },
                cause => DiscoverError::Unreachable { cause },
            })?;
            match response.status().as_u16() {
                401 | 403 => return Err(DiscoverError::Key { sent: self.key.is_some() }),
                503 => return Err(DiscoverError::Loading),
                status if status >= 400 => return Ok(None),
                _ => {}
            }
            let mut body = Vec::new();
            while let (true, Ok(Some(more))) = (body.len() < LONGEST, response.chunk().await) {
                body.extend_from_slice(&more);
            }
            Ok(serde_json::from_slice(&body).ok())
        };
        timeout(self.limit, ask).await.unwrap_or(Err(DiscoverError::Silent { path }))
    }
}

/// The request with the upstream's key.
pub(super) fn with_key(request: RequestBuilder, key: Option<&Secret>) -> RequestBuilder {
    match key {
        Some(key) => request.bearer_auth(key.reveal()),
        None => request,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn models_are_read_as_servers_list_them() {
        let list = json!({"object": "list", "data": [
            {"id": "own", "root": "/models/own", "max_model_len": 4096},
            {"id": "lora", "root": "/lora", "parent": "own", "max_model_len": null},
            {"id": "tgi", "object": "model", "owned_by": "x"},
            {"object": "model", "aliases": ["nameless"]},
            {"id": "a.gguf", "aliases": ["a", 1, ""]},
        ]});
        let found = models(&list);
        let names: Vec<_> = found.iter().map(|model| (&*model.name, model.root.as_deref(), model.context)).collect();
        assert_eq!(
            names,
            [
                ("own", Some("/models/own"), Some(4096)),
                ("lora", Some("/lora"), None),
                ("tgi", None, None),
                ("a.gguf", None, None)
            ]
        );
        assert_eq!(found[3].aliases, ["a"]);
        assert!(models(&json!({"error": "no"})).is_empty());
        assert_eq!(owner(&list), UpstreamServer::Other);
        assert_eq!(owner(&json!({"data": [{"id": "m", "owned_by": "vllm"}]})), UpstreamServer::Vllm);
    }
}
