//! Which web pages may ask. A page that a user visits can send requests to a server on the user's own machine, by its address or by a
//! name that the page makes point there. The headers `Host` and `Origin` show both.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State as Shared};
use axum::http::{HeaderName, HeaderValue, Method, Response, StatusCode, header};
use axum::middleware::Next;

use super::refusal::error_response;
use super::reply::Api;
use super::state::State;
use crate::error::ApiError;

/// How long browsers may keep the answer to a question for permission, in seconds.
const KEPT: &str = "600";

/// Refuses requests under foreign names and of foreign pages, and tells the pages that may ask that they may.
pub(crate) async fn check(Shared(state): Shared<Arc<State>>, request: Request, next: Next) -> Response<Body> {
    let config = &state.config;
    let origin = request.headers().get(header::ORIGIN).cloned();
    if let Err(error) = allowed(config.hosts.as_deref(), &config.origins, &request) {
        return error_response(Api::of_path(request.uri().path()), &error);
    }
    let asks = request.method() == Method::OPTIONS
        && origin.is_some()
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let wanted = request.headers().get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    let mut response = if asks { Response::new(Body::empty()) } else { next.run(request).await };
    let Some(origin) = origin else { return response };
    let mut set = |name: HeaderName, value: HeaderValue| response.headers_mut().insert(name, value);
    set(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    set(header::VARY, HeaderValue::from_static("origin"));
    if asks {
        set(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE"));
        set(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(KEPT));
        if let Some(wanted) = wanted {
            set(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted);
        }
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    response
}

/// Whether a request may be answered. `hosts`: the names under which the proxy is reached; any if there are none.
fn allowed(hosts: Option<&[String]>, origins: &[String], request: &Request) -> Result<(), ApiError> {
    let headers = request.headers();
    if headers.get_all(header::HOST).iter().count() > 1 {
        return Err(ApiError::new(400, "the request has several headers `Host`; send one"));
    }
    let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    // A host in the target counts more than the header.
    let target = request.uri().authority().map(|authority| authority.as_str());
    let host = target.or_else(|| text(header::HOST)).unwrap_or_default();
    let is_known = |known: &String| known.eq_ignore_ascii_case(without_port(host));
    if hosts.is_some_and(|hosts| !hosts.iter().any(is_known)) {
        let message = "the proxy is not reached under this name (header `Host`); start it with --allow-host NAME";
        return Err(ApiError::new(403, message));
    }
    let Some(origin) = text(header::ORIGIN) else { return Ok(()) };
    let is_own = origin.split_once("://").is_some_and(|(_, place)| place.eq_ignore_ascii_case(host));
    let is_given = origins.iter().any(|given| given == "*" || given.eq_ignore_ascii_case(origin));
    if is_own || is_given {
        return Ok(());
    }
    Err(ApiError::new(403, "this page may not ask (header `Origin`); start the proxy with --cors ORIGIN"))
}

/// A host without its port. An address of IPv6 is in square brackets.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(host: &str, origin: Option<&str>) -> u16 {
        status_of("/", &[host], origin)
    }

    fn status_of(target: &str, given: &[&str], origin: Option<&str>) -> u16 {
        let hosts = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = target.parse().unwrap();
        for host in given {
            request.headers_mut().append(header::HOST, host.parse().unwrap());
        }
        if let Some(origin) = origin {
            request.headers_mut().insert(header::ORIGIN, origin.parse().unwrap());
        }
        match allowed(Some(&hosts), &["https://good.example".to_owned()], &request) {
            Ok(()) => 200,
            Err(error) => error.status(),
        }
    }

    #[test]
    fn foreign_names_and_pages_are_refused() {
        for host in ["localhost:8080", "LOCALHOST", "127.0.0.1:1", "[::1]:8080", "[::1]"] {
            assert_eq!(status(host, None), 200, "{host}");
        }
        for host in ["evil.example", "127.0.0.1.evil.example:8080", "", "[::2]:8080", "localhost:x"] {
            assert_eq!(status(host, None), 403, "{host}");
        }
        assert_eq!(status_of("/", &["localhost", "evil.example"], None), 400);
        assert_eq!(status_of("http://evil.example/", &["localhost"], None), 403);
        for (origin, expected) in [
            ("https://good.example", 200),
            ("http://localhost:8080", 200),
            ("https://evil.example", 403),
            ("http://localhost:9", 403),
            ("null", 403),
        ] {
            assert_eq!(status("localhost:8080", Some(origin)), expected, "{origin}");
        }
    }
}
