//! What all requests share.

use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::{Semaphore, watch};

use super::budget::Budget;
use super::config::{Config, Secret};
use super::memory::Memory;
use super::metrics::Metrics;
use super::models::Models;
use super::upstream::Upstream;

/// What an operator may replace while the proxy runs. A request keeps what it began with.
#[derive(Debug)]
pub(crate) struct Replaceable {
    pub models: Models,
    /// The key that clients must send.
    pub key: Option<Secret>,
}

/// What all requests share.
#[derive(Debug)]
pub(crate) struct State {
    pub config: Config,
    /// What can be replaced while requests are answered.
    pub replaced: RwLock<Arc<Replaceable>>,
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

impl State {
    /// The models and the key at this moment.
    pub(crate) fn now(&self) -> Arc<Replaceable> {
        self.replaced.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
