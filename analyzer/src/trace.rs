//! The record of an analysis: which comparisons were made, what each of them rendered, and what was concluded from it.
//!
//! `unjinja explain` shows it. A comparison is recorded where it is made, from the values that the analysis uses
//! itself. Nothing here renders or decides anything.

use std::fmt;
use std::ops::Range;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::sentinels::{SENTINELS, Sentinels};
use crate::text;

/// The subject of a comparison. Those with a letter and a number are named in specs, errors and documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Experiment {
    /// Which fields of a message the template reads.
    MessageFields,
    /// How calls have to be passed to the template: arguments as an object or as text, content empty or null.
    CallStyle,
    /// The text around an answer, at the end of a conversation and followed by another message.
    C1,
    /// What the template adds as the generation prompt.
    GenerationPrompt,
    /// Reasoning present or absent.
    R1,
    /// Thinking switched on or off.
    R2,
    /// Reasoning with an answer or with a call.
    R3,
    /// Whether the template splits an answer at a marker that no render shows.
    HiddenHistory,
    /// The text before a user message.
    UserTurn,
    /// No call or one.
    T1,
    /// One call or two.
    T2,
    /// Two function names.
    T3,
    /// The places of name, arguments and values in a call.
    T4,
    /// Two argument names.
    A1,
    /// A string or another value under the same name.
    A2,
    /// One argument or two.
    T5,
    /// No argument or one.
    T6,
    /// Two call ids.
    T7,
    /// How values other than strings are written.
    ValueTypes,
    /// An answer in the same turn as calls.
    ContentBesideCalls,
    /// Content that is null.
    NullContent,
    /// What the template can render at all.
    Capability,
}

impl Experiment {
    /// All of them, in the order in which `unjinja explain` lists them.
    pub const ALL: [Experiment; 22] = [
        Experiment::MessageFields,
        Experiment::CallStyle,
        Experiment::C1,
        Experiment::GenerationPrompt,
        Experiment::R1,
        Experiment::R2,
        Experiment::R3,
        Experiment::HiddenHistory,
        Experiment::UserTurn,
        Experiment::T1,
        Experiment::T2,
        Experiment::T3,
        Experiment::T4,
        Experiment::A1,
        Experiment::A2,
        Experiment::T5,
        Experiment::T6,
        Experiment::T7,
        Experiment::ValueTypes,
        Experiment::ContentBesideCalls,
        Experiment::NullContent,
        Experiment::Capability,
    ];

    /// Its short name: `T1`, or words in snake case.
    pub fn name(self) -> &'static str {
        match self {
            Experiment::MessageFields => "message_fields",
            Experiment::CallStyle => "call_style",
            Experiment::C1 => "C1",
            Experiment::GenerationPrompt => "generation_prompt",
            Experiment::R1 => "R1",
            Experiment::R2 => "R2",
            Experiment::R3 => "R3",
            Experiment::HiddenHistory => "hidden_history",
            Experiment::UserTurn => "user_turn",
            Experiment::T1 => "T1",
            Experiment::T2 => "T2",
            Experiment::T3 => "T3",
            Experiment::T4 => "T4",
            Experiment::A1 => "A1",
            Experiment::A2 => "A2",
            Experiment::T5 => "T5",
            Experiment::T6 => "T6",
            Experiment::T7 => "T7",
            Experiment::ValueTypes => "value_types",
            Experiment::ContentBesideCalls => "content_beside_calls",
            Experiment::NullContent => "null_content",
            Experiment::Capability => "capability",
        }
    }

    /// What it is about, in a few words.
    pub fn title(self) -> &'static str {
        match self {
            Experiment::MessageFields => "fields that the template looks for",
            Experiment::CallStyle => "the form in which calls are passed",
            Experiment::C1 => "an answer and the text around it",
            Experiment::GenerationPrompt => "the generation prompt",
            Experiment::R1 => "reasoning present or absent",
            Experiment::R2 => "thinking on or off",
            Experiment::R3 => "reasoning with an answer or with a call",
            Experiment::HiddenHistory => "reasoning that is removed from earlier turns",
            Experiment::UserTurn => "the text before a user message",
            Experiment::T1 => "no call or one",
            Experiment::T2 => "one call or two",
            Experiment::T3 => "two function names",
            Experiment::T4 => "name, arguments and values in a call",
            Experiment::A1 => "two argument names",
            Experiment::A2 => "a string or another value",
            Experiment::T5 => "one argument or two",
            Experiment::T6 => "no argument or one",
            Experiment::T7 => "two call ids",
            Experiment::ValueTypes => "values other than strings",
            Experiment::ContentBesideCalls => "an answer together with calls",
            Experiment::NullContent => "content that is null",
            Experiment::Capability => "what the template can render",
        }
    }
}

impl fmt::Display for Experiment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Experiment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// One comparison: what varied, the renders, and what they show.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// What it is about.
    pub experiment: Experiment,
    /// What varied, in words; the same words with every set of sentinels.
    pub varied: String,
    /// Which set of sentinels stood in the fields: 1 or 2.
    pub sentinels: u8,
    /// What was rendered.
    pub renders: Vec<Rendering>,
    /// What was concluded.
    pub findings: Vec<Finding>,
    /// Why.
    pub because: String,
}

/// One render of a comparison: the part of it that is compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
    pub(crate) fn new(experiment: Experiment, varied: impl Into<String>, s: &Sentinels) -> Self {
        Self {
            experiment,
            varied: varied.into(),
            sentinels: if s.user == SENTINELS[0].user { 1 } else { 2 },
            renders: Vec::new(),
            findings: Vec::new(),
            because: String::new(),
        }
    }

    /// Adds a text that was compared.
    pub(crate) fn render(&mut self, of: impl Into<String>, text: impl Into<String>) -> &mut Self {
        let (fields, differs) = (Vec::new(), None);
        self.renders.push(Rendering { of: of.into(), text: text.into(), error: None, fields, differs });
        self
    }

    /// Adds a render, or the error that it ended with.
    pub(crate) fn result(&mut self, of: &str, result: &Result<String, impl fmt::Display>) -> &mut Self {
        match result {
            Ok(text) => self.render(of, text),
            Err(error) => {
                self.render(of, "");
                if let Some(last) = self.renders.last_mut() {
                    last.error = Some(error.to_string());
                }
                self
            }
        }
    }

    /// Adds a conclusion.
    pub(crate) fn found(&mut self, key: &str, value: impl Into<Value>) -> &mut Self {
        self.findings.push(Finding { key: key.to_owned(), value: value.into() });
        self
    }

    /// Adds a conclusion about a text, unless the text is empty.
    pub(crate) fn found_text(&mut self, key: &str, value: &str) -> &mut Self {
        if value.is_empty() { self } else { self.found(key, value) }
    }

    /// Sets the reason.
    pub(crate) fn because(&mut self, why: impl Into<String>) -> &mut Self {
        self.because = why.into();
        self
    }

    /// Locates the fields, and the part in which the renders differ.
    pub(crate) fn finish(mut self, s: &Sentinels) -> Self {
        for render in &mut self.renders {
            render.fields = fields_in(&render.text, s);
        }
        let texts: Vec<&str> = self.renders.iter().filter(|r| r.error.is_none()).map(|r| r.text.as_str()).collect();
        let differs = differing(&texts);
        let with_text = self.renders.iter_mut().filter(|render| render.error.is_none());
        for (render, range) in with_text.zip(differs) {
            render.differs = range;
        }
        self
    }
}

/// The places of the sentinels in a text.
fn fields_in(text: &str, s: &Sentinels) -> Vec<FieldSpan> {
    let groups: [(Field, &[&str]); 7] = [
        (Field::User, &[s.user, s.user2]),
        (Field::Content, &[s.content]),
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

/// The same comparison with both sets of sentinels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// With the first set.
    pub first: Comparison,
    /// With the second set; absent if it was not made again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second: Option<Comparison>,
    /// What the two disagree about.
    pub inconsistent: Vec<Inconsistency>,
}

/// A key for which the two sets of sentinels gave two answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Inconsistency {
    /// The key, as the spec writes it.
    pub key: String,
    /// The value with the first set; null if there was none.
    pub first: Value,
    /// The value with the second set; null if there was none.
    pub second: Value,
}

/// Pairs each comparison with the first set of sentinels with the same comparison with the second set, in the order in
/// which they were made. Comparisons that only the second set led to come last.
pub fn paired(comparisons: &[Comparison]) -> Vec<Pair> {
    let mut second: Vec<&Comparison> = comparisons.iter().filter(|c| c.sentinels != 1).collect();
    let ran_twice = !second.is_empty();
    let mut pairs = Vec::new();
    for first in comparisons.iter().filter(|c| c.sentinels == 1) {
        let same = |c: &&Comparison| c.experiment == first.experiment && c.varied == first.varied;
        let other = second.iter().position(same).map(|at| second.remove(at).clone());
        let inconsistent = match &other {
            Some(other) => disagreements(&first.findings, &other.findings),
            None if ran_twice => disagreements(&first.findings, &[]),
            None => Vec::new(),
        };
        pairs.push(Pair { first: first.clone(), second: other, inconsistent });
    }
    for alone in second {
        let inconsistent = disagreements(&[], &alone.findings);
        pairs.push(Pair { first: alone.clone(), second: None, inconsistent });
    }
    pairs
}

fn disagreements(first: &[Finding], second: &[Finding]) -> Vec<Inconsistency> {
    let value = |findings: &[Finding], key: &str| {
        findings.iter().find(|f| f.key == key).map_or(Value::Null, |f| f.value.clone())
    };
    let mut keys: Vec<&str> = Vec::new();
    for finding in first.iter().chain(second) {
        if !keys.contains(&finding.key.as_str()) {
            keys.push(&finding.key);
        }
    }
    let both = keys.into_iter().map(|key| (key, value(first, key), value(second, key)));
    both.filter(|(_, a, b)| a != b)
        .map(|(key, first, second)| Inconsistency { key: key.to_owned(), first, second })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renders_are_compared_and_fields_found() {
        let s = &SENTINELS[0];
        let mut note = Comparison::new(Experiment::T1, "no call | one call", s);
        note.render("no call", format!("<a>{}</a>", s.content))
            .render("one call", format!("<a><c>{}</c></a>", s.ids[0]));
        let note = note.finish(s);
        assert_eq!(note.renders[0].differs, Some(3..3 + s.content.len()));
        assert_eq!(note.renders[1].fields, [FieldSpan { start: 6, end: 6 + s.ids[0].len(), field: Field::CallId }]);
        assert_eq!(note.sentinels, 1);
        assert_eq!(differing(&["aXa", "aa", "aYXa"]), [Some(1..2), Some(1..1), Some(1..3)]);
        assert_eq!(differing(&["same", "same"]), [None, None]);
    }

    #[test]
    fn what_two_sets_disagree_about_is_named() {
        let note = |s, value: &str| {
            let mut note = Comparison::new(Experiment::T2, "one call | two calls", s);
            note.found("tools.separator", value);
            note.finish(s)
        };
        let [one, two] = &SENTINELS;
        let pairs = paired(&[note(one, ","), note(one, ";"), note(two, ","), note(two, "\n")]);
        let found: Vec<usize> = pairs.iter().map(|pair| pair.inconsistent.len()).collect();
        assert_eq!(found, [0, 1]);
        let wrong = &pairs[1].inconsistent[0];
        assert_eq!((wrong.first.as_str(), wrong.second.as_str()), (Some(";"), Some("\n")));
        // With one set alone nothing can disagree.
        assert!(paired(&[note(one, ",")])[0].inconsistent.is_empty());
    }
}
