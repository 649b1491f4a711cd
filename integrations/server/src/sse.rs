//! Server-sent events: the text that a stream of either API consists of.

use serde::Serialize;

/// The last event of a stream of OpenAI's.
pub const DONE: &str = "data: [DONE]\n\n";

/// One event. `name` is the event's type; OpenAI's events have none.
///
/// An error in the middle of a stream is `event(None, &error)` for OpenAI's clients, and
/// `event(Some("error"), &error.anthropic())` for Anthropic's.
///
/// ```
/// use unjinja_server::sse;
///
/// assert_eq!(sse::event(Some("ping"), &serde_json::json!({"type": "ping"})), "event: ping\ndata: {\"type\":\"ping\"}\n\n");
/// ```
pub fn event(name: Option<&str>, data: &impl Serialize) -> String {
    // What this crate serialises always has JSON: its maps have strings as keys.
    let data = serde_json::to_string(data).unwrap_or_else(|error| {
        serde_json::json!({"error": {"type": "server_error", "message": error.to_string()}}).to_string()
    });
    match name {
        Some(name) => format!("event: {name}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    }
}
