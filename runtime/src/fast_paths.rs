//! The switch of all fast paths.
//!
//! A fast path is code that reads text faster than the general code because the text is written as models usually write
//! it. It must never change a message. All of them are called through [`attempt`]: a fast path gives `None` if the text is
//! unusual, and then the general code goes on. A test turns all of them off and compares the messages. This module must not
//! decide anything else.
//!
//! | fast path | what it gains, in instructions |
//! |---|---|
//! | `engine/fast_path.rs`, `engine/pieces.rs`: pieces in which no marker can begin skip the machine | the stream limits; see `docs/performance.md` |
//! | `engine/search.rs`: `leap` over text full of first bytes of markers; `compare_at_once` where all of a marker is at hand | |
//! | `readers/call_object/fast_path.rs`: the usual head and tail of a call object | |
//! | `readers/call_object.rs`: plain text of keys and names | |
//! | `readers/python.rs`: plain text of strings | |

#[cfg(feature = "testing")]
use std::cell::Cell;

#[cfg(feature = "testing")]
thread_local! {
    static DISABLED: Cell<bool> = const { Cell::new(false) };
}

/// Runs a fast path. `None` if the text is unusual, or if fast paths are turned off. Without the feature `testing` they
/// never are, and this costs nothing.
#[inline(always)]
pub(crate) fn attempt<T>(fast_path: impl FnOnce() -> Option<T>) -> Option<T> {
    #[cfg(feature = "testing")]
    if DISABLED.get() {
        return None;
    }
    fast_path()
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
