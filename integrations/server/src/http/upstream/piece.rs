//! What the upstream is asked, the pieces of its answer, and its errors: what the protocols share.

use std::collections::HashMap;

use axum::http::StatusCode;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use unjinja_dynamic::{Grammar, Target};

use crate::error::ApiError;
use crate::finish::{Finish, Usage};
use crate::http::encoding::Encoding;
use crate::http::guard::Trace;

/// The most characters of what the upstream said that a client is told.
const SHOWN: usize = 300;

/// The kind of trouble with an upstream that refuses a request.
pub(super) const REFUSED: &str = "refused";

/// Bytes of an error's type or code, at most.
const LONGEST_WORD: usize = 64;

/// What the upstream is asked.
#[derive(Debug)]
pub(crate) struct Ask {
    pub model: String,
    /// The upstream may know the model under another name: the client chose this one.
    pub any_name: bool,
    pub prompt: String,
    /// The prompt as ids, which are sent in its place.
    pub ids: Option<AskedIds>,
    /// The upstream is to begin the prompt with BOS. If not, the prompt has it, or needs none.
    pub adds_bos: bool,
    pub stops: Vec<String>,
    pub max_tokens: Option<u64>,
    /// The sampler's settings, as the client wrote them.
    pub settings: Map<String, Value>,
    /// The probabilities of tokens are wanted, and of this many likely alternatives to each.
    pub logprobs: Option<u64>,
    pub grammar: Option<Grammar>,
    /// The engine for which the grammar is written.
    pub engine: Target,
    /// Special tokens that have to stay in the output.
    pub preserved: Vec<String>,
    pub trace: Trace,
}

/// A prompt as ids.
#[derive(Debug)]
pub(crate) struct AskedIds {
    pub ids: Vec<u32>,
    /// How many special tokens texts of the request spell.
    pub spelled: usize,
    pub encoding: Encoding,
    /// Texts that end a turn and are one token each, with their ids.
    pub stops: Vec<(String, u32)>,
}

impl Ask {
    /// The prompt, as ids if it has them.
    pub(super) fn prompt(&self) -> Value {
        match &self.ids {
            Some(asked) => asked.ids.as_slice().into(),
            None => self.prompt.as_str().into(),
        }
    }

    /// The ids that end the output, if the upstream gives ids.
    pub(super) fn stop_ids(&self, gives_ids: bool) -> Vec<u32> {
        let asked = self.ids.as_ref().filter(|_| gives_ids);
        asked.map(|asked| asked.stops.iter().map(|(_, id)| *id).collect()).unwrap_or_default()
    }

    /// The texts that end the output. Of an upstream that gives ids, tokens are told by these: text that spells one does not end the output.
    pub(super) fn stop_texts(&self, gives_ids: bool) -> Vec<String> {
        let asked = self.ids.as_ref().filter(|_| gives_ids);
        let is_token = |text: &&String| asked.is_some_and(|asked| asked.stops.iter().any(|(stop, _)| stop == *text));
        self.stops.iter().filter(|stop| !is_token(stop)).cloned().collect()
    }

    /// The sampler's settings without those that would change the form of the answer. Of several answers to one request, each has a
    /// seed of its own: with the same seed they would be the same.
    pub(super) fn settings(&self, dropped: &[&str], choice: usize) -> Map<String, Value> {
        let mut settings = self.settings.clone();
        settings.retain(|key, _| !dropped.contains(&key.as_str()));
        if let Some(seed) = settings.get_mut("seed").filter(|_| choice > 0)
            && let Some(first) = seed.as_i64()
        {
            *seed = first.wrapping_add(i64::try_from(choice).unwrap_or_default()).into();
        }
        settings
    }

    /// How many likely alternatives to each token the upstream is asked for. Some servers take 0 for no probabilities.
    pub(super) fn likely(&self) -> Option<u64> {
        self.logprobs.map(|top| top.max(1))
    }
}

/// What is known of an upstream that has the vocabulary of a model's tokenizer, or does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Agreement {
    /// It gives the ids of what it writes.
    pub gives_ids: bool,
}

/// What is known, by the number of an encoding and the name of a model.
pub(super) type Agreements = HashMap<(u64, String), Agreement>;

/// A piece of the upstream's answer.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Piece {
    pub text: String,
    /// The ids of its tokens, if the upstream gives them. Text may come later than its ids.
    pub ids: Vec<u32>,
    /// Why the output ended, and the text that ended it.
    pub finish: Option<(Finish, Option<String>)>,
    pub usage: Option<Usage>,
    /// The probabilities of its tokens, in OpenAI's form, if they were asked for.
    pub logprobs: Vec<Value>,
    /// Nothing follows.
    pub last: bool,
}

/// The probability of a token in OpenAI's form, without that of others. A server that knows none writes a very small one, as OpenAI does.
pub(super) fn token(text: &str, logprob: Option<f64>) -> Value {
    json!({"token": text, "logprob": logprob.unwrap_or(-9999.0), "bytes": text.as_bytes()})
}

/// A token with likely ones, the likeliest first.
pub(super) fn with_likely(mut own: Value, mut likely: Vec<Value>) -> Value {
    let logprob = |token: &Value| token["logprob"].as_f64().unwrap_or(f64::NEG_INFINITY);
    likely.sort_by(|one, other| logprob(other).total_cmp(&logprob(one)));
    own["top_logprobs"] = likely.into();
    own
}

/// What went wrong with the upstream: a kind for metrics and logs, and what the client is told.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub kind: &'static str,
    pub error: ApiError,
}

impl Trouble {
    pub(crate) fn new(kind: &'static str, status: u16, message: impl Into<String>) -> Self {
        Self { kind, error: ApiError::new(status, message) }
    }

    /// The upstream cannot do what a request asks for.
    pub(crate) fn refused(error: ApiError) -> Self {
        Self { kind: REFUSED, error }
    }

    /// With the type and the code that the upstream gave its error.
    fn with_words(mut self, value: &Value) -> Self {
        let error = value.get("error").unwrap_or(value);
        let word = |key: &str| error[key].as_str().filter(|word| !word.is_empty() && word.len() <= LONGEST_WORD);
        self.error = self.error.said(word("type"), word("code"));
        self
    }

    pub(super) fn garbage(what: &str, seen: &[u8]) -> Self {
        let seen = excerpt(&String::from_utf8_lossy(seen));
        Self::new("garbage", 502, format!("the upstream sent {what}: {seen:?}; check --upstream and --upstream-api"))
    }

    pub(super) fn cut_off() -> Self {
        let next = "what came before is incomplete; send the request again";
        Self::new("cut_off", 502, format!("the upstream's answer stopped before its end; {next}"))
    }
}

/// The beginning of a text.
pub(super) fn excerpt(text: &str) -> String {
    let mut short: String = text.chars().take(SHOWN).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// What a client is told if the upstream refuses a request. A wrong key is the operator's mistake and not the client's.
pub(super) fn refused(status: StatusCode, body: &[u8]) -> Trouble {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let said = match said(&value) {
        Some(text) => excerpt(&text),
        None => excerpt(&String::from_utf8_lossy(body)),
    };
    let passed_on = match status.as_u16() {
        401 | 403 | 407 => 502,
        status @ 400..=599 => status,
        _ => 502,
    };
    // About its own key, the upstream tells the operator and not the client. Some repeat the key.
    let said = if passed_on == status.as_u16() { said.trim() } else { "it does not take the proxy's own key" };
    let message = format!("the upstream answered with status {}: {said}", status.as_u16());
    let trouble = Trouble::new(REFUSED, passed_on, message.trim_end_matches([':', ' ']).to_owned());
    if passed_on == status.as_u16() { trouble.with_words(&value) } else { trouble }
}

/// The sentence of an error, in the forms that servers have.
fn said(value: &Value) -> Option<String> {
    let error = value.get("error").unwrap_or(value);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    text(error).or_else(|| ["message", "detail"].iter().find_map(|key| error.get(key).and_then(text))).or_else(|| {
        let detail = value.get("detail")?;
        (!detail.is_null()).then(|| detail.to_string())
    })
}

/// An event, or a whole answer, which has the field `key`; `None` for the event that ends a stream.
pub(super) fn event<T: DeserializeOwned>(data: &[u8], key: &str) -> Result<Option<T>, Trouble> {
    let text = std::str::from_utf8(data).map_err(|_| Trouble::garbage("bytes that are no UTF-8", data))?.trim();
    if text == "[DONE]" {
        return Ok(None);
    }
    serde_json::from_str(text).map(Some).map_err(|_| match serde_json::from_str::<Value>(text) {
        Ok(value @ Value::Object(_)) if value.get(key).is_none() => failed(&value),
        _ => Trouble::garbage("no completion", data),
    })
}

/// The error that an event says.
fn failed(value: &Value) -> Trouble {
    let message = said(value).unwrap_or_else(|| excerpt(&value.to_string()));
    let code = ["code", "status_code"].iter().find_map(|key| value["error"][key].as_u64().or(value[key].as_u64()));
    let status = code.and_then(|code| u16::try_from(code).ok()).filter(|code| (400..600).contains(code));
    let status = match status {
        Some(401 | 403 | 407) | None => 502,
        Some(status) => status,
    };
    Trouble::new("failed", status, format!("the upstream failed: {}", excerpt(&message)))
}

/// Why the output ended, and the text that ended it.
pub(super) fn ended(reason: &str, by: Option<&str>) -> Result<(Finish, Option<String>), Trouble> {
    if Finish::is_failure(reason) {
        let next = "what came before is incomplete; send the request again";
        let message = format!("the upstream gave up, and ended its answer with {:?}; {next}", excerpt(reason));
        return Err(Trouble::new("failed", 502, message));
    }
    Ok((Finish::from_reason(reason), by.filter(|text| !text.is_empty()).map(str::to_owned)))
}
