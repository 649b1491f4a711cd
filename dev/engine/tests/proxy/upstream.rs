//! A server with the endpoints of llama.cpp's server that the proxy uses, and a random model in process.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use axum::routing::{get, post};
use bytes::Bytes;
use futures_core::Stream;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use unjinja_engine::RandomModel;

use super::Failure;
use super::generate::{End, GenerateRequest, generate};

/// The server's state.
pub struct Upstream {
    model: RandomModel,
    /// The last answer.
    last: Mutex<String>,
    /// llama.cpp makes one context at a time.
    alone: Mutex<()>,
}

impl Upstream {
    /// Starts the server. Returns its address.
    pub async fn start(model: RandomModel) -> Result<(String, Arc<Self>), Failure> {
        let upstream = Arc::new(Self { model, last: Mutex::default(), alone: Mutex::default() });
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = format!("http://{}", listener.local_addr()?);
        let router = Router::new()
            .route("/completion", post(complete))
            // The vocabulary says that no token is put before a text.
            .route("/tokenize", post(|| async { json!({"tokens": []}).to_string() }))
            .route("/health", get(|| async { json!({"status": "ok"}).to_string() }))
            .with_state(upstream.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok((address, upstream))
    }

    /// The text of the last answer, and how it ended.
    pub fn last(&self) -> String {
        self.last.lock().map(|last| last.clone()).unwrap_or_default()
    }
}

fn response(status: u16, kind: &str, body: Body) -> Response<Body> {
    Response::builder().status(status).header("content-type", kind).body(body).unwrap_or_default()
}

/// An error in the form of llama.cpp's server.
fn error(message: &str) -> Value {
    json!({"error": {"code": 400, "message": message, "type": "invalid_request_error"}})
}

async fn complete(State(upstream): State<Arc<Upstream>>, body: Bytes) -> Response<Body> {
    let json = "application/json";
    let ask: GenerateRequest = match serde_json::from_slice(&body) {
        Ok(ask) => ask,
        Err(wrong) => return response(400, json, error(&wrong.to_string()).to_string().into()),
    };
    let stream = ask.stream;
    let (send, mut receive) = mpsc::channel(64);
    tokio::task::spawn_blocking(move || answer(&upstream, &ask, &send));
    if stream {
        return response(200, "text/event-stream", Body::from_stream(Received(receive)));
    }
    let (mut text, mut last) = (String::new(), Value::Null);
    while let Some(event) = receive.recv().await {
        text.push_str(event["content"].as_str().unwrap_or_default());
        last = event;
    }
    last["content"] = text.into();
    response(if last["error"].is_null() { 200 } else { 400 }, json, last.to_string().into())
}

/// Sends the events of an answer.
fn answer(upstream: &Upstream, ask: &GenerateRequest, send: &mpsc::Sender<Value>) {
    let mut text = String::new();
    let end = {
        let _alone = upstream.alone.lock();
        generate(&upstream.model, ask, |piece| {
            text.push_str(&piece);
            send.blocking_send(json!({"content": piece, "stop": false})).is_ok()
        })
    };
    let last = match end {
        Ok(End { stop_type, stopping_word, evaluated, predicted }) => json!({
            "content": "", "stop": true, "stop_type": stop_type, "stopping_word": stopping_word,
            "tokens_evaluated": evaluated, "tokens_predicted": predicted,
        }),
        Err(wrong) => error(&format!("{wrong}, after {text:?}")),
    };
    if let Ok(mut written) = upstream.last.lock() {
        *written = format!("{text:?}, then {last}");
    }
    // Nobody reads it if the client went away.
    let _ = send.blocking_send(last);
}

/// Events as the body of a response.
struct Received(mpsc::Receiver<Value>);

impl Stream for Received {
    type Item = Result<Bytes, std::convert::Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|event| event.map(|event| Ok(format!("data: {event}\n\n").into())))
    }
}
