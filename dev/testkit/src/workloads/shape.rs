//! The shapes of outputs: what the message of a workload is made of.

use std::fmt;

use serde_json::{Map, Value, json};

use super::markers::Markers;
use super::mixture;
use super::text;
use super::turn::WorkloadTurn;

/// A kind of output. What varies with the format (first bytes and beginnings of its markers) is in the variant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// An answer in ASCII prose.
    Prose,
    /// An answer in other scripts.
    Unicode,
    /// Prose as reasoning, then prose as answer.
    Reasoning,
    /// One call with one long string of code: line breaks, quotes, backslashes.
    CodeArgument,
    /// One call with one long string of prose: little to escape.
    ProseArgument,
    /// 64 calls with a string each.
    Calls64,
    /// As many small calls as there is room for.
    SmallCalls,
    /// One call with arguments that nest 32 deep.
    Nested,
    /// One call with a long array of small values.
    SmallValues,
    /// One call with many small arguments.
    ManyArguments,
    /// An answer of nothing but a byte with which markers begin.
    FirstByte(String),
    /// An answer of nothing but the beginning of a marker, all but its last character.
    NearMarker(String),
    /// The same as reasoning.
    NearMarkerReasoned(String),
    /// An answer with one long run of white space in it.
    Blank,
    /// An answer with a line break before each letter.
    Lines,
    /// A string argument of nothing but a byte with which markers begin.
    FirstByteArgument(String),
    /// A string argument of nothing but the beginning of the marker after it.
    NearMarkerArgument(String),
    /// A string argument of nothing but what JSON escapes.
    EscapesArgument,
    /// A string argument with one long run of white space in it.
    BlankArgument,
    /// A string argument with a line break before each letter.
    LinesArgument,
    /// One turn of the mixture of realistic turns. The number of units says which one; it has its own length.
    Mixed,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shape::FirstByte(unit)
            | Shape::NearMarker(unit)
            | Shape::NearMarkerReasoned(unit)
            | Shape::FirstByteArgument(unit)
            | Shape::NearMarkerArgument(unit) => write!(f, "{} {unit}", self.kind()),
            _ => f.write_str(self.kind()),
        }
    }
}

/// What an adversarial text has at both ends, so that no template takes white space off it.
const END: char = 'z';

impl Shape {
    /// The shapes that make sense for a format with these markers.
    pub fn all(markers: &Markers) -> Vec<Self> {
        use Shape::*;
        let mut shapes = vec![
            Prose,
            Unicode,
            Reasoning,
            CodeArgument,
            ProseArgument,
            Calls64,
            SmallCalls,
            Nested,
            SmallValues,
            ManyArguments,
        ];
        shapes.extend(first_bytes(&markers.content).into_iter().map(FirstByte));
        shapes.extend(near(&markers.content).into_iter().map(NearMarker));
        shapes.extend(near(&markers.reasoning).into_iter().map(NearMarkerReasoned));
        shapes.extend([Blank, Lines]);
        // Inside JSON nothing but JSON counts; there the shape shows just that.
        let inner = if markers.value.is_empty() { &markers.content } else { &markers.value };
        shapes.extend(first_bytes(inner).into_iter().map(FirstByteArgument));
        shapes.extend(near(inner).into_iter().map(NearMarkerArgument));
        shapes.extend([EscapesArgument, BlankArgument, LinesArgument]);
        shapes
    }

    /// The shape without what varies with the format.
    pub fn kind(&self) -> &'static str {
        match self {
            Shape::Prose => "prose",
            Shape::Unicode => "unicode",
            Shape::Reasoning => "reasoning",
            Shape::CodeArgument => "code argument",
            Shape::ProseArgument => "prose argument",
            Shape::Calls64 => "64 calls",
            Shape::SmallCalls => "small calls",
            Shape::Nested => "nested arguments",
            Shape::SmallValues => "small values",
            Shape::ManyArguments => "many arguments",
            Shape::FirstByte(_) => "first byte",
            Shape::NearMarker(_) => "near marker",
            Shape::NearMarkerReasoned(_) => "near marker reasoned",
            Shape::Blank => "blank",
            Shape::Lines => "lines",
            Shape::FirstByteArgument(_) => "first byte argument",
            Shape::NearMarkerArgument(_) => "near marker argument",
            Shape::EscapesArgument => "escapes argument",
            Shape::BlankArgument => "blank argument",
            Shape::LinesArgument => "lines argument",
            Shape::Mixed => "mixed",
        }
    }

    /// Whether nearly all of the output is one long string argument.
    pub fn is_one_string(&self) -> bool {
        matches!(self, Shape::CodeArgument | Shape::ProseArgument)
    }

    /// Whether the output is made to hurt.
    pub fn is_adversarial(&self) -> bool {
        use Shape::*;
        !matches!(
            self,
            Prose
                | Unicode
                | Reasoning
                | CodeArgument
                | ProseArgument
                | Calls64
                | SmallCalls
                | Nested
                | SmallValues
                | ManyArguments
                | Mixed
        )
    }

    /// The message of this shape with this number of units.
    pub(super) fn turn(&self, units: usize) -> WorkloadTurn {
        let content = |content: String| WorkloadTurn { content, ..WorkloadTurn::default() };
        let written = |text: String| WorkloadTurn { calls: vec![write("notes.txt", text)], ..WorkloadTurn::default() };
        match self {
            Shape::Prose => content(text::prose(units, 0)),
            Shape::Unicode => content(text::unicode(units)),
            Shape::Reasoning => WorkloadTurn {
                reasoning: text::prose(units / 2, 1),
                content: text::prose(units - units / 2, 0),
                ..WorkloadTurn::default()
            },
            Shape::CodeArgument => written(text::code(units)),
            Shape::ProseArgument => written(text::prose(units, 0)),
            Shape::Calls64 => {
                let words = (units / 64).max(1);
                let calls = (0..64).map(|number| write(&format!("part-{number}.txt"), text::words(words, number)));
                WorkloadTurn { calls: calls.collect(), ..WorkloadTurn::default() }
            }
            Shape::SmallCalls => WorkloadTurn { calls: (0..units).map(weather).collect(), ..WorkloadTurn::default() },
            Shape::Nested => {
                let forest: Vec<Value> = (0..units.div_ceil(8)).map(nested).collect();
                WorkloadTurn {
                    calls: vec![("build".into(), json!({ "tree": { "forest": forest } }))],
                    ..WorkloadTurn::default()
                }
            }
            Shape::SmallValues => {
                let values: Vec<Value> = (0..units).map(small).collect();
                WorkloadTurn { calls: vec![("store".into(), json!({ "values": values }))], ..WorkloadTurn::default() }
            }
            Shape::ManyArguments => {
                let arguments: Map<String, Value> =
                    (0..units).map(|number| (format!("key_{number}"), small(number))).collect();
                WorkloadTurn { calls: vec![("set".into(), Value::Object(arguments))], ..WorkloadTurn::default() }
            }
            Shape::FirstByte(unit) | Shape::NearMarker(unit) => content(flood(unit, units)),
            Shape::NearMarkerReasoned(unit) => {
                WorkloadTurn { reasoning: flood(unit, units), content: "Done.".into(), ..WorkloadTurn::default() }
            }
            Shape::Blank => content(flood(" \n", units)),
            Shape::Lines => content(flood("\nz", units)),
            Shape::FirstByteArgument(unit) | Shape::NearMarkerArgument(unit) => written(flood(unit, units)),
            Shape::EscapesArgument => written(flood("\"\\\n", units)),
            Shape::BlankArgument => written(flood(" \n", units)),
            Shape::LinesArgument => written(flood("\nz", units)),
            Shape::Mixed => mixture::turn(units),
        }
    }
}

/// The first characters of these markers, each once.
fn first_bytes(markers: &[String]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for first in markers.iter().filter_map(|marker| marker.chars().next()) {
        if !found.iter().any(|known| known.starts_with(first)) {
            found.push(first.to_string());
        }
    }
    found
}

/// The markers without their last character, except where that leaves one character or holds another marker.
fn near(markers: &[String]) -> Vec<String> {
    let cut = markers.iter().filter_map(|marker| {
        let (at, _) = marker.char_indices().next_back()?;
        Some(&marker[..at])
    });
    let alone = |near: &&str| {
        let twice = near.repeat(2);
        near.chars().count() > 1 && !markers.iter().any(|marker| twice.contains(marker.as_str()))
    };
    let mut found: Vec<String> = cut.filter(alone).map(str::to_owned).collect();
    found.dedup();
    found
}

fn flood(unit: &str, units: usize) -> String {
    format!("{END}{}{END}", unit.repeat(units))
}

fn write(path: &str, text: String) -> (String, Value) {
    ("write_file".into(), json!({ "path": path, "text": text }))
}

fn weather(number: usize) -> (String, Value) {
    ("get_weather".into(), json!({ "city": text::word(number), "days": number % 14 }))
}

/// A value inside 30 others, objects and arrays by turns.
fn nested(number: usize) -> Value {
    (0..15).fold(json!({ "leaf": number }), |inner, _| json!({ "branch": [inner] }))
}

/// A small value; the types follow each other.
fn small(number: usize) -> Value {
    match number % 5 {
        0 => json!(number),
        1 => json!(text::word(number)),
        2 => json!(number.is_multiple_of(2)),
        3 => json!((number % 1000) as f64 + 0.5),
        _ => Value::Null,
    }
}
