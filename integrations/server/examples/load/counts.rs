//! What all clients of the load test share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The format that is served.
pub const FORMAT: &str = "hermes";

/// A name of the model for which the upstream writes a short answer.
pub const SHORT: &str = "short";

/// Answers that were complete, and failures.
#[derive(Clone, Default)]
pub struct Counts(Arc<[AtomicU64; 2]>);

impl Counts {
    /// Counts what came of a request.
    pub fn note(&self, done: Result<(), Failure>) {
        let [answers, failures] = &*self.0;
        match done {
            Ok(()) => answers.fetch_add(1, Ordering::Relaxed),
            Err(error) => {
                eprintln!("{error}");
                failures.fetch_add(1, Ordering::Relaxed)
            }
        };
    }

    /// The answers that were complete, and the failures.
    pub fn told(&self) -> (u64, u64) {
        let [answers, failures] = &*self.0;
        (answers.load(Ordering::Relaxed), failures.load(Ordering::Relaxed))
    }
}
