//! What is checked and noted for each answer: the key, the number of requests at once, and the record of how each request ended.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, HeaderValue};
use tokio::sync::OwnedSemaphorePermit;

use super::config::Secret;
use super::log::{Log, LogLine};
use super::metrics::{Active, Metrics};
use crate::error::ApiError;
use crate::finish::Usage;
use crate::ids::unique_id;

/// The status in the log and in the metrics of a request whose client went away.
const GONE: u16 = 499;

/// Whether the request has the key: as `Authorization: Bearer`, or as Anthropic's `x-api-key`.
pub(crate) fn check(key: Option<&Secret>, headers: &HeaderMap) -> Result<(), ApiError> {
    let Some(key) = key else { return Ok(()) };
    let bearer = headers.get("authorization").map(|value| value.as_bytes()).and_then(|value| {
        let (scheme, sent) = value.split_at_checked(7)?;
        scheme.eq_ignore_ascii_case(b"bearer ").then_some(sent)
    });
    let own = headers.get("x-api-key").map(|value| value.as_bytes());
    // Both are compared, whatever the first one says.
    let found = [bearer, own].into_iter().flatten().fold(false, |found, sent| found | key.is(sent.trim_ascii()));
    if found {
        return Ok(());
    }
    Err(ApiError::new(401, "this is not the API key; send it as `Authorization: Bearer KEY` or as `x-api-key: KEY`"))
}

/// The header with the id of a request, and of its response.
pub(crate) const REQUEST_ID: &str = "x-request-id";

/// Bytes of an id that a client sends, at most.
const LONGEST_ID: usize = 128;

/// The id of a request: the client's, if that is a short word, or a new one.
pub(crate) fn request_id(headers: &HeaderMap) -> String {
    let is_word = |id: &&str| {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':');
        !id.is_empty() && id.len() <= LONGEST_ID && id.bytes().all(is_part)
    };
    let sent = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok()).filter(is_word);
    sent.map_or_else(|| unique_id("req_"), str::to_owned)
}

/// The headers that tie a request of a client to the one that the upstream gets: its id, and the trace that it belongs to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trace(HeaderMap);

impl Trace {
    /// The headers of W3C's trace context that the client sent, and the id of the request.
    pub(crate) fn of(id: &str, headers: &HeaderMap) -> Self {
        let mut trace = HeaderMap::new();
        for name in ["traceparent", "tracestate"] {
            if let Some(value) = headers.get(name) {
                trace.insert(name, value.clone());
            }
        }
        if let Ok(value) = HeaderValue::from_str(id) {
            trace.insert(REQUEST_ID, value);
        }
        Self(trace)
    }

    /// The headers, as the upstream gets them.
    pub(crate) fn headers(&self) -> HeaderMap {
        self.0.clone()
    }
}

/// A request that is being answered. It reports its end; if it is dropped before, the client went away.
#[derive(Debug)]
pub(crate) struct Guard {
    id: String,
    route: &'static str,
    model: Option<String>,
    tokens: Option<(u64, u64)>,
    began: Instant,
    metrics: Arc<Metrics>,
    log: Log,
    ended: bool,
    _active: Active,
    permit: Option<OwnedSemaphorePermit>,
}

impl Guard {
    pub(crate) fn new(id: String, route: &'static str, metrics: &Arc<Metrics>, log: &Log) -> Self {
        let (began, active) = (Instant::now(), metrics.enter());
        let (metrics, log) = (metrics.clone(), log.clone());
        let (model, tokens) = (None, None);
        Self { id, route, model, tokens, began, metrics, log, ended: false, _active: active, permit: None }
    }

    /// The request keeps one of the places for requests until it has ended.
    pub(crate) fn hold(&mut self, permit: OwnedSemaphorePermit) {
        self.permit = Some(permit);
    }

    /// When the request came.
    pub(crate) fn began(&self) -> Instant {
        self.began
    }

    /// This model answers.
    pub(crate) fn model_is(&mut self, name: &str) {
        self.model = Some(name.to_owned());
    }

    /// What the answer took, if the upstream says it.
    pub(crate) fn used(&mut self, usage: Option<Usage>) {
        self.tokens = usage.map(|usage| (usage.input, usage.output));
    }

    /// The request was answered. `own` is the time in which the proxy worked for it.
    pub(crate) fn end(mut self, status: u16, error: Option<String>, own: Duration) {
        self.metrics.answer(self.began.elapsed(), own);
        self.report(status, error);
    }

    fn report(&mut self, status: u16, error: Option<String>) {
        self.ended = true;
        self.metrics.request(self.route, status);
        let milliseconds = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (id, model) = (std::mem::take(&mut self.id), self.model.take());
        let (route, tokens) = (self.route, self.tokens);
        self.log.write(LogLine::Request { id, route, status, milliseconds, model, tokens, error });
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if !self.ended {
            self.metrics.disconnects.inc();
            self.report(GONE, Some("the client went away".to_owned()));
        }
    }
}
