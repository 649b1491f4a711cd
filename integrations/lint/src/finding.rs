//! What a linter reports: a finding of a rule about a template, and the evidence that shows it. Plain data; nothing here
//! renders or judges.

use serde::Serialize;
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
        /// The variables of the render, as `unjinja render --as jinja2` takes them: `messages`, `tools`, switches.
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

/// A finding, for programs: what `unjinja lint --format json` prints.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FindingDocument<'f> {
    /// The name of the rule; docs/lint.md lists them.
    rule: &'static str,
    /// How bad it is. If there is an `error`, or with `--strict` a `warning`, the exit code is 1.
    severity: Severity,
    /// What the finding is about.
    target: Target,
    /// What happens, and to whom.
    message: &'f str,
    /// What to change; empty if nothing can be changed.
    help: &'f str,
    /// The line of the template, from 1: of the statement that the finding is about. Null if it is not known.
    line: Option<u32>,
    /// The character in the line, from 1; null if it is not known.
    column: Option<u32>,
    /// The smallest conversation that shows it, as `unjinja render --as jinja2` takes it; null if none is needed.
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Map<String, Value>>"))]
    conversation: Option<&'f Value>,
    /// For response templates: the smallest output that shows it.
    output: Option<&'f str>,
    /// What the template should make of it: a piece of the prompt, or a sentence; of an output, the message as JSON.
    expected: Option<&'f str>,
    /// What it makes of it, or the error.
    actual: Option<&'f str>,
}

impl<'f> FindingDocument<'f> {
    /// What programs are told of a finding.
    pub fn new(finding: &'f Finding) -> Self {
        let (mut conversation, mut output, mut texts) = (None, None, None);
        match &finding.evidence {
            Some(Evidence::Conversation { conversation: given, expected, actual }) => {
                (conversation, texts) = (Some(given), Some((expected, actual)));
            }
            Some(Evidence::Output { output: given, written, read }) => {
                (output, texts) = (Some(given.as_str()), Some((written, read)));
            }
            _ => {}
        }
        Self {
            rule: finding.rule.id,
            severity: finding.severity,
            target: finding.target,
            message: &finding.message,
            help: &finding.help,
            line: finding.line,
            column: finding.column,
            conversation,
            output,
            expected: texts.map(|(expected, _)| expected.as_str()),
            actual: texts.map(|(_, actual)| actual.as_str()),
        }
    }
}

/// A sentence that begins with a capital letter.
pub(crate) fn capitalised(sentence: &str) -> String {
    let mut chars = sentence.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}
