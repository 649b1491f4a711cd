//! Shortens a conversation of the Responses API: the model writes a summary, and later requests have it in the place of what came before.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::http::{Response, StatusCode};
use serde_json::{Value, json};

use super::answer::{answer, aside};
use super::budget::HeldBody;
use super::guard::{Guard, Trace};
use super::refusal::{error_response, refused};
use super::reply::Api;
use super::state::State;
use crate::error::ApiError;
use crate::ids::unique_id;
use crate::request_value::parse;
use crate::responses::OPEN_SUMMARY;

/// What the model is asked.
const ASKS: &str = "Sum up this conversation. You will go on with the summary alone. Say what was asked, what was done and found out, which \
    names, paths and values are needed, and what comes next. Write the summary and nothing else.";

/// The fields of the request that count.
const READ: [&str; 5] = ["model", "instructions", "previous_response_id", "input", "chat_template_kwargs"];

/// Answers a request with the messages of the user and a summary.
pub(crate) async fn compact(state: Arc<State>, guard: Guard, trace: Trace, body: HeldBody) -> Response<Body> {
    let (kept, body) = match asked(&state, body).await {
        Ok(asked) => asked,
        Err(error) => return refused(Api::Responses, guard, &error.into()),
    };
    let answer = answer(state, Api::Responses, guard, trace, body).await;
    if answer.status() != StatusCode::OK {
        return answer;
    }
    let (head, body) = answer.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    match compacted(&serde_json::from_slice(&bytes).unwrap_or_default(), kept) {
        Some(response) => Response::from_parts(head, Body::from(response.to_string())),
        None => {
            error_response(Api::Responses, &ApiError::new(502, "the model wrote no summary; send the request again"))
        }
    }
}

/// The messages of the user, and the request for a summary.
async fn asked(state: &Arc<State>, body: HeldBody) -> Result<(Vec<Value>, HeldBody), ApiError> {
    let (shared, room, HeldBody { bytes, _room }) = (state.clone(), state.budget.work(&body.bytes).await?, body);
    let work = move || {
        let mut request = parse(&bytes)?;
        shared.memory.resolve(&mut request)?;
        let mut items = match request["input"].take() {
            Value::Array(items) => items,
            Value::String(text) => vec![json!({"role": "user", "content": text})],
            _ => Vec::new(),
        };
        let kept = items.iter().filter(|item| item["role"] == "user").cloned().collect();
        items.push(json!({"role": "user", "content": ASKS}));
        let mut asks = json!({"store": false});
        for name in READ {
            asks[name] = request[name].take();
        }
        asks["input"] = items.into();
        Ok((kept, asks.to_string()))
    };
    let ((kept, asks), _) = aside(room, work).await?;
    Ok((kept, HeldBody { bytes: asks.into(), _room }))
}

/// The response, if the model wrote a summary.
fn compacted(answer: &Value, mut kept: Vec<Value>) -> Option<Value> {
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
