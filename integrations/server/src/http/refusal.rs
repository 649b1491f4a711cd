//! What a client gets whose request is not answered.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Response, header};

use super::guard::Guard;
use super::reply::Api;
use super::upstream::Trouble;
use crate::error::ApiError;

/// Why a request was not answered: what the client is told, and what is logged.
pub(crate) struct Refusal {
    pub error: ApiError,
    /// Without anything that the client wrote.
    pub logged: &'static str,
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        Self { error, logged: "the request was refused" }
    }
}

impl From<Trouble> for Refusal {
    fn from(trouble: Trouble) -> Self {
        Self { error: trouble.error, logged: trouble.kind }
    }
}

/// Tells a client why its request was not answered.
pub(crate) fn refused(api: Api, guard: Guard, refusal: &Refusal) -> Response<Body> {
    guard.end(refusal.error.status(), Some(refusal.logged.to_owned()), Duration::ZERO);
    error_response(api, &refusal.error)
}

/// An error as a response.
pub(crate) fn error_response(api: Api, error: &ApiError) -> Response<Body> {
    let mut response = json_response(api.error(error));
    *response.status_mut() = axum::http::StatusCode::from_u16(error.status()).unwrap_or_default();
    if matches!(error.status(), 429 | 503) {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// JSON as a response.
pub(crate) fn json_response(body: String) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
