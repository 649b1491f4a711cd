//! Responses that are kept: a client reads one again by its id, or has it deleted.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State as Shared};
use axum::http::Response;
use serde_json::{Value, json};

use super::refusal::{error_response, json_response};
use super::reply::Api;
use super::state::State;
use crate::error::ApiError;

/// Where they are.
pub(crate) const RESPONSE: &str = "/v1/responses/{id}";

/// Where the items of their requests are.
pub(crate) const INPUT_ITEMS: &str = "/v1/responses/{id}/input_items";

/// The name in a path, if it is text.
pub(crate) type NameInPath = Result<Path<String>, PathRejection>;

/// The name in a path. One that is no text names nothing, as the empty one does.
pub(crate) fn name_of(path: NameInPath) -> String {
    path.map(|Path(name)| name).unwrap_or_default()
}

/// `GET`: the response as the client got it.
pub(crate) async fn read(
    Shared(state): Shared<Arc<State>>,
    id: NameInPath,
    RawQuery(query): RawQuery,
) -> Response<Body> {
    let mut fields = query.as_deref().unwrap_or_default().split('&');
    if fields.any(|field| field == "stream=true") {
        let cause = "the events of a response are not kept";
        return error_response(Api::Responses, &ApiError::unsupported("stream", cause, "leave it out"));
    }
    let id = name_of(id);
    match state.memory.get(&id) {
        Some(response) => json_response(response.to_string()),
        None => error_response(Api::Responses, &not_kept(&id)),
    }
}

/// `GET`: the items of the request that the response answers, the last first unless `order=asc` says otherwise.
pub(crate) async fn items(
    Shared(state): Shared<Arc<State>>,
    id: NameInPath,
    RawQuery(query): RawQuery,
) -> Response<Body> {
    let id = name_of(id);
    let Some(mut items) = state.memory.asked(&id) else { return error_response(Api::Responses, &not_kept(&id)) };
    let query = query.unwrap_or_default();
    let field = |name: &str| query.split('&').find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
    if field("order") != Some("asc") {
        items.reverse();
    }
    if let Some(after) = field("after") {
        let Some(at) = items.iter().position(|item| item["id"] == after) else {
            let error = ApiError::invalid("after", "no item has this id", "give the `last_id` of a list");
            return error_response(Api::Responses, &error);
        };
        items.drain(..=at);
    }
    let limit = field("limit").and_then(|most| most.parse().ok()).unwrap_or(20_usize).clamp(1, 100);
    let rest = items.split_off(items.len().min(limit));
    let id = |item: Option<&Value>| item.map_or(Value::Null, |item| item["id"].clone());
    let (first, last, more) = (id(items.first()), id(items.last()), !rest.is_empty());
    let list = json!({"object": "list", "data": items, "first_id": first, "last_id": last, "has_more": more});
    json_response(list.to_string())
}

/// `DELETE`: later requests cannot name it any more.
pub(crate) async fn delete(Shared(state): Shared<Arc<State>>, id: NameInPath) -> Response<Body> {
    let id = name_of(id);
    match state.memory.delete(&id) {
        true => json_response(json!({"id": id, "object": "response", "deleted": true}).to_string()),
        false => error_response(Api::Responses, &not_kept(&id)),
    }
}

fn not_kept(id: &str) -> ApiError {
    let shown: String = id.chars().take(80).collect();
    ApiError::new(404, format!("no response with the id {shown:?} is kept here"))
}
