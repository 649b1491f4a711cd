//! What a linter reports: a finding of a rule about a template, and the evidence that shows it. Plain data; nothing here
//! renders or judges.

use serde_json::Value;
use unjinja_render::SourcePosition;

use super::rules::Rule;
use super::severity::Severity;

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Target {
    /// A chat template, which turns messages into a prompt.
    ChatTemplate,
    /// A response template, which says how an output is divided into the fields of a message.
    ResponseTemplate,
}

impl Target {
    /// The target's name in JSON: `chat_template` or `response_template`.
    pub fn name(self) -> &'static str {
        match self {
            Target::ChatTemplate => "chat_template",
            Target::ResponseTemplate => "response_template",
        }
    }
}

/// What shows that a finding is right.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Evidence {
    /// A conversation, and what becomes of it.
    Conversation {
        /// The variables of the render, as `unjinja render` takes them: `messages`, `tools`, switches.
        conversation: Value,
        /// What the template should make of it: a piece of the text, or a sentence.
        expected: String,
        /// What it makes of it: the same piece of the text, or the error.
        actual: String,
    },
    /// An output, and what a reader makes of it.
    Output {
        /// What the model writes.
        output: String,
        /// The message that it means, as JSON.
        written: String,
        /// The message that is read, as JSON, or the error.
        read: String,
    },
}

/// Something in a template that its maintainer should look at.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Finding {
    /// The rule that found it.
    pub rule: Rule,
    /// How bad it is here: at most as bad as the rule says.
    pub severity: Severity,
    /// What it is about.
    pub target: Target,
    /// What happens, and to whom. Sentences without line breaks.
    pub message: String,
    /// What to change. A sentence; empty where nothing can be changed.
    pub help: String,
    /// The line of the template, from 1, where it is known.
    pub line: Option<u32>,
    /// The character in the line, from 1, where it is known.
    pub column: Option<u32>,
    /// The smallest conversation or output that shows it; absent where none is needed.
    pub evidence: Option<Evidence>,
}

impl Finding {
    /// A finding about a chat template, without evidence.
    pub(crate) fn new(rule: Rule, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            rule,
            severity: rule.severity,
            target: Target::ChatTemplate,
            message: message.into(),
            help: help.into(),
            line: None,
            column: None,
            evidence: None,
        }
    }

    pub(crate) fn with(mut self, conversation: Value, expected: impl Into<String>, actual: impl Into<String>) -> Self {
        self.evidence = Some(Evidence::Conversation { conversation, expected: expected.into(), actual: actual.into() });
        self
    }

    pub(crate) fn at(mut self, position: Option<SourcePosition>) -> Self {
        (self.line, self.column) = (position.map(|at| at.line), position.map(|at| at.column));
        self
    }

    pub(crate) fn at_line(mut self, line: Option<usize>) -> Self {
        self.line = line.and_then(|line| u32::try_from(line).ok());
        self
    }

    pub(crate) fn at_most(mut self, severity: Severity) -> Self {
        self.severity = self.severity.min(severity);
        self
    }
}

/// A sentence that begins with a capital letter.
pub(crate) fn capitalised(sentence: &str) -> String {
    let mut chars = sentence.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}
