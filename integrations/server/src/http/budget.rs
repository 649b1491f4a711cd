//! How much memory requests may take together: while their bodies arrive, and while they are read and their prompts are rendered.
//!
//! A small request waits for no large one: it takes no part of the budget, and the number of requests at once bounds what small ones
//! take.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::config::Limits;
use crate::error::ApiError;

/// The largest small body, in bytes.
const SMALL: usize = 256 << 10;

/// Bytes that a value of a request takes, with all that is made of it on the way to the prompt: measured with the smallest messages.
const VALUE: usize = 1024;

/// How often the text of a request is held at the same time: as body, as values, in the messages of the template, and in the prompt.
const COPIES: usize = 6;

/// The unit of the budgets, in bytes.
const UNIT: usize = 1 << 10;

/// The body of a request, with the room that it takes.
#[derive(Debug)]
pub(crate) struct HeldBody {
    pub bytes: Bytes,
    pub _room: Option<OwnedSemaphorePermit>,
}

#[derive(Debug)]
pub(crate) struct Budget {
    most: usize,
    bodies: Arc<Semaphore>,
    work: Arc<Semaphore>,
    /// Threads that read and render.
    small: Arc<Semaphore>,
    large: Arc<Semaphore>,
}

impl Budget {
    pub(crate) fn new(limits: &Limits) -> Self {
        let units = |bytes: usize| Arc::new(Semaphore::new((bytes / UNIT).clamp(1, u32::MAX as usize >> 1)));
        // More threads than processors render no faster, and each of them keeps memory.
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
        let threads = |count: usize| Arc::new(Semaphore::new(count));
        Self {
            most: limits.memory,
            // A body of the allowed length has room in any case.
            bodies: units((limits.memory / 8).max(limits.body)),
            work: units(limits.memory),
            small: threads(processors),
            large: threads(processors.div_ceil(2)),
        }
    }

    /// Waits until there is room for a body of this length. Nothing is held for a small one.
    pub(crate) async fn body(&self, length: usize, limit: Duration) -> Result<Option<OwnedSemaphorePermit>, ApiError> {
        if length <= SMALL {
            return Ok(None);
        }
        let units = u32::try_from(length / UNIT).unwrap_or(u32::MAX).max(1);
        let permit = timeout(limit, self.bodies.clone().acquire_many_owned(units)).await;
        let full = || ApiError::new(429, "other large requests are being read; send this one again later");
        permit.ok().and_then(Result::ok).map(Some).ok_or_else(full)
    }

    /// Waits until there is room for what is made of a body, and for a thread to do it.
    pub(crate) async fn work(&self, body: &[u8]) -> Result<Vec<OwnedSemaphorePermit>, ApiError> {
        self.room(if body.len() <= SMALL { estimate(body) } else { estimate(body).max(SMALL * COPIES + 1) }).await
    }

    /// The same for what takes this many bytes.
    pub(crate) async fn room(&self, bytes: usize) -> Result<Vec<OwnedSemaphorePermit>, ApiError> {
        if bytes <= SMALL * COPIES {
            return Ok(self.small.clone().acquire_owned().await.into_iter().collect());
        }
        if bytes > self.most {
            let message = format!(
                "the request would take about {} MiB of memory, and {} are allowed; send fewer messages or smaller values",
                bytes >> 20,
                self.most >> 20
            );
            return Err(ApiError::new(413, message));
        }
        let units = u32::try_from(bytes / UNIT).unwrap_or(u32::MAX).max(1);
        let room = self.work.clone().acquire_many_owned(units).await;
        Ok(room.into_iter().chain(self.large.clone().acquire_owned().await).collect())
    }
}

/// About how many bytes a request takes while it is read and its prompt is rendered. A text with quotes may be JSON, as arguments are.
pub(crate) fn estimate(body: &[u8]) -> usize {
    let (mut values, mut in_string, mut escaped, mut quotes) = (1_usize, false, false, false);
    for byte in body {
        match byte {
            _ if escaped => (escaped, quotes) = (false, quotes || *byte == b'"'),
            b'\\' if in_string => escaped = true,
            b'"' => (in_string, quotes) = (!in_string, false),
            b',' | b'[' | b'{' if !in_string || quotes => values += 1,
            _ => {}
        }
    }
    values.saturating_mul(VALUE).saturating_add(body.len().saturating_mul(COPIES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_count_and_text_counts_less() {
        assert_eq!(estimate(b""), VALUE);
        assert_eq!(estimate(br#"{"a": "x, [\"y], {"}"#), 4 * VALUE + 20 * COPIES);
        assert_eq!(estimate(br#"{"a": "{\"x\": [1, 2]}", "b": "1, 2"}"#), 5 * VALUE + 37 * COPIES);
        let lists = "[],".repeat(1_000_000);
        assert!(estimate(lists.as_bytes()) > 1 << 30);
        let text = format!("\"{}\"", "word, ".repeat(1_000_000));
        assert!(estimate(text.as_bytes()) < 64 << 20);
    }

    #[tokio::test]
    async fn a_small_request_waits_for_no_large_one() {
        let limits = Limits { memory: 32 << 20, body: 4 << 20, ..Limits::default() };
        let budget = Budget::new(&limits);
        let large = vec![b' '; 4 << 20];
        let first = budget.work(&large).await.unwrap();
        let wait = Duration::from_millis(20);
        assert!(timeout(wait, budget.work(&large)).await.is_err(), "there is no room for two");
        assert!(timeout(wait, budget.work(b"{}")).await.is_ok());
        drop(first);
        assert!(timeout(wait, budget.work(&large)).await.is_ok());
        assert_eq!(budget.work(&vec![b' '; 6 << 20]).await.unwrap_err().status(), 413);
        let held = budget.body(4 << 20, wait).await.unwrap();
        assert_eq!(budget.body(4 << 20, wait).await.unwrap_err().status(), 429);
        assert!(held.is_some() && budget.body(100, wait).await.unwrap().is_none());
    }
}
