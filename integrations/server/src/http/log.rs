//! The log: one line for each request and for what an operator should know. It has no prompts, no answers and no keys.

use std::fmt;
use std::sync::Arc;

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
        /// The path of the endpoint.
        route: &'static str,
        /// The HTTP status.
        status: u16,
        /// Milliseconds until the answer was complete.
        milliseconds: u64,
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
    /// Anything else.
    Note(String),
}

impl fmt::Display for LogLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request { route, status, milliseconds, error } => {
                write!(f, "{route} {status} {milliseconds} ms")?;
                error.as_ref().map_or(Ok(()), |error| write!(f, ": {error}"))
            }
            Self::Diagnostic { model, kind } if kind == "stripped_tokens" => write!(
                f,
                "{model}: stripped_tokens: an answer looks like a call without its special tokens; see that the upstream keeps \
                 them"
            ),
            Self::Diagnostic { model, kind } => write!(f, "{model}: {kind}"),
            Self::Unchecked { model, keywords } => {
                write!(f, "{model}: the grammar does not check these keywords of schemas: {}", keywords.join(", "))
            }
            Self::Note(text) => f.write_str(text),
        }
    }
}
