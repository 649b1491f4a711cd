//! What a response template cannot express of a format, and what it does to outputs that its readers do not read.

use std::fmt;

/// Why a reader gives another message than the one that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LossKind {
    /// Calls are written like calls in Python.
    PythonCalls,
    /// Values of arguments are written as Python's literals.
    PythonValues,
    /// The name of the function is a key of JSON.
    NameAsKey,
    /// Objects and lists in arguments are written as nested tags.
    NestedTags,
    /// The marker after a call repeats the name of its function.
    RepeatedName,
    /// Calls follow each other without a text that announces the next one.
    UnmarkedCalls,
    /// Only the end of the reasoning is marked, and no prompt opens it.
    UnopenedReasoning,
    /// A text at the start of some turns that is not part of their answer.
    Label,
    /// An argument quotes a marker of the template's roles.
    QuotedMarker,
    /// A prompt that ends with the result of a call does not say where the next turn begins.
    AfterResult,
    /// Nothing that was foreseen: the reasoning differs.
    Reasoning,
    /// Nothing that was foreseen: the answer differs.
    Content,
    /// Nothing that was foreseen: the calls differ.
    Calls,
    /// Nothing that was foreseen: the arguments of calls differ.
    Arguments,
    /// Nothing that was foreseen: the reader gives no message.
    Failed,
}

impl LossKind {
    /// Whether it is worth a note where no conversation shows it.
    pub(crate) fn is_told_unseen(self) -> bool {
        matches!(
            self,
            LossKind::NameAsKey
                | LossKind::RepeatedName
                | LossKind::UnmarkedCalls
                | LossKind::UnopenedReasoning
                | LossKind::PythonCalls
        )
    }

    /// The name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.words().0
    }

    /// What is lost, in a sentence.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        self.words().1
    }

    /// Its name and its sentence.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            LossKind::PythonCalls => (
                "python_calls",
                "calls are written like calls in Python, whose nested and quoted values the language cannot read",
            ),
            LossKind::PythonValues => (
                "python_values",
                "values are written as Python's literals; of lists and objects the language reads only what is also JSON",
            ),
            LossKind::NameAsKey => (
                "name_as_key",
                "the name of the function is a key of JSON, so calls are told apart by their punctuation alone",
            ),
            LossKind::NestedTags => {
                ("nested_tags", "objects and lists in arguments are written as nested tags, and arrive as text")
            }
            LossKind::RepeatedName => (
                "repeated_name",
                "the function's name is part of the markers around a call, and the language accepts any name there",
            ),
            LossKind::UnmarkedCalls => {
                ("unmarked_calls", "calls follow each other without a text that announces the next one")
            }
            LossKind::UnopenedReasoning => (
                "unopened_reasoning",
                "only the end of the reasoning is marked, so all text is held back until it comes or the output ends",
            ),
            LossKind::Label => ("label", "a text at the start of some turns is read as part of their answer"),
            LossKind::QuotedMarker => {
                ("quoted_marker", "an argument that quotes a marker of the template's roles ends the call")
            }
            LossKind::AfterResult => (
                "after_result",
                "after the result of a call the prompt marks no new turn, so the turn that called is read again",
            ),
            LossKind::Reasoning => ("reasoning", "the reasoning comes back different"),
            LossKind::Content => ("content", "the answer comes back different"),
            LossKind::Calls => ("calls", "calls come back different"),
            LossKind::Arguments => ("arguments", "arguments come back different"),
            LossKind::Failed => ("failed", "the reader fails, and the message is lost"),
        }
    }
}

impl fmt::Display for LossKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence())
    }
}
