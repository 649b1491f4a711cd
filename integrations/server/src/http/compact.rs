//! Shortens a conversation of the Responses API: the model writes a summary, and later requests have it in the place of what came before.

use std::sync::Arc;

use axum::body::Body;
use axum::http::Response;
use serde_json::{Value, json};

use super::answer::{aside, begin, parsed};
use super::budget::HeldBody;
use super::deliver::whole;
use super::guard::{Guard, Trace};
use super::refusal::refused;
use super::reply::Api;
use super::state::State;
use super::upstream::Trouble;
use crate::error::ApiError;
use crate::ids::unique_id;
use crate::request_value::RequestValue;
use crate::responses::OPEN_SUMMARY;

/// What the model is asked.
const ASKS: &str = "Sum up this conversation. You will go on with the summary alone. Say what was asked, what was done and found out, which \
    names, paths and values are needed, and what comes next. Write the summary and nothing else.";

/// Answers a request with the messages of the user and a summary.
pub(crate) async fn compact(state: Arc<State>, guard: Guard, trace: Trace, body: HeldBody) -> Response<Body> {
    let (kept, body) = match asked(&state, body).await {
        Ok(asked) => asked,
        Err(error) => return refused(Api::Responses, guard, &error.into()),
    };
    match begin(&state, Api::Responses, guard.began(), trace, body).await {
        Err(refusal) => refused(Api::Responses, guard, &refusal),
        Ok(begun) => {
            let mut guard = guard;
            guard.model_is(&begun.model);
            let none = || Trouble::new("no_summary", 502, "the model wrote no whole summary; send the request again");
            let make = |answer: String| {
                let made = compacted(&serde_json::from_str(&answer).unwrap_or_default(), kept);
                made.map(|made| made.to_string()).ok_or_else(none)
            };
            whole(&state, Api::Responses, guard, begun, make).await
        }
    }
}

/// The messages of the user, and the request for a summary: all of the client's, without tools.
async fn asked(state: &Arc<State>, body: HeldBody) -> Result<(Vec<Value>, HeldBody), ApiError> {
    let HeldBody { bytes, _room } = body;
    let ((mut request, named), room) = parsed(state, Api::Responses, bytes).await?;
    let work = move || {
        RequestValue::root(&request).object()?;
        named.and_then(|named| named.put(&mut request));
        let root = RequestValue::root(&request);
        let input = root.need("input", "the conversation")?;
        let mut items = match input.value {
            Value::String(text) => vec![json!({"role": "user", "content": text})],
            Value::Array(items) => items.clone(),
            _ => return Err(input.expected("a string or a list of items")),
        };
        let kept = items.iter().filter(|item| item["role"] == "user").cloned().collect();
        items.push(json!({"role": "user", "content": ASKS}));
        for (name, value) in [("store", json!(false)), ("stream", json!(false)), ("tool_choice", json!("none"))] {
            request[name] = value;
        }
        (request["tools"], request["input"]) = (Value::Null, items.into());
        Ok((kept, request.to_string()))
    };
    let ((kept, asks), _) = aside(room, work).await?;
    Ok((kept, HeldBody { bytes: asks.into(), _room }))
}

/// The response, if the model wrote a whole summary.
fn compacted(answer: &Value, mut kept: Vec<Value>) -> Option<Value> {
    if answer["status"] != "completed" {
        return None;
    }
    let messages = answer["output"].as_array()?.iter().filter(|item| item["type"] == "message");
    let parts = messages.filter_map(|message| message["content"].as_array()).flatten();
    let text: String = parts.filter_map(|part| part["text"].as_str()).collect();
    if text.trim().is_empty() {
        return None;
    }
    let summary = format!("{OPEN_SUMMARY}{}", text.trim());
    for item in kept.iter_mut().filter_map(Value::as_object_mut) {
        item.entry("type").or_insert_with(|| "message".into());
        item.entry("id").or_insert_with(|| unique_id("msg_").into());
    }
    kept.push(json!({"type": "compaction", "id": unique_id("cmp_"), "encrypted_content": summary}));
    let (id, created, usage) = (unique_id("resp_"), &answer["created_at"], &answer["usage"]);
    Some(json!({"id": id, "object": "response.compaction", "created_at": created, "output": kept, "usage": usage}))
}
