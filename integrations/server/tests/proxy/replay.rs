//! An upstream that replays outputs in random pieces, and with faults. A request chooses: `model` and `seed` say which output
//! (and how it is cut), `fault` says what goes wrong. The proxy passes all three on.

use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Response, Uri};
use axum::routing::{get, post};
use bytes::Bytes;
use futures_core::Stream;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::sleep;
use unjinja_testkit::random::Random;

/// What the upstream replays, and what it saw.
#[derive(Default)]
pub struct Replay {
    pub outputs: HashMap<String, Vec<String>>,
    /// Each request gets the next output, whatever its seed is.
    pub in_turn: bool,
    /// It begins no prompt with BOS by itself, as llama.cpp's `/tokenize` tells.
    pub adds_no_bos: bool,
    /// It does not tell how it begins prompts.
    pub hides_bos: bool,
    /// It serves this one model, with a context of this many tokens, and checks both as vLLM does. A word is a token.
    pub strict: Option<(&'static str, u64)>,
    /// The models that it lists now, in place of those that it began with; with null, it fails to.
    pub listed: Mutex<Option<Value>>,
    /// What it tells under `/props`, as llama.cpp does.
    pub props: Option<Value>,
    /// It has no `/tokenize`.
    pub counts_nothing: bool,
    /// Its `/tokenize` finds no text.
    pub counts_zero: bool,
    /// It has not loaded its model yet.
    pub loads: bool,
    /// Wait this long between pieces.
    pub pause: Duration,
    /// The bodies of all requests, if they are to be kept.
    pub asked: Option<Mutex<Vec<Value>>>,
    /// The ids and the traces of all requests.
    pub traces: Mutex<Vec<[String; 2]>>,
    /// Answers whose connection was closed before their end.
    pub closed: AtomicUsize,
    /// Answers that were begun.
    pub begun: AtomicUsize,
    /// Questions of how an empty text begins.
    pub tokenized: AtomicUsize,
}

impl Replay {
    /// Starts the upstream at a free port. Returns its address.
    #[allow(dead_code, reason = "the example says where")]
    pub async fn start(self) -> std::io::Result<(String, Arc<Self>)> {
        self.start_at(TcpListener::bind("127.0.0.1:0").await?)
    }

    /// Starts the upstream. Returns its address.
    pub fn start_at(self, listener: TcpListener) -> std::io::Result<(String, Arc<Self>)> {
        let replay = Arc::new(self);
        let address = format!("http://{}", listener.local_addr()?);
        let router = Router::new()
            .route("/v1/completions", post(complete))
            .route("/completion", post(complete))
            .route("/tokenize", post(tokenize))
            .route("/v1/models", get(models))
            .route("/props", get(props))
            .route("/health", get(|| async { "ok" }))
            .layer(DefaultBodyLimit::disable())
            .with_state(replay.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok((address, replay))
    }

    /// The last request.
    #[allow(dead_code, reason = "the examples ask for none")]
    pub fn last(&self) -> Value {
        let asked = self.asked.as_ref().and_then(|asked| asked.lock().ok()?.last().cloned());
        asked.unwrap_or_default()
    }
}

/// How many tokens a prompt has, where a word is one.
fn count(ask: &Value) -> u64 {
    ask["prompt"].as_str().map_or(0, |prompt| prompt.split_whitespace().count() as u64)
}

async fn models(State(replay): State<Arc<Replay>>) -> Response<Body> {
    if let Some(listed) = replay.listed.lock().ok().and_then(|listed| listed.clone()) {
        let status = if listed.is_null() { 500 } else { 200 };
        return response(status, "application/json", json!({"object": "list", "data": listed}).to_string().into());
    }
    let Some((name, context)) = replay.strict else { return response(404, "text/plain", "Not Found".into()) };
    let list =
        json!({"object": "list", "data": [{"id": name, "root": format!("/models/{name}"), "max_model_len": context}]});
    response(200, "application/json", list.to_string().into())
}

/// What a server says that has not loaded its model yet, as llama.cpp does.
fn loading() -> Response<Body> {
    let error = json!({"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}});
    response(503, "application/json", error.to_string().into())
}

async fn props(State(replay): State<Arc<Replay>>) -> Response<Body> {
    if replay.loads {
        return loading();
    }
    match &replay.props {
        Some(props) => response(200, "application/json", props.to_string().into()),
        None => response(404, "text/plain", "Not Found".into()),
    }
}

/// Why a strict upstream refuses a request, as vLLM says it.
fn refusal((name, context): (&str, u64), ask: &Value) -> Option<(u16, String)> {
    let (asked, tokens) = (ask["model"].as_str().unwrap_or_default(), ask["max_tokens"].as_u64().unwrap_or(16));
    if asked != name {
        return Some((404, format!("The model `{asked}` does not exist.")));
    }
    let whole = count(ask) + tokens;
    (whole > context).then(|| {
        let length =
            format!("This model's maximum context length is {context} tokens. However, you requested {whole} tokens");
        (400, length)
    })
}

/// The tokens of an empty text, or the number of those of a prompt.
async fn tokenize(State(replay): State<Arc<Replay>>, body: Bytes) -> Response<Body> {
    let ask: Value = serde_json::from_slice(&body).unwrap_or_default();
    if replay.counts_nothing {
        return response(404, "application/json", json!({"detail": "Not Found"}).to_string().into());
    }
    if ask.get("prompt").is_some() {
        let count = if replay.counts_zero { 0 } else { count(&ask) };
        let told = json!({"count": count, "max_model_len": replay.strict.map(|(_, context)| context)});
        return response(200, "application/json", told.to_string().into());
    }
    if ask["content"] == "" {
        replay.tokenized.fetch_add(1, Ordering::Relaxed);
    }
    let (status, told) = match (replay.hides_bos, replay.adds_no_bos) {
        (true, _) => (404, json!({"error": {"message": "no such endpoint"}})),
        (false, true) => (200, json!({"tokens": []})),
        (false, false) => (200, json!({"tokens": [1]})),
    };
    response(status, "application/json", told.to_string().into())
}

/// Bytes to send, or the connection to break.
type Sent = Result<Bytes, std::io::Error>;

struct Received(mpsc::Receiver<Sent>);

impl Stream for Received {
    type Item = Sent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Sent>> {
        self.0.poll_recv(context)
    }
}

fn response(status: u16, kind: &str, body: Body) -> Response<Body> {
    let response = Response::builder().status(status).header("content-type", kind).body(body);
    response.unwrap_or_default()
}

async fn complete(
    State(replay): State<Arc<Replay>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response<Body>, Infallible> {
    let mut ask: Value = serde_json::from_slice(&body).unwrap_or_default();
    if let Ok(mut traces) = replay.traces.lock() {
        let header =
            |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        traces.push([header("x-request-id"), header("traceparent")]);
    }
    if let Some(asked) = &replay.asked
        && let Ok(mut asked) = asked.lock()
    {
        asked.push(ask.clone());
    }
    let number = replay.begun.fetch_add(1, Ordering::Relaxed);
    if replay.in_turn {
        ask["seed"] = number.into();
    }
    let fault = ask["fault"].as_str().unwrap_or_default().to_owned();
    let json = "application/json";
    if let Some((status, message)) = replay.strict.and_then(|strict| refusal(strict, &ask)) {
        let error = json!({"error": {"message": message, "type": "BadRequestError", "param": null, "code": status}});
        return Ok(response(status, json, error.to_string().into()));
    }
    if replay.loads {
        return Ok(loading());
    }
    let message = json!({"error": {"message": "no memory left", "type": "InternalServerError", "code": 500}});
    Ok(match fault.as_str() {
        "http_500" => response(500, json, message.to_string().into()),
        "http_500_text" => response(500, "text/plain", "Internal Server Error".into()),
        "http_400" => response(400, json, json!({"object": "error", "message": "too long"}).to_string().into()),
        "http_401" => response(401, json, json!({"error": "wrong key"}).to_string().into()),
        "http_429" => response(429, json, json!({"detail": "busy"}).to_string().into()),
        "html" => response(200, "text/html", "<html>Welcome to nginx!</html>".into()),
        "json_garbage" => response(200, json, "{\"choices\": ".into()),
        "hang" => {
            sleep(Duration::from_secs(60)).await;
            response(200, json, Body::empty())
        }
        _ => {
            let (send, receive) = mpsc::channel(1);
            let kind = if fault == "whole" { json } else { "text/event-stream; charset=utf-8" };
            let native = uri.path() == "/completion";
            tokio::spawn(async move {
                if play(&replay, &ask, native, &fault, &send).await.is_none() {
                    replay.closed.fetch_add(1, Ordering::Relaxed);
                }
            });
            response(200, kind, Body::from_stream(Received(receive)))
        }
    })
}

/// Keeps the connection open, without a token.
async fn ping(send: &mpsc::Sender<Sent>) -> Option<()> {
    for _ in 0..300 {
        send.send(Ok(": ping\n\n".into())).await.ok()?;
        sleep(Duration::from_millis(100)).await;
    }
    Some(())
}

/// A piece is a token, and its own text in capitals is likely too.
fn add_logprobs(chunk: &mut Value, ask: &Value, text: &str) {
    let other = text.to_uppercase() + "!";
    if ask["logprobs"].is_u64() {
        let mut likely = json!({});
        (likely[&other], likely[text]) = (json!(-1.5), json!(-0.5));
        chunk["choices"][0]["logprobs"] =
            json!({"tokens": [text], "token_logprobs": [-0.5], "top_logprobs": [likely], "text_offset": [0]});
    }
    if ask["n_probs"].is_u64() {
        let token =
            |text: &str, logprob: f64| json!({"id": 7, "token": text, "bytes": text.as_bytes(), "logprob": logprob});
        let mut own = token(text, -0.5);
        own["top_logprobs"] = json!([token(text, -0.5), token(&other, -1.5)]);
        chunk["completion_probabilities"] = json!([own]);
    }
}

/// The form of the pieces of an answer.
struct Form<'a> {
    ask: &'a Value,
    native: bool,
    fault: &'a str,
    /// The stop text that ends the answer.
    stop: Option<&'a str>,
}

impl Form<'_> {
    fn chunk(&self, text: &str, finish: Option<&str>) -> Value {
        let stop = self.stop.filter(|_| finish.is_some());
        let mut chunk = match (self.native, self.fault) {
            (true, _) => json!({"content": text, "stop": finish.is_some(), "stop_type": finish.unwrap_or("none"),
                "stopping_word": stop.unwrap_or_default(), "tokens_evaluated": 11, "tokens_predicted": 7}),
            (_, "choices") => json!({"choices": [
                {"index": 1, "text": "Wrong.", "finish_reason": "length"},
                {"index": 0, "text": text, "finish_reason": finish},
            ]}),
            (_, "empty_reasons") => {
                json!({"choices": [{"index": 0, "text": text, "finish_reason": finish.unwrap_or_default()}]})
            }
            // SGLang's name, and vLLM's.
            (_, "sglang") => {
                json!({"choices": [{"index": 0, "text": text, "finish_reason": finish, "matched_stop": stop}]})
            }
            _ => json!({"choices": [{"index": 0, "text": text, "finish_reason": finish, "stop_reason": stop}]}),
        };
        if !text.is_empty() && self.fault != "no_logprobs" {
            add_logprobs(&mut chunk, self.ask, text);
        }
        chunk
    }

    /// An answer in random pieces, and how many of them come before its middle.
    fn pieces(&self, text: &str, random: &mut Random) -> (Vec<Value>, usize) {
        let (mut pieces, mut rest) = (Vec::new(), text);
        while !rest.is_empty() {
            let from = 1 + random.below(12);
            let at = (from..rest.len()).find(|&at| rest.is_char_boundary(at)).unwrap_or(rest.len());
            let (piece, tail) = rest.split_at(at);
            pieces.push(self.chunk(piece, None));
            rest = tail;
        }
        let middle = pieces.len() / 2;
        let end = match (self.native, self.stop) {
            _ if matches!(self.fault, "abort" | "error" | "length") => self.fault,
            (true, None) => "eos",
            (true, Some(_)) => "word",
            (false, _) => "stop",
        };
        pieces.push(self.chunk("", Some(end)));
        if self.fault == "after_end" {
            let late = json!({"error": {"message": "too late"}});
            pieces.extend([late, json!("oops"), self.chunk("More.", Some("abort"))]);
        }
        if !self.native {
            pieces.push(json!({"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 7}}));
        }
        (pieces, middle)
    }

    /// What goes wrong in the middle of an answer. `None` if the answer ends there.
    async fn disturb(&self, send: &mpsc::Sender<Sent>) -> Option<()> {
        match self.fault {
            "slow" => tokio::select! {
                () = send.closed() => return None,
                () = sleep(Duration::from_secs(60)) => {}
            },
            "pings_within" => ping(send).await?,
            "cut_off" => return None,
            "reset" => {
                send.send(Err(std::io::Error::other("reset"))).await.ok()?;
                return None;
            }
            "garbage" => send.send(Ok("data: {\"choices\": [oops\n\n".into())).await.ok()?,
            "long" => {
                for _ in 0..200 {
                    send.send(Ok(Bytes::from(vec![b'x'; 1000]))).await.ok()?;
                }
            }
            "error_event" => {
                let error = json!({"error": {"message": "out of blocks", "code": 500}});
                send.send(Ok(format!("data: {error}\n\n").into())).await.ok()?;
            }
            "invalid_utf_8" => {
                let mut bytes = format!("data: {}\n\n", self.chunk("@", None)).into_bytes();
                bytes.iter_mut().filter(|byte| **byte == b'@').for_each(|byte| *byte = 0xFF);
                send.send(Ok(bytes.into())).await.ok()?;
            }
            _ => {}
        }
        Some(())
    }
}

/// Sends an answer. Nothing is returned if it is broken off.
async fn play(replay: &Replay, ask: &Value, native: bool, fault: &str, send: &mpsc::Sender<Sent>) -> Option<()> {
    let seed = ask["seed"].as_u64().unwrap_or_default();
    let mut random = Random::new(seed + 1);
    let outputs = replay.outputs.get(ask["model"].as_str().unwrap_or_default());
    let outputs = outputs.or(replay.outputs.values().next())?;
    let text = &outputs[usize::try_from(seed).ok()? % outputs.len()];
    // As servers do, it stops before the first stop text and says which it was.
    let stops = ask["stop"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let stop = stops.filter_map(|stop| Some((text.find(stop)?, stop))).min();
    let text = &text[..stop.map_or(text.len(), |(at, _)| at)];
    let form = Form { ask, native, fault, stop: stop.map(|(_, stop)| stop) };
    match fault {
        "whole" => {
            let mut whole = form.chunk(text, Some("stop"));
            whole["usage"] = json!({"prompt_tokens": 11, "completion_tokens": 7});
            return send.send(Ok(whole.to_string().into())).await.ok();
        }
        "pings" => ping(send).await?,
        "late" => {
            send.send(Ok(format!(": ping\n\ndata: {}\n\n", form.chunk("", None)).into())).await.ok()?;
            sleep(Duration::from_secs(3)).await;
        }
        _ => {}
    }
    let (pieces, middle) = form.pieces(text, &mut random);
    for (at, piece) in pieces.iter().enumerate() {
        if at == middle {
            form.disturb(send).await?;
        }
        // Every way in which servers write events.
        let event = match random.below(4) {
            0 => format!("data:{piece}\r\n\r\n"),
            1 => format!(": ping\n\ndata: {piece}\n\n"),
            2 => format!("event: x\nid: 1\ndata: {piece}\n\n"),
            _ => format!("data: {piece}\n\n"),
        };
        let mut bytes = event.as_bytes();
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at((1 + random.below(400)).min(bytes.len()));
            send.send(Ok(Bytes::copy_from_slice(now))).await.ok()?;
            bytes = later;
        }
        if !replay.pause.is_zero() {
            tokio::select! {
                () = send.closed() => return None,
                () = sleep(replay.pause) => {}
            }
        }
    }
    if native || fault == "no_done" {
        return Some(());
    }
    send.send(Ok("data: [DONE]\n\n".into())).await.ok()
}
