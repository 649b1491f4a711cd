//! Delivers the answers to one request: whole, or piece by piece while they arrive.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};
use unjinja_runtime::DiagnosticKind;

use super::body_parts::{BodyPart, body_of_parts};
use super::choices::{Arrived, Choices};
use super::fields::Told;
use super::guard::Guard;
use super::log::LogLine;
use super::metrics::Pace;
use super::refusal::{error_response, json_response, refused};
use super::reply::Api;
use super::state::State;
use super::turn::{Rest, TurnReader};
use super::upstream::Trouble;
use crate::finish::Usage;
use crate::openai::ChatCompletion;

/// The answers to a request, which have begun.
pub(crate) struct Begun {
    /// The model that answers.
    pub model: String,
    /// The name that the upstream gets, and whether it may know the model under another.
    pub asked: (String, bool),
    /// One for each answer that the client wants.
    pub turns: Vec<Option<TurnReader>>,
    pub choices: Choices,
    /// What arrived already.
    pub first: Option<Arrived>,
    pub pace: Pace,
    pub stream: bool,
    pub told: Told,
}

/// What is known of the answers that have ended.
#[derive(Default)]
struct Total {
    usage: Option<Usage>,
    /// Time that parsers and writers took.
    own: Duration,
    completion: Option<ChatCompletion>,
}

impl Total {
    /// Adds an answer of a whole completion.
    fn add(&mut self, choice: usize, mut completion: ChatCompletion) {
        for one in &mut completion.choices {
            one.index = u32::try_from(choice).unwrap_or(u32::MAX);
        }
        match &mut self.completion {
            Some(all) => {
                all.choices.append(&mut completion.choices);
                all.choices.sort_by_key(|one| one.index);
                all.usage = completion.usage.or(all.usage);
            }
            None => self.completion = Some(completion),
        }
    }
}

impl Begun {
    /// What arrives next; `None` at the end of all answers.
    async fn next(&mut self, closing: &mut watch::Receiver<bool>) -> Option<Arrived> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        tokio::select! {
            biased;
            next = self.choices.next() => next,
            // An error means that the sender is gone, and the proxy with it.
            _ = closing.wait_for(|closing| *closing) => Some(Err(shutting_down())),
        }
    }

    /// Reads what arrived, and appends to `out` what the client gets.
    async fn read(
        &mut self,
        state: &State,
        arrived: Arrived,
        total: &mut Total,
        out: &mut String,
    ) -> Result<(), Trouble> {
        let (choice, piece) = arrived.inspect_err(|trouble| state.metrics.upstream_error(trouble.kind))?;
        let Some(turn) = self.turns.get_mut(choice) else { return Ok(()) };
        let Some(piece) = piece else {
            let Some(mut ended) = turn.take() else { return Ok(()) };
            count_reasoning(state, &self.asked, &mut ended).await;
            let rest = Rest { usage: total.usage, is_last: self.turns.iter().all(Option::is_none) };
            let ended = ended.finish(rest, out);
            self.note(state, &ended.diagnostics);
            (total.usage, total.own) = (ended.usage, total.own + ended.own);
            if let Some(completion) = ended.completion {
                total.add(choice, completion);
            }
            return Ok(());
        };
        self.pace.piece();
        if let Some(turn) = turn {
            turn.push(piece, out);
        }
        Ok(())
    }

    /// The answers failed. The client gets what the parser still withholds, and the error.
    fn cut_off(&mut self, state: &State, trouble: &Trouble, total: &mut Total, out: &mut String) {
        let Some(turn) = self.turns.iter_mut().find_map(Option::take) else { return };
        let ended = turn.cut_off(&trouble.error, out);
        self.note(state, &ended.diagnostics);
        (total.usage, total.own) = (ended.usage, total.own + ended.own);
    }

    fn note(&mut self, state: &State, diagnostics: &[DiagnosticKind]) {
        self.told.missing_call |= diagnostics.contains(&DiagnosticKind::MissingCall);
        for kind in diagnostics {
            let kind = serde_json::to_value(kind).ok().and_then(|kind| kind.as_str().map(str::to_owned));
            report(state, &self.model, kind.unwrap_or_default());
        }
    }
}

/// Counts and logs something that an operator should know.
pub(crate) fn report(state: &State, model: &str, kind: String) {
    state.metrics.diagnostic(kind.clone());
    state.config.log.write(LogLine::Diagnostic { model: model.to_owned(), kind });
}

/// The tokens are counted, and the request has ended.
fn end(state: &State, mut guard: Guard, total: &Total, error: Option<&Trouble>) {
    if let Some(usage) = total.usage {
        state.metrics.tokens_in.inc_by(usage.input);
        state.metrics.tokens_out.inc_by(usage.output);
    }
    guard.used(total.usage);
    let status = error.map_or(200, |trouble| trouble.error.status());
    guard.end(status, error.map(|trouble| trouble.kind.to_owned()), total.own);
}

fn shutting_down() -> Trouble {
    Trouble::new("shutdown", 503, "the server is shutting down; send the request again")
}

/// Adds to the usage of how many tokens the reasoning consists, if the upstream says so in time.
async fn count_reasoning(state: &State, (name, any_name): &(String, bool), turn: &mut TurnReader) {
    if turn.uncounted_reasoning().is_none() || turn.counts_reasoning() {
        return;
    }
    let Some(text) = turn.uncounted_reasoning() else { return };
    let counted = async { state.upstream.count(&state.upstream.name_of(name, *any_name).await, text, false).await };
    if let Ok(Ok(Some(tokens))) = timeout(state.config.timeouts.connect, counted).await {
        turn.count_reasoning(tokens);
    }
}

/// Reads the whole answer. If the client goes away, this future is dropped, and the upstream's answer with it.
/// `make` makes of it what the client gets.
pub(crate) async fn whole(
    state: &State,
    api: Api,
    guard: Guard,
    mut begun: Begun,
    make: impl FnOnce(String) -> Result<String, Trouble>,
) -> Response<Body> {
    let (mut out, mut closing, mut total) = (String::new(), state.closing.clone(), Total::default());
    while let Some(arrived) = begun.next(&mut closing).await {
        if let Err(trouble) = begun.read(state, arrived, &mut total, &mut out).await {
            return refused(api, guard, &trouble.into());
        }
    }
    if let Some(completion) = total.completion.take() {
        out.push_str(&serde_json::to_string(&completion).unwrap_or_default());
    }
    let made = make(out);
    end(state, guard, &total, made.as_ref().err());
    let mut response = match made {
        Ok(out) => {
            state.metrics.bytes_out.inc_by(out.len() as u64);
            json_response(out)
        }
        Err(trouble) => error_response(api, &trouble.error),
    };
    begun.told.write(&mut response);
    response
}

/// Passes the answer on while it arrives. A task of its own reads it, so that a client that takes nothing delays no other.
pub(crate) fn streamed(state: Arc<State>, api: Api, guard: Guard, begun: Begun) -> Response<Body> {
    let (send, body) = body_of_parts();
    let told = begun.told.clone();
    tokio::spawn(pump(state, api, guard, begun, send));
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Some reverse proxies collect answers otherwise.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    told.write(&mut response);
    response
}

async fn pump(state: Arc<State>, api: Api, guard: Guard, mut begun: Begun, send: mpsc::Sender<BodyPart>) {
    let (mut out, mut closing, mut total) = (String::new(), state.closing.clone(), Total::default());
    let limits = state.config.timeouts;
    begun.turns.iter_mut().flatten().for_each(|turn| turn.start(&mut out));
    loop {
        let step = tokio::select! {
            biased;
            () = send.closed() => return,
            next = begun.next(&mut closing) => Some(next),
            () = sleep(limits.silence) => None,
        };
        let (is_over, error) = match step {
            None => {
                out.push_str(api.ping());
                (false, None)
            }
            Some(None) => (true, None),
            Some(Some(arrived)) => match begun.read(&state, arrived, &mut total, &mut out).await {
                Ok(()) => (false, None),
                Err(trouble) => {
                    begun.cut_off(&state, &trouble, &mut total, &mut out);
                    (true, Some(trouble))
                }
            },
        };
        if !out.is_empty() {
            state.metrics.bytes_out.inc_by(out.len() as u64);
            let part = BodyPart::Bytes(std::mem::take(&mut out).into());
            // The client went away, or takes nothing any more.
            let Ok(Ok(())) = timeout(limits.client, send.send(part)).await else { return };
        }
        if is_over {
            // The end is recorded before it is sent: a client that has the whole answer finds it in the metrics.
            if let Ok(place) = send.reserve().await {
                end(&state, guard, &total, error.as_ref());
                place.send(BodyPart::Complete);
            }
            return;
        }
    }
}
