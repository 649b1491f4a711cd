//! The switch of all fast paths.
//!
//! A fast path is code that reads text faster than the general code because the text is written as models usually write
//! it. It must never change a message. All of them are called through [`attempt`]: a fast path gives `None` if the text is
//! unusual, and then the general code takes over. A test turns all of them off and compares the messages. This module
//! must not decide anything else.
//!
//! Each fast path stays because without it one of the measured workloads takes at least 10 % more instructions
//! (`dev/benches/count_instructions`):
//!
//! | fast path | without it |
//! |---|---|
//! | `engine/fast_path.rs`, `engine/pieces.rs`: short pieces in which no marker can begin skip the machine | text in pieces of 4 bytes +317 %, strings +204 % |
//! | `readers/python.rs`: text of Python strings that JSON writes alike is copied | translated strings, whole, +259 % |
//! | `readers/call_object/fast_path.rs`: the usual head and rest of a call object | realistic turns, whole, +22 % |
//! | `engine/search.rs`, `leap`: text full of first bytes of markers | such text takes 260 times as long |
//! | `engine/search.rs`, `compare_at_once`, and `plain_text` in `readers/call_object.rs` | small each, but together more than 10 % of realistic turns |

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
