//! Why an output ended, and what it cost: what the server that ran the model says, for both APIs.

use serde::{Deserialize, Serialize};

/// Why the output ended, as the server that ran the model says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Finish {
    /// The model ended its turn.
    #[default]
    Stop,
    /// A stop sequence of the request was written. The text is empty if it is not known which.
    StopSequence(String),
    /// The limit of tokens or of the context was reached.
    Length,
    /// A filter ended the output.
    ContentFilter,
}

impl Finish {
    /// What a server's `finish_reason` means. A reason that is not known counts as [`Finish::Stop`]. Ask
    /// [`is_failure`](Self::is_failure) first: a server that gave up has not ended the output.
    ///
    /// ```
    /// use unjinja_server::Finish;
    ///
    /// assert_eq!(Finish::from_reason("length"), Finish::Length);
    /// assert_eq!(Finish::from_reason("eos_token"), Finish::Stop);
    /// ```
    pub fn from_reason(reason: &str) -> Self {
        match reason {
            "length" | "max_tokens" | "limit" => Self::Length,
            "content_filter" => Self::ContentFilter,
            "stop_sequence" | "word" => Self::StopSequence(String::new()),
            _ => Self::Stop,
        }
    }

    /// Whether a server's `finish_reason` says that it gave up. The output is then incomplete, and not by a limit that the client
    /// set: tell the client of an error.
    ///
    /// ```
    /// use unjinja_server::Finish;
    ///
    /// assert!(Finish::is_failure("abort"));
    /// assert!(!Finish::is_failure("stop"));
    /// ```
    pub fn is_failure(reason: &str) -> bool {
        let reason = reason.to_ascii_lowercase();
        // Servers write `abort`, `error`, `engine_error`, `cancelled`, …
        ["abort", "cancel", "error", "fail", "timeout"].iter().any(|word| reason.contains(word))
    }
}

/// How many tokens a turn took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt.
    pub input: u64,
    /// Tokens that the model wrote.
    pub output: u64,
    /// Tokens of the prompt that came from a cache, if known.
    pub cached: Option<u64>,
    /// Tokens of the reasoning, if known.
    pub reasoning: Option<u64>,
}

impl Usage {
    /// Tokens of the prompt and of the output.
    pub fn new(input: u64, output: u64) -> Self {
        Self { input, output, ..Self::default() }
    }

    /// The usage of this turn and of another one with the same prompt, which counts once.
    ///
    /// ```
    /// use unjinja_server::Usage;
    ///
    /// assert_eq!(Usage::new(10, 3).and(Usage::new(10, 4)), Usage::new(10, 7));
    /// ```
    pub fn and(self, other: Self) -> Self {
        let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            _ => one.or(other),
        };
        Self {
            input: self.input.max(other.input),
            output: self.output.saturating_add(other.output),
            cached: self.cached.or(other.cached),
            reasoning: sum(self.reasoning, other.reasoning),
        }
    }
}
