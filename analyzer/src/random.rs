//! Random messages for the verification. The texts are hard to read back: quotes, brackets, code, other scripts, texts
//! similar to markers.

use serde_json::{Map, Number, Value, json};
use unjinja_runtime::{Message, ToolCall};
use unjinja_spec::{Carrier, FormatSpec, ReasoningMode, ToolFormat};

use crate::conversation::{AssistantMessage, Call, type_of};

pub(crate) struct Random(u64);

/// Texts that are hard to read back: quotes, brackets, code, other scripts, texts similar to markers.
const PIECES: [&str; 24] = [
    "plain words",
    "It's \"quoted\"",
    "naïve café",
    "日本語",
    "😀 emoji",
    "a < b && c > d",
    "fn main() { }",
    "{\"k\": 1}",
    "[1, 2]",
    "C:\\path\\x",
    "line one\nline two",
    "\ttabbed",
    "100 %",
    "`code`",
    "<b>bold</b>",
    "</div>",
    "x = y | z",
    "<think",
    "tool_call>",
    "a\n\nb",
    "'single'",
    "#include <stdio.h>",
    "$HOME/$(ls)",
    "é\u{301}",
];

impl Random {
    /// The same seed gives the same numbers.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// The remainder is taken of all bits, so that a machine whose words have 32 bits draws the same.
    fn below(&mut self, n: usize) -> usize {
        let number = (self.next() >> 16) % n.max(1) as u64;
        usize::try_from(number).unwrap_or_default()
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn text(&mut self) -> String {
        let count = 1 + self.below(4);
        let pieces: Vec<&str> = (0..count).map(|_| PIECES[self.below(PIECES.len())]).collect();
        pieces.join(" ").trim().to_owned()
    }

    /// A text with a unique word, so that its absence is noticed.
    fn said(&mut self) -> String {
        format!("Q{}z {}", self.below(1 << 20), self.text())
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 6 } else { 8 }) {
            0..=2 => self.text().into(),
            3 => json!(self.below(100_000) as i64 - 5_000),
            4 => Number::from_f64(self.below(1000) as f64 / 8.0 + 0.125).map_or(Value::Null, Value::Number),
            5 => json!(self.one_in(2)),
            6 => (0..self.below(4)).map(|_| self.value(depth - 1)).collect(),
            _ => {
                let mut map = Map::new();
                for number in 0..self.below(3) {
                    map.insert(format!("key_{number}"), self.value(depth - 1));
                }
                Value::Object(map)
            }
        }
    }

    /// A message that a template with this spec may render: what it is handed, and what must come back.
    pub(crate) fn turn(&mut self, spec: &FormatSpec) -> (AssistantMessage, Message) {
        let mut turn = AssistantMessage::default();
        let mut message = Message::default();
        let calls = spec.tools.format != ToolFormat::None && self.one_in(2);
        if calls {
            let count = if spec.capabilities.parallel_tool_calls { 1 + self.below(3) } else { 1 };
            for number in 0..count {
                let mut arguments = Map::new();
                for number in 0..self.below(4) {
                    let value = self.value(2);
                    // The name holds the type: an argument has one type in all calls, as its schema says.
                    arguments.insert(format!("{}_{number}", type_of(&value)), value);
                }
                let name = ["get_weather", "run", "edit_file", "search.web"][self.below(4)];
                let id = format!("call{:05}", number + 10 * self.below(1000));
                let text = Value::Object(arguments.clone()).to_string();
                message.tool_calls.push(ToolCall::new(name, text).with_id(&id));
                turn.calls.push(Call { name: name.to_owned(), id, arguments });
            }
        }
        if !calls || self.one_in(3) {
            turn.content = self.said();
            message.content.clone_from(&turn.content);
        }
        let may_reason = match spec.reasoning.mode {
            ReasoningMode::None => false,
            ReasoningMode::TagBased => true,
            ReasoningMode::ToolsOnly => calls,
        };
        // If only the end of reasoning is marked, a turn without that marker could be all answer or all reasoning.
        let must_reason = spec.reasoning.start.trim().is_empty();
        let carrier = Carrier::of_field(&spec.reasoning.field);
        if may_reason && carrier.is_some() && (must_reason || self.one_in(2)) {
            message.reasoning_content = self.said();
            turn.reasoning = carrier.map(|carrier| (carrier, message.reasoning_content.clone()));
        }
        (turn, message)
    }
}
