//! What all requests share.

use std::sync::Arc;

use tokio::sync::{Semaphore, watch};

use super::budget::Budget;
use super::config::Config;
use super::memory::Memory;
use super::metrics::Metrics;
use super::models::Models;
use super::upstream::Upstream;

/// What all requests share.
#[derive(Debug)]
pub(crate) struct State {
    pub config: Config,
    pub models: Models,
    pub upstream: Upstream,
    pub metrics: Arc<Metrics>,
    /// The responses that later requests may name.
    pub memory: Arc<Memory>,
    /// One for each request that may be answered at the same time.
    pub slots: Arc<Semaphore>,
    /// How much memory requests may take, and how many are read and rendered at the same time.
    pub budget: Budget,
    /// Whether answers have to end now.
    pub closing: watch::Receiver<bool>,
}
