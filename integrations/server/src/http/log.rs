//! The log: one line for each request and for what an operator should know. It has no prompts, no answers and no keys.

use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};

/// The kind of diagnostic for a request whose messages spell a special token.
pub(crate) const SPELLED: &str = "special_token_in_message";

/// The kind of diagnostic if the model reads such a text as ordinary tokens.
pub(crate) const SPELLED_AS_TEXT: &str = "special_token_as_text";

type Sink = dyn Fn(&LogLine) + Send + Sync;

/// Takes the lines of the log.
#[derive(Clone)]
pub struct Log(Option<Arc<Sink>>);

impl Log {
    /// A log that drops its lines.
    pub fn none() -> Self {
        Self(None)
    }

    /// A log that calls this for every line. It should return at once.
    pub fn to(sink: impl Fn(&LogLine) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(sink)))
    }

    pub(crate) fn write(&self, line: LogLine) {
        if let Some(sink) = &self.0 {
            sink(&line);
        }
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Log")
    }
}

/// A line of the log. [`Display`](fmt::Display) prints it without a line break.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogLine {
    /// A request was answered, or refused.
    Request {
        /// The id of the request: what the client sent as `x-request-id`, or one of our own. The response has it too.
        id: String,
        /// The path of the endpoint.
        route: &'static str,
        /// The HTTP status.
        status: u16,
        /// Milliseconds until the answer was complete.
        milliseconds: u64,
        /// The name of the model that answered.
        model: Option<String>,
        /// Tokens of the prompt and of the output, as the upstream counts them.
        tokens: Option<(u64, u64)>,
        /// Why it failed, if it did. The text is ours and the upstream's, never the client's.
        error: Option<String>,
    },
    /// The parser noticed something in an answer. Only the kind is logged, because details quote the answer.
    Diagnostic {
        /// The name of the model.
        model: String,
        /// The kind: `malformed_arguments`, `stripped_tokens`, …
        kind: String,
    },
    /// A schema has keywords that the grammar does not check.
    Unchecked {
        /// The name of the model.
        model: String,
        /// The keywords: `multipleOf`, …
        keywords: Vec<String>,
    },
    /// The upstream was restarted with other models, which have these names.
    OtherModels(Vec<String>),
    /// Anything else.
    Note(String),
}

/// How important a line of the log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// As it should be.
    Info,
    /// An operator should look at it.
    Warning,
    /// A request failed, and not because of the client.
    Error,
}

impl LogLevel {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl LogLine {
    /// How important the line is.
    pub fn level(&self) -> LogLevel {
        match self {
            Self::Request { status, .. } if *status >= 500 => LogLevel::Error,
            // An agent with a wrong key tries again and again, and may show nothing.
            Self::Request { status: 401, .. } => LogLevel::Warning,
            Self::OtherModels(_) | Self::Diagnostic { .. } | Self::Unchecked { .. } => LogLevel::Warning,
            Self::Request { .. } | Self::Note(_) => LogLevel::Info,
        }
    }

    /// The line as a JSON object, for programs that read logs.
    ///
    /// ```
    /// use unjinja_server::http::LogLine;
    ///
    /// let line = LogLine::Note("shutting down".to_owned());
    /// assert_eq!(line.to_json(), serde_json::json!({"level": "info", "kind": "note", "message": "shutting down"}));
    /// ```
    pub fn to_json(&self) -> Value {
        let mut object = match self {
            Self::Request { id, route, status, milliseconds, model, tokens, error } => json!({
                "kind": "request", "id": id, "route": route, "status": status, "milliseconds": milliseconds, "model": model,
                "input_tokens": tokens.map(|(input, _)| input), "output_tokens": tokens.map(|(_, output)| output), "error": error,
            }),
            Self::Diagnostic { model, kind } => json!({"kind": "diagnostic", "model": model, "diagnostic": kind}),
            Self::Unchecked { model, keywords } => json!({"kind": "unchecked", "model": model, "keywords": keywords}),
            Self::OtherModels(models) => json!({"kind": "other_models", "models": models}),
            Self::Note(text) => json!({"kind": "note", "message": text}),
        };
        object["level"] = self.level().name().into();
        object
    }
}

impl fmt::Display for LogLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request { id, route, status, milliseconds, model, tokens, error } => {
                write!(f, "{route} {status} {milliseconds} ms {id}")?;
                if let Some(model) = model {
                    write!(f, " {model}")?;
                }
                if let Some((input, output)) = tokens {
                    write!(f, " {input} + {output} tokens")?;
                }
                error.as_ref().map_or(Ok(()), |error| write!(f, ": {error}"))
            }
            Self::Diagnostic { model, kind } if kind == "stripped_tokens" => write!(
                f,
                "{model}: stripped_tokens: an answer looks like a call without its special tokens; see that the upstream keeps \
                 them"
            ),
            Self::Diagnostic { model, kind } if kind == SPELLED => write!(
                f,
                "{model}: {kind}: the text of a message spells a special token, which the model reads as one; --tokenizer makes it \
                 ordinary text, and --markers refuse refuses such requests"
            ),
            Self::Diagnostic { model, kind } if kind == SPELLED_AS_TEXT => write!(
                f,
                "{model}: {kind}: a text of the request spells a special token; the model reads it as ordinary tokens"
            ),
            Self::Diagnostic { model, kind } => {
                write!(f, "{model}: {kind} in an answer; docs/deviations.md says what the parser did")
            }
            Self::Unchecked { model, keywords } => {
                write!(f, "{model}: the grammar does not check these keywords of schemas: {}", keywords.join(", "))
            }
            Self::OtherModels(models) => write!(
                f,
                "the upstream has other models now ({}); if their template is another one, send SIGHUP, or start again",
                models.join(", ")
            ),
            Self::Note(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(status: u16) -> LogLevel {
        let (id, route) = ("req_1".to_owned(), "/v1/models");
        LogLine::Request { id, route, status, milliseconds: 1, model: None, tokens: None, error: None }.level()
    }

    #[test]
    fn what_an_operator_should_see_is_above_info() {
        let found = [200, 400, 401, 502].map(request);
        assert_eq!(found, [LogLevel::Info, LogLevel::Info, LogLevel::Warning, LogLevel::Error]);
    }
}
