//! Counts what happens, and writes it in the text form of Prometheus. No label comes from a client.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// All counters of a proxy.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
    diagnostics: Mutex<BTreeMap<String, u64>>,
    upstream_errors: Mutex<BTreeMap<&'static str, u64>>,
    /// Answers that are being written.
    pub(crate) active: AtomicU64,
    /// Clients that went away before their answer was complete.
    pub(crate) disconnects: AtomicU64,
    /// Bytes of requests and of answers.
    pub(crate) bytes_in: AtomicU64,
    pub(crate) bytes_out: AtomicU64,
    /// Tokens, as the upstream counts them.
    pub(crate) tokens_in: AtomicU64,
    pub(crate) tokens_out: AtomicU64,
    /// Pieces of text from the upstream.
    pub(crate) pieces: AtomicU64,
    /// Nanoseconds that answers took, and the part of it in which the proxy worked and did not wait.
    total: AtomicU64,
    own: AtomicU64,
    answers: AtomicU64,
}

/// Adds to a counter.
pub(crate) fn add(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}

/// A counter map is whole even if a thread ended while it held the lock.
fn locked<T>(counters: &Mutex<T>) -> MutexGuard<'_, T> {
    counters.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Metrics {
    pub(crate) fn request(&self, route: &'static str, status: u16) {
        *locked(&self.requests).entry((route, status)).or_default() += 1;
    }

    pub(crate) fn diagnostic(&self, kind: String) {
        *locked(&self.diagnostics).entry(kind).or_default() += 1;
    }

    pub(crate) fn upstream_error(&self, kind: &'static str) {
        *locked(&self.upstream_errors).entry(kind).or_default() += 1;
    }

    /// An answer took this time, of which the proxy worked for `own`.
    pub(crate) fn answer(&self, total: Duration, own: Duration) {
        add(&self.answers, 1);
        add(&self.total, u64::try_from(total.as_nanos()).unwrap_or(u64::MAX));
        add(&self.own, u64::try_from(own.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Counts an answer as active until the result is dropped.
    pub(crate) fn enter(self: &Arc<Self>) -> Active {
        add(&self.active, 1);
        Active(self.clone())
    }

    /// Everything, in the text form of Prometheus.
    pub(crate) fn text(&self) -> String {
        let mut out = Text(String::new());
        out.head("requests_total", "counter", "Requests by route and status.");
        for ((route, status), count) in locked(&self.requests).iter() {
            out.line(&format!("requests_total{{route=\"{route}\",status=\"{status}\"}}"), count);
        }
        out.head("upstream_errors_total", "counter", "Failures of the upstream by kind.");
        for (kind, count) in locked(&self.upstream_errors).iter() {
            out.line(&format!("upstream_errors_total{{kind=\"{kind}\"}}"), count);
        }
        out.head("diagnostics_total", "counter", "What the parser noticed in answers, by kind.");
        for (kind, count) in locked(&self.diagnostics).iter() {
            out.line(&format!("diagnostics_total{{kind=\"{kind}\"}}"), count);
        }
        for (name, kind, help, counter) in [
            ("active_answers", "gauge", "Answers that are being written.", &self.active),
            ("client_disconnects_total", "counter", "Clients that went away early.", &self.disconnects),
            ("request_bytes_total", "counter", "Bytes of requests.", &self.bytes_in),
            ("response_bytes_total", "counter", "Bytes of answers.", &self.bytes_out),
            ("prompt_tokens_total", "counter", "Tokens of prompts, as the upstream counts them.", &self.tokens_in),
            ("output_tokens_total", "counter", "Tokens of outputs, as the upstream counts them.", &self.tokens_out),
            ("upstream_pieces_total", "counter", "Pieces of text from the upstream.", &self.pieces),
            ("answers_total", "counter", "Answers that ended, well or not.", &self.answers),
        ] {
            out.head(name, kind, help);
            out.line(name, &counter.load(Ordering::Relaxed));
        }
        for (name, help, counter) in [
            ("answer_seconds_total", "Time that answers took.", &self.total),
            ("own_seconds_total", "The part of that time in which the proxy worked and did not wait.", &self.own),
        ] {
            out.head(name, "counter", help);
            out.line(name, &Duration::from_nanos(counter.load(Ordering::Relaxed)).as_secs_f64());
        }
        out.0
    }
}

struct Text(String);

impl Text {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP unjinja_{name} {help}\n# TYPE unjinja_{name} {kind}");
    }

    fn line(&mut self, name: &str, value: &dyn std::fmt::Display) {
        let _ = writeln!(self.0, "unjinja_{name} {value}");
    }
}

/// An answer that is being written.
#[derive(Debug)]
pub(crate) struct Active(Arc<Metrics>);

impl Drop for Active {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Ordering::Relaxed);
    }
}
