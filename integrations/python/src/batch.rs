//! Work on many elements, on several threads and without the interpreter's lock. Nothing here knows what the work is.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, Builder, ScopedJoinHandle};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyInt;

use crate::error::{RequestError, at_place};
use crate::keywords::Keywords;

/// As the main thread has it: a template nests as deep there as here.
const STACK: usize = 8 << 20;

/// How many threads work: the number that the caller gave, or one for each processor.
pub(crate) fn threads_of(keywords: &Keywords<'_, '_>) -> PyResult<usize> {
    let Some(given): Option<Bound<'_, PyAny>> = keywords.optional("threads")? else {
        return Ok(thread::available_parallelism().map_or(1, usize::from));
    };
    match given.extract::<usize>() {
        Ok(threads) if threads > 0 => Ok(threads),
        Err(_) if !given.is_instance_of::<PyInt>() => {
            let kind = given.get_type().name()?;
            Err(PyTypeError::new_err(format!("threads: expected a number or None, found {kind}")))
        }
        _ => Err(RequestError::new_err(format!(
            "threads: {given} is no number of threads that work; use 1 or more, or None for one per processor"
        ))),
    }
}

/// The results, in the order of the elements. The first error, with the position of its element, ends the work.
pub(crate) fn in_threads<T: Sync, R: Send, E: Send>(
    elements: &[T],
    threads: usize,
    work: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, (usize, E)> {
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let take = || {
        let mut done: Vec<(usize, Result<R, E>)> = Vec::new();
        while !failed.load(Ordering::Relaxed) {
            // Elements are taken in order, so all before one that fails are worked on too.
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(element) = elements.get(at) else { break };
            let result = work(element);
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            done.push((at, result));
        }
        done
    };
    let mut results = thread::scope(|scope| {
        let others = threads.min(elements.len()).saturating_sub(1);
        // Where the system has no more threads, fewer do the work.
        let spawn = |_| Builder::new().stack_size(STACK).spawn_scoped(scope, take).ok();
        let others: Vec<ScopedJoinHandle<'_, _>> = (0..others).map_while(spawn).collect();
        let mut results = take();
        for other in others {
            results.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        results
    });
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(at, result)| result.map_err(|error| (at, error))).collect()
}

/// The elements of a batch, made one by one. An error says which one it is.
pub(crate) fn elements<'py, T>(
    batch: &Bound<'py, PyAny>,
    name: &str,
    mut make: impl FnMut(&Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    let one = |(at, element): (usize, PyResult<Bound<'py, PyAny>>)| {
        make(&element?).map_err(|error| {
            // Errors about the arguments that all elements share have no place among them.
            let place = format!("{name}[{at}]");
            if error.is_instance_of::<PyTypeError>(batch.py()) { error } else { at_place(batch.py(), &place, error) }
        })
    };
    batch.try_iter()?.enumerate().map(one).collect()
}
