//! Counts what happens, for Prometheus. No label comes from a client.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use prometheus_client::encoding::prometheus_text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};

/// Names of labels with their values.
type Labels<const COUNT: usize> = [(&'static str, String); COUNT];

/// A counter for each value of a label.
type Counters<const COUNT: usize> = Family<Labels<COUNT>, Counter>;

/// A histogram for each model.
type Histograms = Family<Labels<1>, Histogram, fn() -> Histogram>;

/// Seconds.
type Seconds = Counter<f64, AtomicU64>;

/// The limits between the buckets of the time until the first piece, in seconds. It is the time for the prompt.
const FIRST: [f64; 14] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 100.0, 300.0];

/// The limits between the buckets of the time between two pieces, in seconds.
const NEXT: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];

/// All counters of a proxy.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Counters<2>,
    diagnostics: Counters<1>,
    upstream_errors: Counters<1>,
    /// Answers that are being written.
    pub(crate) active: Gauge,
    /// Clients that went away before their answer was complete.
    pub(crate) disconnects: Counter,
    /// Bytes of requests and of answers.
    pub(crate) bytes_in: Counter,
    pub(crate) bytes_out: Counter,
    /// Tokens, as the upstream counts them.
    pub(crate) tokens_in: Counter,
    pub(crate) tokens_out: Counter,
    /// Special tokens that texts of requests spell, and that went to the model as ordinary ones.
    pub(crate) spelled: Counter,
    pieces: Counter,
    answers: Counter,
    /// The time that answers took, and the part of it in which the proxy worked and did not wait.
    total: Seconds,
    own: Seconds,
    first_piece: Histograms,
    next_piece: Histograms,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("unjinja");
        let mut add = Adder(&mut registry);
        Self {
            requests: add.metric("requests", "Requests by route and status"),
            diagnostics: add.metric("diagnostics", "What the parser noticed in answers, by kind"),
            upstream_errors: add.metric("upstream_errors", "Failures of the upstream by kind"),
            active: add.metric("active_answers", "Answers that are being written"),
            disconnects: add.metric("client_disconnects", "Clients that went away early"),
            bytes_in: add.metric("request_bytes", "Bytes of requests"),
            bytes_out: add.metric("response_bytes", "Bytes of answers"),
            tokens_in: add.metric("prompt_tokens", "Tokens of prompts, as the upstream counts them"),
            tokens_out: add.metric("output_tokens", "Tokens of outputs, as the upstream counts them"),
            spelled: add
                .metric("spelled_tokens", "Special tokens that texts of requests spell, sent as ordinary tokens"),
            pieces: add.metric("upstream_pieces", "Pieces of text from the upstream"),
            answers: add.metric("answers", "Answers that ended, well or not"),
            total: add.metric("answer_seconds", "Time that answers took"),
            own: add.metric("own_seconds", "The part of that time in which the proxy worked and did not wait"),
            first_piece: add.this(
                "first_piece_seconds",
                "Time from a request to the first piece of its answer, by model",
                Family::new_with_constructor(|| Histogram::new(FIRST)),
            ),
            next_piece: add.this(
                "next_piece_seconds",
                "Time between two pieces of an answer, by model",
                Family::new_with_constructor(|| Histogram::new(NEXT)),
            ),
            registry,
        }
    }

    pub(crate) fn request(&self, route: &'static str, status: u16) {
        let labels = [("route", route.to_owned()), ("status", status.to_string())];
        self.requests.get_or_create(&labels).inc();
    }

    pub(crate) fn diagnostic(&self, kind: String) {
        self.diagnostics.get_or_create(&[("kind", kind)]).inc();
    }

    pub(crate) fn upstream_error(&self, kind: &'static str) {
        self.upstream_errors.get_or_create(&[("kind", kind.to_owned())]).inc();
    }

    /// An answer took this time, of which the proxy worked for `own`.
    pub(crate) fn answer(&self, total: Duration, own: Duration) {
        self.answers.inc();
        self.total.inc_by(total.as_secs_f64());
        self.own.inc_by(own.as_secs_f64());
    }

    /// Counts an answer as active until the result is dropped.
    pub(crate) fn enter(self: &Arc<Self>) -> Active {
        self.active.inc();
        Active(self.clone())
    }

    /// Measures when the pieces of an answer of this model arrive. The request came at `since`.
    pub(crate) fn pace(&self, model: &str, since: Instant) -> Pace {
        let labels = [("model", model.to_owned())];
        let (pieces, next) = (self.pieces.clone(), self.next_piece.get_or_create_owned(&labels));
        Pace { pieces, first: Some(self.first_piece.get_or_create_owned(&labels)), next, since }
    }

    /// Everything, in the text form of Prometheus.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing into a text does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

/// Makes metrics, each known to the registry under its name.
struct Adder<'r>(&'r mut Registry);

impl Adder<'_> {
    fn metric<M: Metric + Default + Clone>(&mut self, name: &str, help: &str) -> M {
        self.this(name, help, M::default())
    }

    fn this<M: Metric + Clone>(&mut self, name: &str, help: &str, metric: M) -> M {
        self.0.register(name, help, metric.clone());
        metric
    }
}

/// An answer that is being written.
#[derive(Debug)]
pub(crate) struct Active(Arc<Metrics>);

impl Drop for Active {
    fn drop(&mut self) {
        self.0.active.dec();
    }
}

/// Measures when the pieces of an answer arrive.
#[derive(Debug)]
pub(crate) struct Pace {
    pieces: Counter,
    /// Until the first piece has arrived.
    first: Option<Histogram>,
    next: Histogram,
    since: Instant,
}

impl Pace {
    /// A piece has arrived.
    pub(crate) fn piece(&mut self) {
        self.pieces.inc();
        let now = Instant::now();
        let histogram = self.first.take();
        histogram.as_ref().unwrap_or(&self.next).observe((now - self.since).as_secs_f64());
        self.since = now;
    }
}
