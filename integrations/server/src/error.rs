//! What a client is told if a request cannot be served: a status and a body, in the form of either API.

use std::borrow::Cow;
use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// An error that a client can act on: where it is, what is wrong, and what to do.
///
/// Serialised, it has OpenAI's form; [`anthropic`](Self::anthropic) gives Anthropic's.
///
/// ```
/// use unjinja_server::openai::ChatRequest;
///
/// let request = br#"{"model": "m", "messages": [{"role": "user", "content": "Hi"}], "audio": {}}"#;
/// let error = ChatRequest::from_json(request).unwrap_err();
/// assert_eq!((error.status(), error.param()), (400, Some("audio")));
/// assert_eq!(serde_json::to_value(&error)?["error"]["code"], "unsupported_parameter");
/// assert_eq!(serde_json::to_value(error.anthropic())?["error"]["type"], "invalid_request_error");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    status: u16,
    param: Option<String>,
    code: Option<Cow<'static, str>>,
    /// OpenAI's type, where the upstream gave one.
    kind: Option<String>,
    message: String,
}

impl ApiError {
    /// An error with this HTTP status and no parameter.
    pub fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, param: None, code: None, kind: None, message: message.into() }
    }

    /// Status 400: the parameter at `place` is wrong. The message is `place: cause; next`.
    pub fn invalid(place: &str, cause: impl fmt::Display, next: impl fmt::Display) -> Self {
        Self::at(place, "invalid_value", cause, next)
    }

    /// Status 400: the parameter at `place` is valid in the API, and not supported here.
    pub fn unsupported(place: &str, cause: impl fmt::Display, next: impl fmt::Display) -> Self {
        Self::at(place, "unsupported_parameter", cause, next)
    }

    /// Status 404: no model has this name. `known` lists those that there are.
    pub fn no_model(name: &str, known: &str) -> Self {
        let shown: String = name.chars().take(80).collect();
        let message = format!("model: no model is called {shown:?}; use one of: {known}");
        Self { param: Some("model".to_owned()), code: Some("model_not_found".into()), ..Self::new(404, message) }
    }

    /// Status 400 with a word for programs: the parameter at `place` is wrong. The message is `place: cause; next`.
    pub(crate) fn at(place: &str, code: &'static str, cause: impl fmt::Display, next: impl fmt::Display) -> Self {
        let (param, message) = match place {
            "" => (None, format!("{cause}; {next}")),
            place => (Some(place.to_owned()), format!("{place}: {cause}; {next}")),
        };
        Self { status: 400, param, code: Some(code.into()), kind: None, message }
    }

    /// The error with the place of a parameter and a word for programs.
    #[cfg(feature = "http")]
    pub(crate) fn of(mut self, place: &str, code: &'static str) -> Self {
        self.param = Some(place.to_owned());
        self.code = Some(code.into());
        self
    }

    /// The error with the words for programs that the upstream gave.
    #[cfg(feature = "http")]
    pub(crate) fn said(mut self, kind: Option<&str>, code: Option<&str>) -> Self {
        self.kind = kind.map(str::to_owned);
        self.code = code.map(|code| code.to_owned().into());
        self
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The place of the parameter, as a JSON path: `messages[0].content[1]`.
    pub fn param(&self) -> Option<&str> {
        self.param.as_deref()
    }

    /// A word for programs: `unsupported_parameter`, `invalid_value`, `unknown_url`, `model_not_found`.
    pub fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }

    /// The sentence for people, with the place, the cause and the next step.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// OpenAI's type of the error.
    pub fn kind(&self) -> &str {
        if let Some(kind) = &self.kind {
            return kind;
        }
        match self.status {
            401 => "authentication_error",
            403 => "permission_error",
            429 => "rate_limit_error",
            400..=499 => "invalid_request_error",
            _ => "server_error",
        }
    }

    /// The same error, to be serialised in Anthropic's form.
    pub fn anthropic(&self) -> AnthropicError<'_> {
        AnthropicError(self)
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ApiError {}

impl Serialize for ApiError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Body<'e> {
            message: &'e str,
            r#type: &'e str,
            param: Option<&'e str>,
            code: Option<&'e str>,
        }
        let mut map = serializer.serialize_map(Some(1))?;
        let body = Body { message: &self.message, r#type: self.kind(), param: self.param(), code: self.code() };
        map.serialize_entry("error", &body)?;
        map.end()
    }
}

/// An [`ApiError`] in Anthropic's form: `{"type": "error", "error": {"type", "message", "details": {"error_code"}}}`, with `details` where
/// there is a word for programs.
#[derive(Debug, Clone, Copy)]
pub struct AnthropicError<'e>(&'e ApiError);

impl Serialize for AnthropicError<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Body<'e> {
            r#type: &'static str,
            message: &'e str,
            #[serde(skip_serializing_if = "Option::is_none")]
            details: Option<Details<'e>>,
        }
        #[derive(Serialize)]
        struct Details<'e> {
            error_code: &'e str,
        }
        let kind = match self.0.status {
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            400..=499 => "invalid_request_error",
            503 | 529 => "overloaded_error",
            _ => "api_error",
        };
        let details = self.0.code().map(|error_code| Details { error_code });
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("type", "error")?;
        map.serialize_entry("error", &Body { r#type: kind, message: &self.0.message, details })?;
        map.end()
    }
}
