//! What is checked and noted for each answer: the key, the number of requests at once, and the record of how each request ended.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::HeaderMap;
use tokio::sync::OwnedSemaphorePermit;

use super::config::Secret;
use super::log::{Log, LogLine};
use super::metrics::{Active, Metrics, add};
use crate::error::ApiError;

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

/// A request that is being answered. It reports its end; if it is dropped before, the client went away.
#[derive(Debug)]
pub(crate) struct Guard {
    route: &'static str,
    began: Instant,
    metrics: Arc<Metrics>,
    log: Log,
    ended: bool,
    _active: Active,
    permit: Option<OwnedSemaphorePermit>,
}

impl Guard {
    pub(crate) fn new(route: &'static str, metrics: &Arc<Metrics>, log: &Log) -> Self {
        let (began, active) = (Instant::now(), metrics.enter());
        let (metrics, log) = (metrics.clone(), log.clone());
        Self { route, began, metrics, log, ended: false, _active: active, permit: None }
    }

    /// The request keeps one of the places for requests until it has ended.
    pub(crate) fn hold(&mut self, permit: OwnedSemaphorePermit) {
        self.permit = Some(permit);
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
        self.log.write(LogLine::Request { route: self.route, status, milliseconds, error });
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if !self.ended {
            add(&self.metrics.disconnects, 1);
            self.report(GONE, Some("the client went away".to_owned()));
        }
    }
}
