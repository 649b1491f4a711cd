//! Losses as programs read them. Plain data; nothing here tries a response template.

use serde::Serialize;

use super::loss::LossKind;
use super::verified::Loss;
use crate::response_template::reading::Reading;

/// A loss, for programs: a part of what `unjinja export --format json` prints.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LossDocument<'e> {
    /// What is lost.
    kind: LossKind,
    /// The same for people.
    sentence: &'static str,
    /// How many conversations it changed.
    conversations: u32,
    /// The shortest output that shows it; null if none does.
    example: Option<ExampleDocument<'e>>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ExampleDocument<'e> {
    /// The output.
    output: &'e str,
    /// Whether it is read otherwise only when it arrives in small pieces.
    in_pieces: bool,
    /// What was written in the output.
    written: Reading,
    /// What the reader reads; null if it fails.
    read: Option<&'e Reading>,
    /// Why the reader fails; null if it does not.
    error: Option<String>,
}

impl<'e> LossDocument<'e> {
    /// What programs are told of a loss.
    pub fn new(loss: &'e Loss) -> Self {
        let example = loss.example.as_ref().map(|example| ExampleDocument {
            output: &example.output,
            in_pieces: example.in_pieces,
            written: Reading::from(&example.expected),
            read: example.read.as_ref().ok(),
            error: example.read.as_ref().err().map(ToString::to_string),
        });
        Self { kind: loss.kind, sentence: loss.kind.sentence(), conversations: loss.count, example }
    }
}
