//! Requests that are passed on unchanged, because they are not chats: texts to complete, embeddings, and tokens. Only known
//! fields are passed on, and those that the operator names.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::body_parts::{BodyPart, body_of_parts};
use super::fields;
use super::guard::{Guard, Trace};
use super::models::ServedModel;
use super::refusal::error_response;
use super::reply::Api;
use super::state::State;
use super::upstream::Trouble;
use crate::error::ApiError;
use crate::request_value::parse;

/// The endpoints, each with the fields that are passed on besides those of the sampler.
pub(crate) const ENDPOINTS: [(&str, &str); 3] = [
    (
        "/v1/completions",
        "model prompt suffix stream stream_options max_tokens n best_of echo logprobs stop user \
         response_format structured_outputs ebnf regex add_special_tokens skip_special_tokens \
         spaces_between_special_tokens include_stop_str_in_output return_token_ids prompt_logprobs",
    ),
    ("/v1/embeddings", "model input encoding_format dimensions user truncate_prompt_tokens"),
    (
        "/tokenize",
        "model prompt content messages tools add_special_tokens add_special parse_special with_pieces \
         add_generation_prompt continue_final_message return_token_strs",
    ),
];

/// Passes a request on, and its answer back.
pub(crate) async fn pass_on(
    state: Arc<State>,
    guard: Guard,
    trace: &Trace,
    (path, known): (&'static str, &'static str),
    body: &[u8],
) -> Response<Body> {
    let refused = |guard: Guard, error: &ApiError, logged: &str| {
        guard.end(error.status(), Some(logged.to_owned()), Duration::ZERO);
        error_response(Api::OpenAi, error)
    };
    let mut value = match parse(body) {
        Ok(value) if value.is_object() => value,
        Ok(_) => {
            return refused(
                guard,
                &ApiError::invalid("", "the request is no object", "send a JSON object"),
                "the request was refused",
            );
        }
        Err(error) => return refused(guard, &error, "the request was refused"),
    };
    let mut ignored = Vec::new();
    if let Value::Object(body) = &mut value {
        let known = known.split(' ').map(str::to_owned);
        let named: Vec<String> = known.chain(state.config.upstream.pass_fields.iter().cloned()).collect();
        ignored = fields::keep(body, &named);
    }
    let name = value["model"].as_str().unwrap_or_default().to_owned();
    let now = state.now();
    let served = now.models.get(&name).ok();
    let mut guard = guard;
    if let Some(served) = served {
        guard.model_is(served.name());
    }
    let known = served.and_then(ServedModel::upstream_name);
    let name = state.upstream.name_of(known.unwrap_or(&name), known.is_none()).await;
    if !name.is_empty() {
        value["model"] = name.into();
    }
    match state.upstream.forward(path, &value, trace).await {
        Ok(answer) => {
            let mut response = Response::new(Body::empty());
            let kind = answer.headers().get(header::CONTENT_TYPE).cloned();
            response
                .headers_mut()
                .insert(header::CONTENT_TYPE, kind.unwrap_or(HeaderValue::from_static("application/json")));
            fields::tell(&mut response, "x-unjinja-ignored-fields", &ignored);
            let (send, body) = body_of_parts();
            tokio::spawn(pump(state, guard, answer, send));
            *response.body_mut() = body;
            response
        }
        Err(trouble) => {
            state.metrics.upstream_error(trouble.kind);
            let Trouble { kind, error } = trouble;
            refused(guard, &error, kind)
        }
    }
}

/// Reads the answer. If the client goes away, the connection to the upstream is closed.
async fn pump(state: Arc<State>, guard: Guard, mut answer: reqwest::Response, send: mpsc::Sender<BodyPart>) {
    let (limits, mut closing) = (state.config.timeouts, state.closing.clone());
    loop {
        let next = tokio::select! {
            biased;
            () = send.closed() => return,
            _ = closing.wait_for(|closing| *closing) => Err("shutdown"),
            next = timeout(limits.first_byte, answer.chunk()) => match next {
                Err(_) => Err("timeout"),
                Ok(Err(_)) => Err("cut_off"),
                Ok(Ok(more)) => Ok(more),
            },
        };
        let more = match next {
            Ok(Some(more)) => more,
            Ok(None) => {
                // The end is recorded before it is sent.
                if let Ok(place) = send.reserve().await {
                    guard.end(200, None, Duration::ZERO);
                    place.send(BodyPart::Complete);
                }
                return;
            }
            Err(kind) => {
                state.metrics.upstream_error(kind);
                return guard.end(502, Some(kind.to_owned()), Duration::ZERO);
            }
        };
        state.metrics.bytes_out.inc_by(more.len() as u64);
        let Ok(Ok(())) = timeout(limits.client, send.send(BodyPart::Bytes(more))).await else { return };
    }
}
