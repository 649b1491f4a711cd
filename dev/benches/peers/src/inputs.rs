//! The inputs: turns of several shapes, written in a wire format from its data, with the messages that they mean.

use std::io;

use serde_json::{Map, Value, json, ser::Formatter};

use crate::formats::{Call, Format};
use crate::message::{Called, Heard};
use crate::turn::TurnInput;

/// The content of a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// An answer in prose.
    Content,
    /// Half reasoning, half answer.
    Reasoning,
    /// Reasoning, answer and a call with a string of code, a third each.
    Turn,
    /// One call with one long string of code.
    StringArgument,
    /// Calls of one KiB each.
    Calls,
    /// One call whose argument is nested deeply, over and over.
    Nested,
    /// An answer that is the first character of the call's marker, over and over.
    FirstCharacter,
}

impl Shape {
    pub const ALL: [Shape; 7] = [
        Shape::Content,
        Shape::Reasoning,
        Shape::Turn,
        Shape::StringArgument,
        Shape::Calls,
        Shape::Nested,
        Shape::FirstCharacter,
    ];

    /// The name in the tables.
    pub fn title(self, format: &Format) -> String {
        match self {
            Shape::Content => "plain content".into(),
            Shape::Reasoning => "reasoning, content".into(),
            Shape::Turn if format.reasoning.is_some() => "reasoning, content, call".into(),
            Shape::Turn => "content, call".into(),
            Shape::StringArgument => "one call, long string".into(),
            Shape::Calls => "calls of 1 KiB".into(),
            Shape::Nested => "nested arguments".into(),
            Shape::FirstCharacter => format!("`{}` everywhere", format.first),
        }
    }
}

/// One input and the message that it means.
pub struct Input {
    pub format: &'static Format,
    pub turn: TurnInput,
}

impl Input {
    /// An output of about `size` bytes; `None` if the format has no such turn.
    pub fn new(format: &'static Format, shape: Shape, size: usize) -> Option<Self> {
        let missing = match shape {
            Shape::Reasoning => format.reasoning.is_none(),
            Shape::Turn => format.preamble.is_none(),
            Shape::Calls => format.separator.is_none(),
            _ => false,
        };
        if missing {
            return None;
        }
        let mut meant = Heard::default();
        match shape {
            Shape::Content => meant.content = prose(size),
            Shape::Reasoning => {
                meant.reasoning = prose(size / 2);
                meant.content = prose(size / 2);
            }
            Shape::Turn => {
                meant.reasoning = prose(size / 3);
                meant.content = prose(size / 3);
                meant.calls.push(write_file(size / 3));
            }
            Shape::StringArgument => meant.calls.push(write_file(size)),
            Shape::Calls => meant.calls = (0..size / 1024).map(|i| remind(i, 1024 - 100)).collect(),
            Shape::Nested => meant.calls.push(store(size)),
            Shape::FirstCharacter => meant.content = format.first.to_string().repeat(size),
        }
        if format.reasoning.is_none() {
            meant.reasoning.clear();
        }
        let reasons = !meant.reasoning.is_empty();
        let turn = TurnInput {
            peers: &format.peers,
            framed: !format.content[0].is_empty(),
            output: write(format, &meant),
            meant,
            tools: tools(),
            reasons,
            opened: reasons && format.reasoning.as_ref().is_some_and(|reasoning| reasoning.open.is_empty()),
        };
        Some(Self { format, turn })
    }
}

const WORDS: [&str; 32] = [
    "river", "stone", "carries", "a", "the", "slow", "winter", "light", "under", "bridge", "and", "seven", "people",
    "wait", "there", "for", "morning", "because", "nobody", "knows", "whether", "it", "will", "rain", "again",
    "before", "train", "arrives", "with", "letters", "from", "harbour",
];

/// A small generator of numbers, the same on every machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// Sentences and paragraphs, about `size` bytes, with no white space at its ends.
fn prose(size: usize) -> String {
    let mut dice = Dice(7);
    let mut text = String::with_capacity(size + 64);
    while text.len() < size {
        for word in 0..6 + dice.below(9) {
            text.push_str(if word == 0 { "So " } else { " " });
            text.push_str(WORDS[dice.below(WORDS.len())]);
        }
        text.push_str(if dice.below(5) == 0 { ".\n\n" } else { ". " });
    }
    text.truncate(text.trim_end().len());
    text
}

/// Source code with quotes, backslashes, indentation and comparisons, about `size` bytes.
fn code(size: usize) -> String {
    let mut dice = Dice(11);
    let mut text = String::with_capacity(size + 64);
    text.push_str("int main() {\n");
    let mut line = 0;
    while text.len() < size {
        line += 1;
        let name = WORDS[dice.below(WORDS.len())];
        text.push_str(&match dice.below(5) {
            0 => format!("    if {name} < {line} && {name} > 0 {{\n"),
            1 => format!("        print(\"{name} = {{}}\\n\", {name});\n"),
            2 => format!("\t{name}[{line}] = '\\'' + \"{name}\";\n"),
            3 => format!("    // the {name} of line {line}\n"),
            _ => "    }\n\n".to_owned(),
        });
    }
    text.push_str("    return 0;\n}");
    text
}

fn called(name: &str, arguments: &Value) -> Called {
    Called { name: name.into(), arguments: text(arguments) }
}

fn write_file(size: usize) -> Called {
    called("write_file", &json!({"path": "src/main.c", "content": code(size)}))
}

fn remind(index: usize, size: usize) -> Called {
    called("set_reminder", &json!({"hour": index % 24, "urgent": index.is_multiple_of(3), "note": prose(size)}))
}

/// Trees of depth 48 in a list: within every JSON parser's limit of nesting.
fn store(size: usize) -> Called {
    let mut trees = Vec::new();
    let mut length = 0;
    while length < size {
        let mut tree = json!({"leaf": "a \"quoted\" leaf", "weight": 0.5, "last": null});
        for depth in 0..24 {
            tree = json!({"depth": depth, "below": [tree, true]});
        }
        length += text(&tree).len();
        trees.push(tree);
    }
    called("store", &json!({"key": "trees", "value": {"list": trees}}))
}

/// The tools that the calls above are of, and one that is never called.
fn tools() -> Value {
    let tool = |name: &str, properties: Value| {
        let required: Vec<_> = properties.as_object().into_iter().flat_map(Map::keys).cloned().collect();
        json!({"type": "function", "function": {
            "name": name, "description": "A tool.",
            "parameters": {"type": "object", "properties": properties, "required": required},
        }})
    };
    json!([
        tool("get_weather", json!({"city": {"type": "string"}})),
        tool("write_file", json!({"path": {"type": "string"}, "content": {"type": "string"}})),
        tool(
            "set_reminder",
            json!({
                "hour": {"type": "integer"}, "urgent": {"type": "boolean"}, "note": {"type": "string"},
            })
        ),
        tool("store", json!({"key": {"type": "string"}, "value": {"type": "object"}})),
    ])
}

/// The turn as the format writes it.
fn write(format: &Format, meant: &Heard) -> String {
    let mut out = String::new();
    if let (Some(reasoning), false) = (&format.reasoning, meant.reasoning.is_empty()) {
        out.push_str(reasoning.open);
        out.push_str(&meant.reasoning);
        out.push_str(reasoning.close);
    }
    if !meant.content.is_empty() {
        let [open, close] = match format.preamble {
            Some(preamble) if !meant.calls.is_empty() => preamble,
            _ => format.content,
        };
        out.push_str(open);
        out.push_str(&meant.content);
        out.push_str(close);
    }
    if !meant.calls.is_empty() {
        out.push_str(format.section[0]);
        for (index, call) in meant.calls.iter().enumerate() {
            if index > 0 {
                out.push_str(format.separator.unwrap_or_default());
            }
            write_call(&mut out, &format.call, index, call);
        }
        out.push_str(format.section[1]);
    }
    out
}

fn write_call(out: &mut String, form: &Call, index: usize, called: &Called) {
    let filled = |piece: &str| piece.replace("{i}", &index.to_string()).replace("{id}", &format!("{index:09}"));
    let arguments: Value = serde_json::from_str(&called.arguments).unwrap_or_default();
    match form {
        Call::Json { open, between, close } => {
            out.push_str(&filled(open));
            out.push_str(&called.name);
            out.push_str(&filled(between));
            out.push_str(&called.arguments);
            out.push_str(&filled(close));
        }
        Call::Tagged { open, after_name, key, after_key, after_other_key, after_value, close } => {
            out.push_str(&filled(open));
            out.push_str(&called.name);
            out.push_str(after_name);
            for (name, value) in arguments.as_object().into_iter().flatten() {
                out.push_str(key);
                out.push_str(name);
                if let Value::String(value) = value {
                    out.push_str(after_key);
                    out.push_str(value);
                } else {
                    out.push_str(after_other_key);
                    out.push_str(&text(value));
                }
                out.push_str(after_value);
            }
            out.push_str(close);
        }
        Call::Quoted { open, close, quote } => {
            out.push_str(&filled(open));
            out.push_str(&called.name);
            write_quoted(out, &arguments, quote);
            out.push_str(close);
        }
    }
}

/// A value with bare keys, its strings between quote tokens.
fn write_quoted(out: &mut String, value: &Value, quote: &str) {
    match value {
        Value::String(text) => {
            out.push_str(quote);
            out.push_str(text);
            out.push_str(quote);
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_quoted(out, item, quote);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (index, (key, value)) in members.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(key);
                out.push(':');
                write_quoted(out, value, quote);
            }
            out.push('}');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

/// JSON as templates print it, with a space after each comma and colon.
fn text(value: &Value) -> String {
    struct Spaced;

    impl Formatter for Spaced {
        fn begin_array_value<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
            if first { Ok(()) } else { out.write_all(b", ") }
        }

        fn begin_object_key<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
            if first { Ok(()) } else { out.write_all(b", ") }
        }

        fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
            out.write_all(b": ")
        }
    }

    let mut out = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, Spaced);
    serde::Serialize::serialize(value, &mut serializer).expect("a value in memory is written");
    String::from_utf8(out).expect("JSON is UTF-8")
}
