//! The endpoints. Every error, also that of an unknown path, is JSON in the form of the API that the path belongs to.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State as Shared};
use axum::http::{HeaderValue, Method, Response, StatusCode, header};
use axum::middleware::{self, Next};
use axum::routing::{get, post};
use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::answer::{answer, count};
use super::budget::HeldBody;
use super::compact::compact;
use super::guard::{self, Guard, REQUEST_ID, Trace, request_id};
use super::log::LogLine;
use super::models::ServedModel;
use super::origin;
use super::pass_on::{ENDPOINTS, pass_on};
use super::refusal::{error_response, json_response};
use super::reply::{Api, MESSAGES, RESPONSES};
use super::state::State;
use super::stored::{self, INPUT_ITEMS, RESPONSE};
use crate::error::ApiError;

const CHAT: &str = "/v1/chat/completions";
const COUNT: &str = "/v1/messages/count_tokens";
const COMPACT: &str = "/v1/responses/compact";
const INPUT_TOKENS: &str = "/v1/responses/input_tokens";

/// What a request is for.
#[derive(Clone, Copy)]
enum Use {
    /// An answer of a model.
    Answer(Api),
    /// The number of tokens of a conversation.
    Count(Api),
    /// A summary of a conversation.
    Compact,
    /// It is passed on, with the fields that are known.
    PassOn((&'static str, &'static str)),
}

impl Use {
    fn api(self) -> Api {
        match self {
            Self::Answer(api) | Self::Count(api) => api,
            Self::Compact => Api::Responses,
            Self::PassOn(_) => Api::OpenAi,
        }
    }
}

/// All endpoints.
pub(crate) fn router(state: Arc<State>) -> Router {
    let passed = ENDPOINTS.into_iter().fold(Router::new(), |router, endpoint| {
        let handler = post(move |state, request| generate(state, Use::PassOn(endpoint), endpoint.0, request));
        router.route(endpoint.0, handler)
    });
    let guarded = passed
        .route(CHAT, post(|state, request| generate(state, Use::Answer(Api::OpenAi), CHAT, request)))
        .route(MESSAGES, post(|state, request| generate(state, Use::Answer(Api::Anthropic), MESSAGES, request)))
        .route(RESPONSES, post(|state, request| generate(state, Use::Answer(Api::Responses), RESPONSES, request)))
        .route(RESPONSE, get(stored::read).delete(stored::delete))
        .route("/v1/models", get(models))
        .route("/v1/models/{*name}", get(model))
        .route("/metrics", get(metrics))
        .route(COUNT, post(|state, request| generate(state, Use::Count(Api::Anthropic), COUNT, request)))
        .route(INPUT_TOKENS, post(|state, request| generate(state, Use::Count(Api::Responses), INPUT_TOKENS, request)))
        .route(COMPACT, post(|state, request| generate(state, Use::Compact, COMPACT, request)))
        .route(INPUT_ITEMS, get(stored::items))
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::from_fn_with_state(state.clone(), check_key));
    let all = Router::new().route("/health", get(health)).route("/ready", get(ready)).merge(guarded);
    all.layer(middleware::from_fn_with_state(state.clone(), origin::check)).with_state(state)
}

async fn check_key(Shared(state): Shared<Arc<State>>, request: Request, next: Next) -> Response<Body> {
    let id = request_id(request.headers());
    let mut response = match guard::check(state.now().key.as_ref(), request.headers()) {
        Ok(()) => {
            let mut request = request;
            request.extensions_mut().insert(RequestId(id.clone()));
            next.run(request).await
        }
        Err(error) => refused(&state, Api::of_path(request.uri().path()), ("*", id.clone()), &error, "no valid key"),
    };
    if let Ok(value) = HeaderValue::from_str(&id) {
        // Anthropic's clients read the second.
        for name in [REQUEST_ID, "request-id"] {
            response.headers_mut().insert(name, value.clone());
        }
    }
    response
}

/// The id of a request.
#[derive(Clone)]
struct RequestId(String);

fn refused(
    state: &State,
    api: Api,
    (route, id): (&'static str, String),
    error: &ApiError,
    why: &str,
) -> Response<Body> {
    state.metrics.request(route, error.status());
    let (status, error_text) = (error.status(), Some(why.to_owned()));
    state.config.log.write(LogLine::Request {
        id,
        route,
        status,
        milliseconds: 0,
        model: None,
        tokens: None,
        error: error_text,
    });
    error_response(api, error)
}

async fn unknown(request: Request) -> Response<Body> {
    let message = format!(
        "{CHAT}, {RESPONSES}, {RESPONSE}, {INPUT_ITEMS}, {INPUT_TOKENS}, {COMPACT}, {MESSAGES}, {COUNT}, /v1/completions, /v1/embeddings, /tokenize, /v1/models, /health, /ready and /metrics are served here, and nothing else"
    );
    error_response(Api::of_path(request.uri().path()), &ApiError::new(404, message))
}

async fn wrong_method(method: Method, request: Request) -> Response<Body> {
    let path = request.uri().path();
    let is_passed = ENDPOINTS.iter().any(|(known, _)| *known == path);
    let next = match path {
        CHAT | RESPONSES | MESSAGES | COUNT | COMPACT | INPUT_TOKENS => "POST",
        path if path.ends_with("/input_items") => "GET",
        _ if is_passed => "POST",
        path if path.starts_with(RESPONSES) => "GET or DELETE",
        _ => "GET",
    };
    let message = format!("{method} is not possible here; use {next}");
    error_response(Api::of_path(path), &ApiError::new(405, message))
}

async fn generate(
    Shared(state): Shared<Arc<State>>,
    asks: Use,
    route: &'static str,
    request: Request,
) -> Response<Body> {
    let api = asks.api();
    let id = request.extensions().get::<RequestId>().map(|id| id.0.clone()).unwrap_or_default();
    let limits = state.config.limits;
    let busy = || {
        let message = format!("{} requests are being answered; send this one again later", limits.concurrent);
        ApiError::new(429, message)
    };
    if state.slots.available_permits() == 0 {
        return refused(&state, api, (route, id), &busy(), "too many requests");
    }
    let length: Option<usize> =
        request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    let too_long = || {
        let message = format!("the request is longer than {} bytes; send less", limits.body);
        ApiError::new(413, message)
    };
    if length.is_some_and(|length| length > limits.body) {
        return refused(&state, api, (route, id), &too_long(), "the request is too long");
    }
    // What has no length may have all that is allowed.
    let room = match state.budget.body(length.unwrap_or(limits.body), state.config.timeouts.client).await {
        Ok(room) => room,
        Err(error) => return refused(&state, api, (route, id), &error, "too many large requests"),
    };
    let trace = Trace::of(&id, request.headers());
    let mut guard = Guard::new(id, route, &state.metrics, &state.config.log);
    let unread = "the request could not be read";
    let (error, why) = match timeout(state.config.timeouts.client, received(request.into_body(), limits.body)).await {
        // A client that is slow to send its request keeps no place from others.
        Ok(Ok(body)) => match state.slots.clone().try_acquire_owned() {
            Ok(permit) => {
                state.metrics.bytes_in.inc_by(body.len() as u64);
                guard.hold(permit);
                let body = HeldBody { bytes: body, _room: room };
                return match asks {
                    Use::Answer(api) => answer(state, api, guard, trace, body).await,
                    Use::Compact => compact(state, guard, trace, body).await,
                    Use::Count(api) => count(state, api, guard, body).await,
                    Use::PassOn(endpoint) => pass_on(state, guard, &trace, endpoint, &body.bytes).await,
                };
            }
            Err(_) => (busy(), "too many requests"),
        },
        Err(_) => (ApiError::new(408, "the request did not arrive in time; send it again"), unread),
        Ok(Err(Unread::TooLong)) => (too_long(), unread),
        Ok(Err(Unread::Broken)) => (ApiError::new(400, "the body of the request is malformed; send it again"), unread),
    };
    guard.end(error.status(), Some(why.to_owned()), std::time::Duration::ZERO);
    error_response(api, &error)
}

/// Why a body is not read to its end.
enum Unread {
    TooLong,
    Broken,
}

/// The whole body of a request.
async fn received(body: Body, most: usize) -> Result<Bytes, Unread> {
    let (mut stream, mut bytes) = (body.into_data_stream(), BytesMut::new());
    while let Some(more) = poll_fn(|context| Pin::new(&mut stream).poll_next(context)).await {
        let more = more.map_err(|_| Unread::Broken)?;
        if bytes.len() + more.len() > most {
            return Err(Unread::TooLong);
        }
        bytes.extend_from_slice(&more);
    }
    Ok(bytes.freeze())
}

/// A model in the form of both APIs.
fn described(model: &ServedModel) -> Value {
    json!({
        "id": model.name(), "object": "model", "created": 0, "owned_by": "unjinja",
        "type": "model", "display_name": model.name(), "created_at": "1970-01-01T00:00:00Z",
    })
}

async fn models(Shared(state): Shared<Arc<State>>) -> Response<Body> {
    let list: Vec<Value> = state.now().models.iter().map(described).collect();
    let id = |model: Option<&Value>| model.map_or(Value::Null, |model| model["id"].clone());
    let (first, last) = (id(list.first()), id(list.last()));
    let body = json!({"object": "list", "data": list, "has_more": false, "first_id": first, "last_id": last});
    json_response(body.to_string())
}

async fn model(Shared(state): Shared<Arc<State>>, name: stored::NameInPath) -> Response<Body> {
    let name = stored::name_of(name);
    let now = state.now();
    let known: Vec<&str> = now.models.iter().map(ServedModel::name).collect();
    match now.models.iter().find(|model| model.name() == name) {
        Some(model) => json_response(described(model).to_string()),
        None => error_response(Api::OpenAi, &ApiError::no_model(&name, &known.join(", "))),
    }
}

/// Whether the proxy runs. The upstream is not asked: a supervisor must not end the proxy because the upstream hangs.
async fn health(Shared(state): Shared<Arc<State>>) -> Response<Body> {
    let active = state.metrics.active.get();
    json_response(json!({"status": "ok", "active": active}).to_string())
}

/// Whether requests can be answered: the upstream answers with a status that is no error. Some servers have no `/health`.
async fn ready(Shared(state): Shared<Arc<State>>) -> Response<Body> {
    let status = state.upstream.probe().await.ok();
    let is_ready = status.is_some_and(|status| status < 400 || status == 404);
    let word = if is_ready { "ready" } else { "not ready" };
    // Who asks needs no key, so the address is not told.
    let body = json!({"status": word, "upstream": {"reachable": status.is_some(), "status": status}});
    let mut response = json_response(body.to_string());
    if !is_ready {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    response
}

async fn metrics(Shared(state): Shared<Arc<State>>) -> Response<Body> {
    let mut response = Response::new(Body::from(state.metrics.text()));
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
