//! The record of an analysis: which comparisons were made, what each of them rendered, and what was concluded from it.
//!
//! `unjinja explain` shows it. The record is written from what was observed and from the spec that was concluded. Nothing
//! here renders or decides anything.

use std::fmt;
use std::ops::Range;

use serde::Serialize;
use serde_json::Value;
use unjinja_spec::{FormatSpec, diff};

use crate::error::AnalyzeError;
pub use crate::experiment::Experiment;
use crate::sentinels::SENTINELS;
use crate::text;

pub(crate) mod record;

/// One comparison: what varied, the renders, and what they show.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// What it is about.
    pub experiment: Experiment,
    /// What varied, in words.
    pub varied: String,
    /// What was rendered.
    pub renders: Vec<Rendering>,
    /// What was concluded.
    pub findings: Vec<Finding>,
    /// Why.
    pub because: String,
}

/// One render of a comparison: the part of it that is compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rendering {
    /// Which of the compared conversations it is.
    pub of: String,
    /// The text; empty if rendering failed.
    pub text: String,
    /// Why rendering failed, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The places of the conversation's fields in the text, in order.
    pub fields: Vec<FieldSpan>,
    /// The bytes of the text in which the compared renders differ; absent if they are equal or if there is only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differs: Option<Range<usize>>,
}

/// The place of a field of the conversation in a render.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FieldSpan {
    /// The first byte.
    pub start: usize,
    /// The end, exclusive.
    pub end: usize,
    /// The field.
    pub field: Field,
}

/// A field that carries a sentinel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Field {
    /// A user's message.
    User,
    /// The answer.
    Content,
    /// The chain of thought.
    Reasoning,
    /// A function's name.
    FunctionName,
    /// An argument's name.
    ArgumentName,
    /// An argument's value.
    ArgumentValue,
    /// A call's id.
    CallId,
}

impl Field {
    /// Every field, in the order of a conversation.
    pub const ALL: &[Self] = &[
        Self::User,
        Self::Content,
        Self::Reasoning,
        Self::FunctionName,
        Self::ArgumentName,
        Self::ArgumentValue,
        Self::CallId,
    ];

    /// The field in words.
    pub fn title(self) -> &'static str {
        match self {
            Field::User => "user",
            Field::Content => "content",
            Field::Reasoning => "reasoning",
            Field::FunctionName => "function name",
            Field::ArgumentName => "argument name",
            Field::ArgumentValue => "argument value",
            Field::CallId => "call id",
        }
    }
}

/// A conclusion: a key of the spec and its value.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The key, as the spec writes it.
    pub key: String,
    /// Its value.
    pub value: Value,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.key, self.value)
    }
}

impl Comparison {
    pub(crate) fn new(experiment: Experiment, varied: impl Into<String>) -> Self {
        let (renders, findings) = (Vec::new(), Vec::new());
        Self { experiment, varied: varied.into(), renders, findings, because: String::new() }
    }

    /// The comparison that ended the analysis.
    pub(crate) fn failed(error: &AnalyzeError) -> Self {
        let experiment = error.comparison.unwrap_or(Experiment::C1);
        Self::new(experiment, "an answer to a user message")
            .result::<&str, _>("the answer's turn", Err(&error.seen))
            .because("it cannot be rendered, or the answer is not in it, so there is nothing to compare with")
    }

    /// What the text of the prompt adds to a spec.
    pub(crate) fn of_described(spec: &FormatSpec, described: &FormatSpec) -> Self {
        let example = described.evidence.described.tool_calls.as_deref().unwrap_or_default();
        let comparison = Self::new(Experiment::Described, "the text of a prompt with tools")
            .render("the example in it", example)
            .because("no render shows a call; a tag opens this example, and the parser reads it as one call");
        let value = |text: String| serde_json::from_str(&text).unwrap_or(Value::String(text));
        let new = diff(spec, described).into_iter().filter_map(|change| Some((change.key, value(change.new?))));
        new.filter(|(key, _)| key.starts_with("tools.")).fold(comparison, |made, (key, value)| made.found(&key, value))
    }

    /// Adds a text that was compared.
    pub(crate) fn render(mut self, of: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let fields = fields_in(&text);
        self.renders.push(Rendering { of: of.into(), text, error: None, fields, differs: None });
        let texts: Vec<&str> = self.renders.iter().filter(|r| r.error.is_none()).map(|r| r.text.as_str()).collect();
        let differs = differing(&texts);
        let with_text = self.renders.iter_mut().filter(|render| render.error.is_none());
        for (render, range) in with_text.zip(differs) {
            render.differs = range;
        }
        self
    }

    /// Adds a render, or the error that it ended with.
    pub(crate) fn result<T: Into<String>, E: fmt::Display>(mut self, of: &str, result: Result<T, E>) -> Self {
        match result {
            Ok(text) => self.render(of, text),
            Err(error) => {
                let (of, text, error) = (of.to_owned(), String::new(), Some(error.to_string()));
                self.renders.push(Rendering { of, text, error, fields: Vec::new(), differs: None });
                self
            }
        }
    }

    /// Adds a conclusion.
    pub(crate) fn found(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.findings.push(Finding { key: key.to_owned(), value: value.into() });
        self
    }

    /// Sets the reason.
    pub(crate) fn because(mut self, why: impl Into<String>) -> Self {
        self.because = why.into();
        self
    }
}

/// The places of the sentinels in a text.
fn fields_in(text: &str) -> Vec<FieldSpan> {
    let s = &SENTINELS;
    let groups: [(Field, &[&str]); 7] = [
        (Field::User, &[s.user, s.user2]),
        (Field::Content, &[s.content, s.word]),
        (Field::Reasoning, &[s.reasoning]),
        (Field::FunctionName, &s.functions),
        (Field::ArgumentName, &s.arguments),
        (Field::ArgumentValue, &s.values),
        (Field::CallId, &s.ids),
    ];
    let mut spans: Vec<FieldSpan> = Vec::new();
    for (field, words) in groups {
        for word in words {
            spans.extend(text.match_indices(word).map(|(start, _)| FieldSpan {
                start,
                end: start + word.len(),
                field,
            }));
        }
    }
    spans.sort_by_key(|span| span.start);
    spans
}

/// The part of each text that is not common to all of them.
fn differing(texts: &[&str]) -> Vec<Option<Range<usize>>> {
    let [first, others @ ..] = texts else { return Vec::new() };
    if others.is_empty() || others.iter().all(|other| other == first) {
        return vec![None; texts.len()];
    }
    let prefix = others.iter().map(|other| text::common_prefix(first, other)).min().unwrap_or(0);
    let suffix = others.iter().map(|other| text::common_suffix(&first[prefix..], &other[prefix..])).min().unwrap_or(0);
    texts.iter().map(|text| Some(prefix..text.len() - suffix)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renders_are_compared_and_fields_found() {
        let s = &SENTINELS;
        let note = Comparison::new(Experiment::T1, "no call | one call")
            .render("no call", format!("<a>{}</a>", s.content))
            .render("one call", format!("<a><c>{}</c></a>", s.ids[0]));
        assert_eq!(note.renders[0].differs, Some(3..3 + s.content.len()));
        assert_eq!(note.renders[1].fields, [FieldSpan { start: 6, end: 6 + s.ids[0].len(), field: Field::CallId }]);
        assert_eq!(differing(&["aXa", "aa", "aYXa"]), [Some(1..2), Some(1..1), Some(1..3)]);
        assert_eq!(differing(&["same", "same"]), [None, None]);
    }
}
