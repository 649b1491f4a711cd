//! The switch of all fast paths.
//!
//! A fast path is code that reads text faster than the general code because the text is written as models usually write
//! it. It must never change a message: where the text is unusual it takes nothing, and the general code goes on. Each
//! fast path asks [`enabled`] before it takes anything, so that a test can turn all of them off and compare. This module
//! must not decide anything else.

#[cfg(feature = "testing")]
use std::cell::Cell;

#[cfg(feature = "testing")]
thread_local! {
    static DISABLED: Cell<bool> = const { Cell::new(false) };
}

/// Whether fast paths may be used. Without the feature `testing` this is always so, and costs nothing.
#[inline(always)]
pub(crate) fn enabled() -> bool {
    #[cfg(feature = "testing")]
    {
        !DISABLED.get()
    }
    #[cfg(not(feature = "testing"))]
    {
        true
    }
}

/// Runs a function while this thread uses no fast path, so that all text is read by the general code.
///
/// ```
/// use unjinja_runtime::{python_to_json, testing::without_fast_paths};
///
/// let usual = python_to_json("{'city': 'Paris'}");
/// assert_eq!(without_fast_paths(|| python_to_json("{'city': 'Paris'}")), usual);
/// ```
#[cfg(feature = "testing")]
pub fn without_fast_paths<T>(run: impl FnOnce() -> T) -> T {
    /// Turns the fast paths on again, also where `run` panics.
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            DISABLED.set(self.0);
        }
    }
    let _restore = Restore(DISABLED.replace(true));
    run()
}
