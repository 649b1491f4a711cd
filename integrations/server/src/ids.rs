//! Ids of responses, and their time.

use std::time::{SystemTime, UNIX_EPOCH};

use unjinja_spec::{CallIdShape, CallIds};

/// An id that no other has: the prefix and 24 letters and digits.
///
/// ```
/// use unjinja_server::unique_id;
///
/// assert_ne!(unique_id("chatcmpl-"), unique_id("chatcmpl-"));
/// assert_eq!(unique_id("msg_").len(), "msg_".len() + 24);
/// ```
pub fn unique_id(prefix: &'static str) -> String {
    CallIds::new(CallIdShape::Free).prefix(prefix).next("", None)
}

/// Seconds since 1970: OpenAI's `created`.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
