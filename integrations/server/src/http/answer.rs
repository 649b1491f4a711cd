//! Serves one request: reads it, renders the prompt, asks the upstream, and passes its answer on while it arrives.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use bytes::Bytes;
use futures_core::Stream;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio::time::{sleep, timeout};

use super::budget::HeldBody;
use super::config::Config;
use super::fields;
use super::guard::Guard;
use super::log::{LogLine, SPELLED};
use super::metrics::add;
use super::models::ServedModel;
use super::promises::{Constraint, constrain, refused as not_rendered};
use super::reply::{Api, Reply, ReplyOptions, Responses};
use super::spelled;
use super::state::State;
use super::turn::{Ended, TurnReader};
use super::upstream::{Answer, Ask, Piece, Trouble};
use crate::anthropic::MessagesRequest;
use crate::error::ApiError;
use crate::openai::ChatRequest;
use crate::prepare::Prepared;
use crate::request::Request;
use crate::request_value::parse;
use crate::responses::ResponsesRequest;

/// How many pieces wait for a client that reads slowly.
const WAITING: usize = 16;

/// A request that was read.
struct Asked {
    served: ServedModel,
    prepared: Prepared,
    include_usage: bool,
    responses: Option<Responses>,
}

/// Why a request was not answered: what the client is told, and what is logged.
pub(crate) struct Refusal {
    pub error: ApiError,
    /// Without anything that the client wrote.
    pub logged: &'static str,
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        Self { error, logged: "the request was refused" }
    }
}

impl From<Trouble> for Refusal {
    fn from(trouble: Trouble) -> Self {
        Self { error: trouble.error, logged: trouble.kind }
    }
}

/// Answers a request. The response may be streamed after this returns; `guard` goes with it.
pub(crate) async fn answer(state: Arc<State>, api: Api, guard: Guard, body: HeldBody) -> Response<Body> {
    match begin(&state, api, body).await {
        Err(refusal) => refused(api, guard, &refusal),
        Ok(begun) => {
            let mut guard = guard;
            guard.model_is(&begun.model);
            match begun.stream {
                true => streamed(state, api, guard, begun),
                false => whole(&state, api, guard, begun).await,
            }
        }
    }
}

/// Says of how many tokens a conversation of Anthropic's API consists.
pub(crate) async fn count(state: Arc<State>, guard: Guard, body: HeldBody) -> Response<Body> {
    match counted(&state, body).await {
        Err(refusal) => refused(Api::Anthropic, guard, &refusal),
        Ok(tokens) => {
            guard.end(200, None, Duration::ZERO);
            json_response(json!({"input_tokens": tokens}).to_string())
        }
    }
}

async fn counted(state: &Arc<State>, body: HeldBody) -> Result<u64, Refusal> {
    let (shared, room) = (state.clone(), state.budget.work(&body.bytes).await?);
    let (Asked { served, prepared, .. }, room) = aside(room, move || {
        let mut value = parse(&body.bytes)?;
        // A count has no such field, and an answer needs it.
        if let Some(fields) = value.as_object_mut() {
            fields.insert("max_tokens".to_owned(), 1.into());
        }
        read(&shared, Api::Anthropic, value)
    })
    .await?;
    let adds_bos = state.upstream.adds_bos().await;
    let (shared, model) = (state.clone(), served.clone());
    let ((_, ask, _), _room) = aside(room, move || render(prepared, &model, adds_bos, &shared.config)).await?;
    let name = state.upstream.name_of(&ask.model, ask.any_name).await;
    let counted = state.upstream.count(&name, &ask.prompt, ask.adds_bos).await;
    let missing = || ApiError::new(501, "the upstream does not say of how many tokens a text consists");
    Ok(counted.ok_or_else(missing)?)
}

fn refused(api: Api, guard: Guard, refusal: &Refusal) -> Response<Body> {
    guard.end(refusal.error.status(), Some(refusal.logged.to_owned()), Duration::ZERO);
    error_response(api, &refusal.error)
}

/// An error as a response.
pub(crate) fn error_response(api: Api, error: &ApiError) -> Response<Body> {
    let mut response = json_response(api.error(error));
    *response.status_mut() = axum::http::StatusCode::from_u16(error.status()).unwrap_or_default();
    if matches!(error.status(), 429 | 503) {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// JSON as a response.
pub(crate) fn json_response(body: String) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// What the headers of a response tell about the request.
#[derive(Debug, Clone, Default)]
struct Told {
    /// The fields that did not go on to the upstream.
    ignored: Vec<String>,
    /// The types of tools that the model was not told of.
    ignored_tools: Vec<String>,
    /// Where system messages in the middle of the conversation are in the prompt.
    system: Option<&'static str>,
}

impl Told {
    fn write(&self, response: &mut Response<Body>) {
        fields::tell(response, "x-unjinja-ignored-fields", &self.ignored);
        fields::tell(response, "x-unjinja-ignored-tools", &self.ignored_tools);
        if let Some(place) = self.system {
            response.headers_mut().insert("x-unjinja-system-messages", HeaderValue::from_static(place));
        }
    }
}

/// The upstream's answer with its first piece.
type Opened = Result<(Answer, Option<Piece>), Trouble>;

/// The same while it is waited for.
type Opening = Pin<Box<dyn Future<Output = Opened> + Send>>;

/// An answer that has begun.
struct Begun {
    model: String,
    /// The name that the upstream gets, unless it has one model only and this may be any.
    asked: (String, bool),
    turn: TurnReader,
    opening: Opening,
    stream: bool,
    told: Told,
}

/// Does everything up to the first piece, or for a stream up to where a client has to hear something.
async fn begin(state: &Arc<State>, api: Api, body: HeldBody) -> Result<Begun, Refusal> {
    let (shared, room) = (state.clone(), state.budget.work(&body.bytes).await?);
    let (Asked { served, prepared, include_usage, responses }, room) =
        aside(room, move || read(&shared, api, parse(&body.bytes)?)).await?;
    let adds_bos = state.upstream.adds_bos().await;
    let (shared, served_model) = (state.clone(), served.clone());
    let rendered = aside(room, move || render(prepared, &served_model, adds_bos, &shared.config)).await?;
    let ((prepared, mut ask, system), room) = rendered;
    drop(room);
    let ignored = fields::keep(&mut ask.settings, &state.upstream.config().pass_fields);
    let stream = prepared.stream;
    let ignored_tools = responses.as_ref().map(|said| said.request.ignored_tools.clone()).unwrap_or_default();
    let options = ReplyOptions { api, stream, include_usage, diagnostics: state.config.diagnostics, responses };
    let stops = prepared.sampling.stop;
    let reply = Reply::new(options, prepared.model, prepared.call_ids);
    let parsing = prepared.options.cut_calls(state.config.cut_calls);
    let turn = TurnReader::new(&served, parsing, reply, stops, prepared.prefill);
    let (shared, asked) = (state.clone(), (ask.model.clone(), ask.any_name));
    let mut opening: Opening = Box::pin(async move {
        let mut answer = shared.upstream.send(&ask).await?;
        let first = answer.next().await?;
        Ok((answer, first))
    });
    // An error has a status of its own, unless it takes long: then a stream begins without a word of the model.
    let opened = match stream {
        true => timeout(state.config.timeouts.silence, &mut opening).await.ok(),
        false => Some(opening.as_mut().await),
    };
    if let Some(opened) = opened {
        let opened = opened.inspect_err(|trouble| state.metrics.upstream_error(trouble.kind))?;
        opening = Box::pin(std::future::ready(Ok(opened)));
    }
    Ok(Begun {
        model: served.name().to_owned(),
        asked,
        turn,
        opening,
        stream,
        told: Told { ignored, ignored_tools, system },
    })
}

/// What a request needs to be read and rendered.
type Room = Vec<OwnedSemaphorePermit>;

/// Does work that takes long for a long conversation or a large grammar: other answers continue meanwhile.
async fn aside<T: Send + 'static>(
    room: Room,
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<(T, Room), ApiError> {
    let done = tokio::task::spawn_blocking(move || work().map(|done| (done, room)));
    done.await.map_err(|_| ApiError::new(500, "the prompt could not be made"))?
}

/// Reads a request.
fn read(state: &State, api: Api, mut value: Value) -> Result<Asked, ApiError> {
    let tools = value.get("tools").and_then(|tools| tools.as_array()).map_or(0, Vec::len);
    let most = state.config.limits.tools;
    if tools > most {
        let cause = format!("{tools} tools are more than the {most} that are allowed");
        return Err(ApiError::invalid("tools", cause, "send fewer"));
    }
    let name = value.get("model").and_then(|name| name.as_str()).unwrap_or_default();
    let served = state.now().models.get(name)?.clone();
    let spec = served.model.spec();
    let (prepared, include_usage, responses) = match api {
        Api::OpenAi => {
            let mut request = ChatRequest::from_value(&value)?;
            adapt(state, &served, &mut request.request)?;
            (request.prepare(spec)?, request.include_usage, None)
        }
        Api::Responses => {
            let previous = value["previous_response_id"].clone();
            let keep = state.memory.resolve(&mut value)?.map(|resolved| (state.memory.clone(), resolved));
            let mut request = ResponsesRequest::from_value(&value)?;
            request.repeated.insert("previous_response_id".to_owned(), previous);
            adapt(state, &served, &mut request.request)?;
            (request.prepare(spec)?, true, Some(Responses { request, keep }))
        }
        Api::Anthropic => {
            let mut request = MessagesRequest::from_value(&value)?;
            adapt(state, &served, &mut request.request)?;
            (request.prepare(spec)?, true, None)
        }
    };
    Ok(Asked { served, prepared, include_usage, responses })
}

/// Does with a request what the operator wants: refuses what is no text, and describes tools.
fn adapt(state: &State, served: &ServedModel, request: &mut Request) -> Result<(), ApiError> {
    if let Some(place) = request.replaced.first().filter(|_| state.config.refuse_media) {
        return Err(ApiError::unsupported(place, "only text can be read here", "send text only"));
    }
    if spelled::check(state, served, request)? {
        report(state, served.name(), SPELLED.to_owned());
    }
    if state.config.describe_tools {
        served.tools.describe(request);
    }
    Ok(())
}

/// Renders the prompt, and makes what the upstream is asked.
fn render(
    mut prepared: Prepared,
    served: &ServedModel,
    adds_bos: bool,
    config: &Config,
) -> Result<(Prepared, Ask, Option<&'static str>), ApiError> {
    let upstream = &config.upstream;
    // Requests to a single model may leave its name out.
    if prepared.model.is_empty() {
        prepared.model = served.name().to_owned();
    }
    let (prepared, prompt, adds_bos) = served.tokens.prompt(&served.model, prepared, adds_bos).map_err(not_rendered)?;
    served.tools.check(&prepared, &prompt)?;
    let system = prepared.late_system.place(served.model.spec(), &prompt)?;
    let Constraint { grammar, unchecked } = constrain(&prepared, served, upstream, config.unkept)?;
    if !unchecked.is_empty() {
        config.log.write(LogLine::Unchecked { model: served.name().to_owned(), keywords: unchecked });
    }
    let mut stops = prepared.sampling.stop.clone();
    let of_grammar = grammar.as_ref().map(|grammar| grammar.stops.as_slice()).unwrap_or_default();
    for stop in served.stops.iter().chain(of_grammar) {
        if !stops.contains(stop) {
            stops.push(stop.clone());
        }
    }
    let any_name = served.upstream_name().is_none();
    let model = served.upstream_name().unwrap_or(&prepared.model).to_owned();
    let (max_tokens, settings) = (prepared.sampling.max_tokens, prepared.sampling.settings.clone());
    let (preserved, engine) = (served.preserved.clone(), upstream.engine);
    let ask = Ask { model, any_name, prompt, adds_bos, stops, max_tokens, settings, grammar, engine, preserved };
    Ok((prepared, ask, system))
}

/// Reads the whole answer. If the client goes away, this future is dropped, and the upstream's answer with it.
async fn whole(state: &State, api: Api, mut guard: Guard, begun: Begun) -> Response<Body> {
    let Begun { model, asked, mut turn, opening, told, .. } = begun;
    let (mut answer, first) = match opening.await {
        Ok(opened) => opened,
        Err(trouble) => return refused(api, guard, &trouble.into()),
    };
    let (mut out, mut closing, mut next) = (String::new(), state.closing.clone(), first);
    while let Some(piece) = next {
        add(&state.metrics.pieces, 1);
        turn.push(piece, &mut out);
        next = match following(&mut answer, &mut closing).await {
            Ok(next) => next,
            Err(trouble) => {
                state.metrics.upstream_error(trouble.kind);
                return refused(api, guard, &trouble.into());
            }
        };
    }
    count_reasoning(state, &asked, &mut turn).await;
    let ended = turn.finish(&mut out);
    note(state, &model, &ended);
    add(&state.metrics.bytes_out, out.len() as u64);
    guard.used(ended.usage);
    guard.end(200, None, ended.own);
    let mut response = json_response(out);
    told.write(&mut response);
    response
}

/// Adds to the usage of how many tokens the reasoning consists, if the upstream says so in time.
async fn count_reasoning(state: &State, (name, any_name): &(String, bool), turn: &mut TurnReader) {
    let Some(text) = turn.uncounted_reasoning() else { return };
    let counted = async {
        let name = state.upstream.name_of(name, *any_name).await;
        state.upstream.count(&name, text, false).await
    };
    if let Ok(Some(tokens)) = timeout(state.config.timeouts.connect, counted).await {
        turn.count_reasoning(tokens);
    }
}

/// The next piece, unless the proxy ends before.
async fn following(answer: &mut Answer, closing: &mut watch::Receiver<bool>) -> Result<Option<Piece>, Trouble> {
    tokio::select! {
        biased;
        next = answer.next() => next,
        // An error means that the sender is gone, and the proxy with it.
        _ = closing.wait_for(|closing| *closing) => Err(shutting_down()),
    }
}

fn shutting_down() -> Trouble {
    Trouble::new("shutdown", 503, "the server is shutting down; send the request again")
}

/// Counts and logs something that an operator should know.
fn report(state: &State, model: &str, kind: String) {
    state.metrics.diagnostic(kind.clone());
    state.config.log.write(LogLine::Diagnostic { model: model.to_owned(), kind });
}

fn note(state: &State, model: &str, ended: &Ended) {
    for kind in &ended.diagnostics {
        let kind = serde_json::to_value(kind).ok().and_then(|kind| kind.as_str().map(str::to_owned));
        report(state, model, kind.unwrap_or_default());
    }
    if let Some(usage) = ended.usage {
        add(&state.metrics.tokens_in, usage.input);
        add(&state.metrics.tokens_out, usage.output);
    }
}

/// Passes the answer on while it arrives. A task of its own reads it, so that a client that takes nothing holds up nobody.
fn streamed(state: Arc<State>, api: Api, guard: Guard, begun: Begun) -> Response<Body> {
    let (send, receive) = mpsc::channel(WAITING);
    let told = begun.told.clone();
    tokio::spawn(pump(state, api, guard, begun, send));
    let mut response = Response::new(Body::from_stream(Received { receive, complete: false }));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Some reverse proxies collect answers otherwise.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    told.write(&mut response);
    response
}

/// What the task sends: text, and a last word without which the connection is broken off.
enum BodyPart {
    Text(String),
    Complete,
}

async fn pump(state: Arc<State>, api: Api, mut guard: Guard, begun: Begun, send: mpsc::Sender<BodyPart>) {
    let Begun { model, asked, mut turn, mut opening, .. } = begun;
    let (mut out, mut closing, silence) = (String::new(), state.closing.clone(), state.config.timeouts.silence);
    turn.start(&mut out);
    let opened = loop {
        let step = tokio::select! {
            biased;
            () = send.closed() => return,
            opened = &mut opening => Some(opened),
            _ = closing.wait_for(|closing| *closing) => Some(Err(shutting_down())),
            () = sleep(silence) => None,
        };
        if let Some(opened) = step {
            break opened;
        }
        let part = BodyPart::Text(std::mem::take(&mut out) + api.ping());
        let Ok(Ok(())) = timeout(state.config.timeouts.client, send.send(part)).await else { return };
    };
    let (mut answer, mut next) = match opened {
        Ok((answer, first)) => (Some(answer), Ok(first)),
        Err(trouble) => (None, Err(trouble)),
    };
    loop {
        let (turn_on, ended, error) = match next {
            Ok(Some(piece)) => {
                add(&state.metrics.pieces, 1);
                turn.push(piece, &mut out);
                (Some(turn), None, None)
            }
            Ok(None) => {
                count_reasoning(&state, &asked, &mut turn).await;
                (None, Some(turn.finish(&mut out)), None)
            }
            Err(trouble) => {
                state.metrics.upstream_error(trouble.kind);
                let ended = turn.cut_off(&trouble.error, &mut out);
                (None, Some(ended), Some(trouble))
            }
        };
        if !out.is_empty() {
            add(&state.metrics.bytes_out, out.len() as u64);
            let part = BodyPart::Text(std::mem::take(&mut out));
            // The client went away, or takes nothing any more.
            let Ok(Ok(())) = timeout(state.config.timeouts.client, send.send(part)).await else { return };
        }
        let Some(on) = turn_on else {
            if let Some(ended) = ended {
                note(&state, &model, &ended);
                guard.used(ended.usage);
                // The end is recorded before it is sent: a client that has the whole answer finds it in the metrics.
                if let Ok(place) = send.reserve().await {
                    let status = error.as_ref().map_or(200, |trouble: &Trouble| trouble.error.status());
                    guard.end(status, error.map(|trouble| trouble.kind.to_owned()), ended.own);
                    place.send(BodyPart::Complete);
                }
            }
            return;
        };
        turn = on;
        // Without an answer there was an error, and the turn has ended.
        let Some(answer) = &mut answer else { return };
        next = loop {
            let step = tokio::select! {
                biased;
                () = send.closed() => return,
                next = following(answer, &mut closing) => Some(next),
                () = sleep(silence) => None,
            };
            if let Some(next) = step {
                break next;
            }
            let part = BodyPart::Text(api.ping().to_owned());
            let Ok(Ok(())) = timeout(state.config.timeouts.client, send.send(part)).await else { return };
        };
    }
}

/// The body of a streamed response.
struct Received {
    receive: mpsc::Receiver<BodyPart>,
    complete: bool,
}

impl Stream for Received {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.complete {
            return Poll::Ready(None);
        }
        self.receive.poll_recv(context).map(|part| match part {
            Some(BodyPart::Text(text)) => Some(Ok(Bytes::from(text))),
            Some(BodyPart::Complete) => {
                self.complete = true;
                None
            }
            // A response that just ended would look complete.
            None => {
                self.complete = true;
                Some(Err(io::Error::other("the answer was broken off")))
            }
        })
    }
}
