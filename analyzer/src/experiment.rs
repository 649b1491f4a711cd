//! The comparisons of an analysis by name.

use std::fmt;

use serde::{Serialize, Serializer};

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
    /// What no render shows and the text of the prompt describes.
    Described,
}

impl Experiment {
    /// All of them, in the order in which `unjinja explain` lists them.
    pub const ALL: [Experiment; 23] = [
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
        Experiment::Described,
    ];

    /// Its short name: `T1`, or words in snake case.
    pub fn name(self) -> &'static str {
        self.words().0
    }

    /// What it is about, in a few words.
    pub fn title(self) -> &'static str {
        self.words().1
    }

    /// Its name and its title.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Experiment::MessageFields => ("message_fields", "fields that the template looks for"),
            Experiment::CallStyle => ("call_style", "the form in which calls are passed"),
            Experiment::C1 => ("C1", "an answer and the text around it"),
            Experiment::GenerationPrompt => ("generation_prompt", "the generation prompt"),
            Experiment::R1 => ("R1", "reasoning present or absent"),
            Experiment::R2 => ("R2", "thinking on or off"),
            Experiment::R3 => ("R3", "reasoning with an answer or with a call"),
            Experiment::HiddenHistory => ("hidden_history", "reasoning that is removed from earlier turns"),
            Experiment::UserTurn => ("user_turn", "the text before a user message"),
            Experiment::T1 => ("T1", "no call or one"),
            Experiment::T2 => ("T2", "one call or two"),
            Experiment::T3 => ("T3", "two function names"),
            Experiment::T4 => ("T4", "name, arguments and values in a call"),
            Experiment::A1 => ("A1", "two argument names"),
            Experiment::A2 => ("A2", "a string or another value"),
            Experiment::T5 => ("T5", "one argument or two"),
            Experiment::T6 => ("T6", "no argument or one"),
            Experiment::T7 => ("T7", "two call ids"),
            Experiment::ValueTypes => ("value_types", "values other than strings"),
            Experiment::ContentBesideCalls => ("content_beside_calls", "an answer together with calls"),
            Experiment::NullContent => ("null_content", "content that is null"),
            Experiment::Capability => ("capability", "what the template can render"),
            Experiment::Described => ("described", "calls that the prompt describes"),
        }
    }
}

impl fmt::Display for Experiment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Experiment {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Experiment".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "enum": Self::ALL.map(Self::name)})
    }
}

impl Serialize for Experiment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
