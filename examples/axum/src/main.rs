//! A chat endpoint of your own: loads a chat template, reads requests in OpenAI's format, and streams what the model writes.
//!
//! ```text
//! cargo run -p example-axum                                           # the template next to this example
//! cargo run -p example-axum -- 127.0.0.1:3000 tokenizer_config.json   # an address, and your own template
//! curl -N http://127.0.0.1:3000/v1/chat/completions \
//!     -d '{"stream": true, "messages": [{"role": "user", "content": "Hello!"}]}'
//! ```
//!
//! The text comes from `generate.rs`, which stands in for a model: put yours there.

mod generate;

use std::error::Error;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use unjinja_dynamic::{Conversation, Message, Model};
use unjinja_server::openai::{ChatCompletion, ChatRequest, ChunkWriter};
use unjinja_server::{ApiError, Finish};

use generate::generate;

/// The template next to this file.
const TEMPLATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/chat_template.jinja");

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:3000".to_owned());
    let model = Model::from_file(arguments.next().as_deref().unwrap_or(TEMPLATE))?;
    for gap in model.gaps() {
        eprintln!("this template is not fully understood: {gap}");
    }
    let app = Router::new().route("/v1/chat/completions", post(chat)).with_state(model);
    let listener = TcpListener::bind(&address).await.map_err(|error| format!("{address}: {error}"))?;
    println!("listening on http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, app).await?)
}

/// Answers a request, whole or streamed.
async fn chat(State(model): State<Model>, body: Bytes) -> Result<Response, Refused> {
    let request = ChatRequest::from_json(&body)?;
    let prepared = request.prepare(model.spec())?;
    let sampling = &prepared.sampling;
    for (is_wanted, field) in [(sampling.choices > 1, "n"), (sampling.logprobs.is_some(), "logprobs")] {
        if is_wanted {
            return Err(ApiError::unsupported(field, "this server writes one answer, as text", "leave it out").into());
        }
    }
    let prompt = model.prompt(&Conversation::from_context(&prepared.context));
    let prompt = prompt.map_err(|error| ApiError::new(400, error.to_string()))?;
    let prepared = prepared.prompt(prompt.turn());

    let mut pieces = generate(prompt.text());
    let mut parser = model.stream(&prepared.options);
    if !prepared.stream {
        let (mut message, mut ids) = (Message::default(), prepared.call_ids);
        while let Some(piece) = pieces.recv().await {
            parser.push(piece.as_str(), |event| message.apply(&event));
        }
        parser.finish(|event| message.apply(&event));
        return Ok(Json(ChatCompletion::new(prepared.model, message, &mut ids, &Finish::Stop)).into_response());
    }

    let mut writer = ChunkWriter::new(prepared.model, prepared.call_ids);
    let (send, receive) = mpsc::channel(16);
    tokio::spawn(async move {
        // Ends early if the client goes away. The model notices that nobody takes its pieces any more.
        while let Some(piece) = pieces.recv().await {
            let mut chunks = Vec::new();
            parser.push(piece.as_str(), |event| chunks.extend(writer.event(&event)));
            for chunk in chunks {
                if send.send(Event::default().json_data(chunk)).await.is_err() {
                    return;
                }
            }
        }
        let mut chunks = Vec::new();
        parser.finish(|event| chunks.extend(writer.event(&event)));
        chunks.extend(writer.finish(&Finish::Stop, None));
        let events = chunks.into_iter().map(|chunk| Event::default().json_data(chunk));
        for event in events.chain([Ok(Event::default().data("[DONE]"))]) {
            if send.send(event).await.is_err() {
                return;
            }
        }
    });
    Ok(Sse::new(ReceiverStream::new(receive)).into_response())
}

/// An error in OpenAI's format.
struct Refused(ApiError);

impl From<ApiError> for Refused {
    fn from(error: ApiError) -> Self {
        Self(error)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        (status, Json(self.0)).into_response()
    }
}
