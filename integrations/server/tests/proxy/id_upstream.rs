//! An upstream that takes ids as a prompt and gives the ids of what it writes, as vLLM, SGLang and llama.cpp do, and a small tokenizer.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::Response;
use axum::routing::post;
use bytes::Bytes;
use reqwest::Client;
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use unjinja_server::http::{Config, Log, Models, Proxy, ServedModel, UpstreamApi, UpstreamConfig, client_builder};
use unjinja_tokens::Vocabulary;

use super::setup::Failure;

/// A tokenizer with a token for each letter of a byte-level vocabulary, whose id is the number of its byte, and added tokens with the ids
/// from 256 on: each its text, and whether the tokenizer marks it as special.
pub fn tokenizer_json(added: &[(&str, bool)]) -> String {
    let vocabulary: Map<_, _> = (0..=u8::MAX).map(|byte| (letter_of(byte).to_string(), json!(byte))).collect();
    let level = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false});
    let token = |(number, (content, special)): (usize, &(&str, bool))| {
        json!({"id": 256 + number, "content": content, "special": special, "single_word": false, "lstrip": false,
               "rstrip": false, "normalized": false})
    };
    let added: Vec<Value> = added.iter().enumerate().map(token).collect();
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": added, "normalizer": null,
        "pre_tokenizer": level, "post_processor": null, "decoder": level,
        "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
                  "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
                  "vocab": vocabulary, "merges": []},
    })
    .to_string()
}

/// The letter that a byte-level tokenizer writes for a byte: the character of that number if it can be seen, else the next free
/// one from 256 on.
fn letter_of(byte: u8) -> char {
    let is_visible = |byte: u8| matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    if is_visible(byte) {
        return char::from(byte);
    }
    let before = (0..byte).filter(|&byte| !is_visible(byte)).count();
    u32::try_from(256 + before).ok().and_then(char::from_u32).unwrap_or_default()
}

/// The tokens of Qwen3's template. The tags of calls are added tokens that are not special, as in the released tokenizer.
pub const QWEN3: [(&str, bool); 7] = [
    ("<|im_start|>", true),
    ("<|im_end|>", true),
    ("<|endoftext|>", true),
    ("<tool_call>", false),
    ("</tool_call>", false),
    ("<think>", false),
    ("</think>", false),
];

pub fn qwen3() -> Vocabulary {
    Vocabulary::from_json(&tokenizer_json(&QWEN3)).expect("a small tokenizer is valid")
}

/// A piece of an answer: ids, and the text that arrives with them.
pub type Written = (Vec<u32>, String);

/// A text in which special tokens are tokens: a piece for each token.
pub fn tokens(vocabulary: &Vocabulary, text: &str) -> Vec<Written> {
    let ids = vocabulary.ids(text).expect("every byte is a token");
    let mut held = Vec::new();
    let piece = |id: u32| {
        held.extend_from_slice(vocabulary.bytes(id).unwrap_or_default());
        // A part of a character has no text; the next token has all of it.
        let text = String::from_utf8(std::mem::take(&mut held)).unwrap_or_else(|error| {
            held = error.into_bytes();
            String::new()
        });
        (vec![id], text)
    };
    ids.into_iter().map(piece).collect()
}

/// A text that spells its special tokens: a token for each byte.
pub fn spelled(text: &str) -> Vec<Written> {
    text.chars().map(|c| (c.to_string().bytes().map(u32::from).collect(), c.to_string())).collect()
}

/// What the upstream does, and what it saw.
pub struct IdUpstream {
    /// Its vocabulary.
    pub vocabulary: Vocabulary,
    /// What it writes.
    pub output: Vec<Written>,
    /// Why it ends: the fields of the last piece.
    pub end: Value,
    /// It gives ids.
    pub gives_ids: bool,
    /// It takes ids as a prompt.
    pub takes_ids: bool,
    /// How many tokens are added to a prompt of ids.
    pub adds: usize,
    /// It has `/tokenize`.
    pub tokenizes: bool,
    /// It reports the usage.
    pub reports_usage: bool,
    /// The bodies of the requests, without the first questions.
    pub asked: Mutex<Vec<Value>>,
}

impl IdUpstream {
    pub fn new(output: Vec<Written>) -> Self {
        Self {
            vocabulary: qwen3(),
            output,
            end: json!({}),
            gives_ids: true,
            takes_ids: true,
            adds: 0,
            tokenizes: true,
            reports_usage: true,
            asked: Mutex::default(),
        }
    }

    /// The prompt of the last request.
    pub fn prompt(&self) -> Vec<u32> {
        serde_json::from_value(self.last()["prompt"].clone()).expect("a prompt of ids")
    }

    pub fn last(&self) -> Value {
        self.asked.lock().unwrap().last().cloned().unwrap_or_default()
    }

    /// The text of ids.
    pub fn text(&self, ids: &[u32]) -> String {
        let bytes: Vec<u8> =
            ids.iter().flat_map(|id| self.vocabulary.bytes(*id).unwrap_or_default()).copied().collect();
        String::from_utf8(bytes).expect("a prompt is text")
    }
}

async fn tokenize(State(upstream): State<Arc<IdUpstream>>, body: Bytes) -> Response<Body> {
    let ask: Value = serde_json::from_slice(&body).unwrap_or_default();
    if !upstream.tokenizes {
        return response(404, "application/json", json!({"detail": "Not Found"}).to_string());
    }
    let text = ask["prompt"].as_str().or(ask["content"].as_str()).unwrap_or_default();
    let tokens = upstream.vocabulary.ids(text).unwrap_or_default();
    response(200, "application/json", json!({"tokens": tokens, "count": tokens.len()}).to_string())
}

fn response(status: u16, kind: &str, body: String) -> Response<Body> {
    Response::builder().status(status).header("content-type", kind).body(Body::from(body)).unwrap_or_default()
}

async fn completions(State(upstream): State<Arc<IdUpstream>>, body: Bytes) -> Response<Body> {
    complete(&upstream, &body, false)
}

async fn completion(State(upstream): State<Arc<IdUpstream>>, body: Bytes) -> Response<Body> {
    complete(&upstream, &body, true)
}

fn complete(upstream: &IdUpstream, body: &[u8], native: bool) -> Response<Body> {
    let ask: Value = serde_json::from_slice(body).unwrap_or_default();
    let read = ask["prompt"].as_array().map(|ids| ids.len() + upstream.adds);
    if !upstream.takes_ids && read.is_some() {
        let error = json!({"error": {"message": "prompt: a string is needed", "code": 422}});
        return response(422, "application/json", error.to_string());
    }
    let wants_ids = ask[if native { "return_tokens" } else { "return_token_ids" }] == true;
    let gives_ids = upstream.gives_ids && wants_ids;
    let written = upstream.output.iter().map(|(ids, _)| ids.len()).sum::<usize>();
    let piece = |ids: &[u32], text: &str, end: Option<&Value>| {
        let mut choice = match native {
            true => json!({"content": text, "stop": end.is_some()}),
            false => json!({"index": 0, "text": text, "finish_reason": end.map(|_| "stop")}),
        };
        if gives_ids {
            choice[if native { "tokens" } else { "token_ids" }] = ids.into();
        }
        for (key, value) in end.and_then(Value::as_object).into_iter().flatten() {
            choice[key] = value.clone();
        }
        if native && end.is_some() && upstream.reports_usage {
            (choice["tokens_evaluated"], choice["tokens_predicted"]) = (read.into(), written.into());
        }
        if native { choice } else { json!({"choices": [choice]}) }
    };
    let usage = json!({"prompt_tokens": read, "completion_tokens": written});
    if ask["stream"] != true {
        let mut whole = piece(&[97], "a", Some(&json!({})));
        whole["usage"] = usage;
        return response(200, "application/json", whole.to_string());
    }
    upstream.asked.lock().unwrap().push(ask);
    let mut pieces: Vec<Value> = upstream.output.iter().map(|(ids, text)| piece(ids, text, None)).collect();
    if !upstream.end.is_null() {
        pieces.push(piece(&[], "", Some(&upstream.end)));
    }
    if !native && upstream.reports_usage {
        pieces.push(json!({"choices": [], "usage": usage}));
    }
    let done = if native { "" } else { "data: [DONE]\n\n" };
    let events: String = pieces.iter().map(|piece| format!("data: {piece}\n\n")).collect();
    response(200, "text/event-stream", events + done)
}

/// A proxy in front of it.
pub struct Asked {
    pub url: String,
    pub client: Client,
    pub upstream: Arc<IdUpstream>,
    pub log: Arc<Mutex<Vec<String>>>,
    /// What the operator is told at the start.
    pub problem: Option<String>,
}

impl Asked {
    pub async fn start(
        upstream: IdUpstream,
        models: Vec<ServedModel>,
        api: UpstreamApi,
        change: impl FnOnce(&mut Config),
    ) -> Result<Self, Failure> {
        let upstream = Arc::new(upstream);
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = format!("http://{}", listener.local_addr()?);
        let router = Router::new()
            .route("/v1/completions", post(completions))
            .route("/completion", post(completion))
            .route("/tokenize", post(tokenize))
            .layer(DefaultBodyLimit::disable())
            .with_state(upstream.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        let log = Arc::new(Mutex::new(Vec::new()));
        let lines = log.clone();
        let mut config = Config::new(UpstreamConfig::new(&address, api)?);
        config.log = Log::to(move |line| lines.lock().unwrap().push(line.to_string()));
        config.diagnostics = true;
        change(&mut config);
        let proxy = Proxy::new(config, Models::new(models)?)?;
        let problem = proxy.vocabulary_problem().await;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        tokio::spawn(proxy.serve(listener, std::future::pending()));
        let client = client_builder(&url.parse()?).build()?;
        Ok(Self { url, client, upstream, log, problem })
    }

    pub async fn post(&self, path: &str, body: &Value) -> Result<(u16, String), Failure> {
        let request = self.client.post(format!("{}{path}", self.url)).header("content-type", "application/json");
        let answer = request.body(body.to_string()).send().await?;
        Ok((answer.status().as_u16(), answer.text().await?))
    }

    /// A whole answer of chat completions, and its message.
    pub async fn chat(&self, body: &Value) -> Result<(Value, Value), Failure> {
        let (status, text) = self.post("/v1/chat/completions", body).await?;
        let answer: Value = serde_json::from_str(&text).map_err(|error| format!("{error}: {text}"))?;
        if status != 200 {
            return Err(answer["error"]["message"].as_str().unwrap_or(&text).into());
        }
        Ok((answer["choices"][0].clone(), answer["usage"].clone()))
    }

    pub fn logged(&self, text: &str) -> usize {
        self.log.lock().unwrap().iter().filter(|line| line.contains(text)).count()
    }
}
