//! Responses that are kept: a client reads one again by its id, or has it deleted.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, RawQuery, State as Shared};
use axum::http::Response;
use serde_json::json;

use super::refusal::{error_response, json_response};
use super::reply::Api;
use super::state::State;
use crate::error::ApiError;

/// Where they are.
pub(crate) const RESPONSE: &str = "/v1/responses/{id}";

/// `GET`: the response as the client got it.
pub(crate) async fn read(
    Shared(state): Shared<Arc<State>>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Response<Body> {
    let mut fields = query.as_deref().unwrap_or_default().split('&');
    if fields.any(|field| field == "stream=true") {
        let cause = "the events of a response are not kept";
        return error_response(Api::Responses, &ApiError::unsupported("stream", cause, "leave it out"));
    }
    match state.memory.get(&id) {
        Some(response) => json_response(response.to_string()),
        None => error_response(Api::Responses, &not_kept(&id)),
    }
}

/// `DELETE`: later requests cannot name it any more.
pub(crate) async fn delete(Shared(state): Shared<Arc<State>>, Path(id): Path<String>) -> Response<Body> {
    match state.memory.delete(&id) {
        true => json_response(json!({"id": id, "object": "response", "deleted": true}).to_string()),
        false => error_response(Api::Responses, &not_kept(&id)),
    }
}

fn not_kept(id: &str) -> ApiError {
    let shown: String = id.chars().take(80).collect();
    ApiError::new(404, format!("no response with the id {shown:?} is kept here"))
}
