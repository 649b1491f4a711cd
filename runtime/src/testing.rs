//! Tests of a parser (feature `testing`). A case says what a model wrote, what is known about the turn, and which
//! message is expected. The output is parsed whole, cut in two at every place, byte by byte, and cut at random. Every
//! run must give the expected message, and all runs must give the same events.
//!
//! ```
//! use unjinja_runtime::testing::{Case, json};
//! # use unjinja_runtime::abi::*;
//! # /// A format written by hand: `<think>` opens reasoning, `</think>` closes it.
//! # #[derive(Clone)]
//! # struct Parser;
//! # static CONTENT: Markers = Markers::new(const { &[Marker::new("<think>"), Marker::new("<call>")] });
//! # static REASONING: Markers = Markers::new(const { &[Marker::new("</think>")] });
//! # static NAME: Markers = Markers::new(const { &[Marker::new(":")] });
//! # static END: Markers = Markers::new(const { &[Marker::new("</call>")] });
//! # impl Machine for Parser {
//! #     fn program(&self) -> &Program {
//! #         static PROGRAM: Program = Program::new(ModelInfo::EMPTY, &[], StateId(0));
//! #         &PROGRAM
//! #     }
//! #     fn step(&self, state: StateId, io: &mut Io<'_>) -> Flow {
//! #         match (state.0, match state.0 {
//! #             0 => io.text(Channel::Content, &CONTENT),
//! #             1 => io.text(Channel::Reasoning, &REASONING),
//! #             2 => io.name(&NAME),
//! #             3 => io.json_arguments(Markers::NONE),
//! #             _ => io.expect(&END),
//! #         }) {
//! #             (_, Found::Wait) => Flow::Wait,
//! #             (0, Found::Marker(0)) => { io.open_reasoning(); Flow::Go(StateId(1)) }
//! #             (0, Found::Marker(1)) => { io.speculate(StateId(0)); Flow::Go(StateId(2)) }
//! #             (1, Found::Marker(0)) => { io.close_reasoning(); Flow::Go(StateId(0)) }
//! #             (2, Found::Marker(0)) => { io.start_call(); Flow::Go(StateId(3)) }
//! #             (3, Found::Done) => Flow::Go(StateId(4)),
//! #             (4, Found::Marker(0)) => { io.end_call(); Flow::Go(StateId(0)) }
//! #             _ => Flow::Mismatch,
//! #         }
//! #     }
//! #     fn end(&self, _: StateId, _: &mut Io<'_>) -> bool { true }
//! # }
//!
//! Case::new(r#"<think>Hm.</think>Let me look.<call>weather:{"city": "Paris"}</call>"#)
//!     .thinking(true)
//!     .reasoning("Hm.")
//!     .content("Let me look.")
//!     .call("weather", json!({"city": "Paris"}))
//!     .run(&Parser);
//! ```

use std::fmt;

use serde_json::Value;

use crate::engine::chat_parser::ChatStream;
use crate::message::{DiagnosticKind, Message, ToolCall};
use crate::options::{Options, Unparsed};
use crate::tools::Tools;

mod cut;
mod difference;
mod transcript;

use difference::Difference;

pub use crate::fast_paths::without_fast_paths;
pub use cut::{Cut, Random};
pub use serde_json::json;
pub use transcript::{Piece, Subject, Transcript};

/// How many bytes a stream has looked at until now. A byte that is read twice counts twice. The part of the turn that the
/// prompt wrote counts as well.
pub fn bytes_looked_at(stream: &dyn ChatStream) -> u64 {
    stream.bytes_looked_at()
}

/// How many bytes of the turn the prompt wrote. They are read before the model's output.
pub fn bytes_from_prompt(stream: &dyn ChatStream) -> usize {
    stream.bytes_from_prompt()
}

/// Outputs up to this many bytes are cut in two at every place.
const SHORT: usize = 1024;

/// A model's output and the expected message.
///
/// The message must not contain more than the case says: no text, no call, no diagnostic. [`lenient`](Self::lenient)
/// relaxes that.
#[derive(Clone, Debug)]
#[must_use = "a case does nothing until it is run"]
pub struct Case {
    name: String,
    output: Vec<u8>,
    options: Options,
    content: String,
    reasoning: String,
    unparsed: String,
    calls: Vec<Call>,
    diagnostics: Vec<DiagnosticKind>,
    lenient: bool,
    seed: u64,
    random_cuts: u32,
}

#[derive(Clone, Debug)]
struct Call {
    name: String,
    id: Option<String>,
    arguments: Arguments,
    complete: bool,
}

#[derive(Clone, Debug)]
enum Arguments {
    Value(Value),
    Text(String),
    Begin(String),
}

impl Case {
    /// A case for what the model wrote. It expects an empty message until more is said.
    pub fn new(output: impl AsRef<[u8]>) -> Self {
        Self {
            name: String::new(),
            output: output.as_ref().to_vec(),
            options: Options::new(),
            content: String::new(),
            reasoning: String::new(),
            unparsed: String::new(),
            calls: Vec::new(),
            diagnostics: Vec::new(),
            lenient: false,
            seed: 1,
            random_cuts: 32,
        }
    }

    /// A name for messages about this case.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets all options at once.
    pub fn options(mut self, options: &Options) -> Self {
        self.options = options.clone();
        self
    }

    /// The tools offered; see [`Options::tools`].
    pub fn tools(mut self, tools: &Tools) -> Self {
        self.options = self.options.tools(tools);
        self
    }

    /// The thinking switch; see [`Options::thinking`].
    pub fn thinking(mut self, on: bool) -> Self {
        self.options = self.options.thinking(on);
        self
    }

    /// The generation prompt; see [`Options::generation_prompt`].
    pub fn generation_prompt(mut self, text: impl Into<String>) -> Self {
        self.options = self.options.generation_prompt(text);
        self
    }

    /// A prefix of the turn that the model continues; see [`Options::continue_from`].
    pub fn continue_from(mut self, prefix: impl Into<String>) -> Self {
        self.options = self.options.continue_from(prefix);
        self
    }

    /// Whether reasoning is separated from the content; see [`Options::extract_reasoning`].
    pub fn extract_reasoning(mut self, on: bool) -> Self {
        self.options = self.options.extract_reasoning(on);
        self
    }

    /// Whether several calls are allowed; see [`Options::parallel_tool_calls`].
    pub fn parallel_tool_calls(mut self, on: bool) -> Self {
        self.options = self.options.parallel_tool_calls(on);
        self
    }

    /// Whether the answer has to be JSON; see [`Options::json_response`].
    pub fn json_response(mut self, on: bool) -> Self {
        self.options = self.options.json_response(on);
        self
    }

    /// Expects this content, byte for byte.
    pub fn content(mut self, text: impl Into<String>) -> Self {
        self.content = text.into();
        self
    }

    /// Expects this reasoning, byte for byte.
    pub fn reasoning(mut self, text: impl Into<String>) -> Self {
        self.reasoning = text.into();
        self
    }

    /// Broken markup is separated from the content; see [`Options::unparsed`]. Expects this broken markup, byte for byte.
    pub fn unparsed(mut self, text: impl Into<String>) -> Self {
        self.options = self.options.unparsed(Unparsed::Separate);
        self.unparsed = text.into();
        self
    }

    /// Expects another complete call whose arguments have this value.
    pub fn call(self, name: impl Into<String>, arguments: impl Into<Value>) -> Self {
        self.expect_call(name.into(), Arguments::Value(arguments.into()), true)
    }

    /// Expects another complete call whose arguments are this text. For arguments that are not JSON.
    pub fn call_text(self, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        self.expect_call(name.into(), Arguments::Text(arguments.into()), true)
    }

    /// Expects another call that is cut off and whose arguments begin with this text.
    pub fn call_begins(self, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        self.expect_call(name.into(), Arguments::Begin(arguments.into()), false)
    }

    fn expect_call(mut self, name: String, arguments: Arguments, complete: bool) -> Self {
        self.calls.push(Call { name, id: None, arguments, complete });
        self
    }

    /// Expects this id for the last expected call. Ids that are not expected are not compared.
    pub fn call_id(mut self, id: impl Into<String>) -> Self {
        if let Some(call) = self.calls.last_mut() {
            call.id = Some(id.into());
        }
        self
    }

    /// Expects that the last expected call is not closed.
    pub fn incomplete(mut self) -> Self {
        if let Some(call) = self.calls.last_mut() {
            call.complete = false;
        }
        self
    }

    /// Expects another diagnostic.
    pub fn diagnostic(mut self, kind: DiagnosticKind) -> Self {
        self.diagnostics.push(kind);
        self
    }

    /// Compares content and reasoning without white space at their ends, and ignores diagnostics and whether calls are
    /// complete. Public collections of cases are compared in this way.
    pub fn lenient(mut self) -> Self {
        self.lenient = true;
        self
    }

    /// The seed of the random cuts, and how many there are. By default 1 and 32.
    pub fn random_cuts(mut self, seed: u64, count: u32) -> Self {
        self.seed = seed;
        self.random_cuts = count;
        self
    }

    /// Runs the case.
    ///
    /// # Panics
    /// If a run does not give the expected message. The panic message shows the cut and the differences.
    #[track_caller]
    pub fn run(&self, parser: &(impl Subject + ?Sized)) {
        if let Err(mismatch) = self.check(parser) {
            fail(&mismatch);
        }
    }

    /// Runs the case. Returns how many runs there were.
    ///
    /// # Errors
    /// The first run that does not give the expected message.
    pub fn check(&self, parser: &(impl Subject + ?Sized)) -> Result<usize, Mismatch> {
        let cuts = self.cuts();
        let mut whole: Option<Transcript> = None;
        let batch = parser.batch(&self.output, &self.options);
        self.agree(&Cut::Whole, self.differences(&batch))?;
        for cut in &cuts {
            let run = Transcript::of(parser, &self.output, cut, &self.options);
            let mut differences = run.problems.clone();
            if run.message != batch {
                differences.push(Difference::new("streamed, against batch", &shown(&batch), &shown(&run.message)));
            }
            if let Some(whole) = &whole {
                differences.extend(whole.difference(&run));
            }
            self.agree(cut, differences)?;
            whole.get_or_insert(run);
        }
        Ok(cuts.len())
    }

    /// All ways to cut the output, the simplest first.
    fn cuts(&self) -> Vec<Cut> {
        let length = self.output.len();
        let mut cuts = vec![Cut::Whole];
        if length <= SHORT {
            cuts.extend((1..length).map(Cut::At));
        }
        cuts.extend([Cut::Chunks(1), Cut::Chunks(2), Cut::Chunks(3), Cut::Chunks(7)]);
        cuts.extend((0..self.random_cuts).map(|n| Cut::Random { seed: self.seed.wrapping_add(u64::from(n)) }));
        cuts
    }

    fn agree(&self, cut: &Cut, differences: Vec<Difference>) -> Result<(), Mismatch> {
        if differences.is_empty() {
            return Ok(());
        }
        Err(Mismatch { case: self.name.clone(), cut: cut.to_string(), shown: cut.show(&self.output), differences })
    }

    /// The differences between a message and the expected one.
    fn differences(&self, found: &Message) -> Vec<Difference> {
        let mut out = Vec::new();
        let texts = [
            ("content", &self.content, &found.content),
            ("reasoning", &self.reasoning, &found.reasoning_content),
            ("unparsed", &self.unparsed, &found.unparsed),
        ];
        for (what, expected, found) in texts {
            let same = if self.lenient { expected.trim() == found.trim() } else { expected == found };
            if !same {
                out.push(Difference::new(what, &format!("{expected:?}"), &format!("{found:?}")));
            }
        }
        if self.calls.len() != found.tool_calls.len() {
            let expected: Vec<&str> = self.calls.iter().map(|call| call.name.as_str()).collect();
            let names: Vec<&str> = found.tool_calls.iter().map(|call| call.name.as_str()).collect();
            out.push(Difference::new("tool calls", &format!("{expected:?}"), &format!("{names:?}")));
        }
        for (number, (expected, found)) in self.calls.iter().zip(&found.tool_calls).enumerate() {
            expected.compare(found, number, self.lenient, &mut out);
        }
        let kinds: Vec<DiagnosticKind> = found.diagnostics.iter().map(|diagnostic| diagnostic.kind).collect();
        if !self.lenient && !same_kinds(&self.diagnostics, &kinds) {
            out.push(Difference::new("diagnostics", &format!("{:?}", self.diagnostics), &format!("{kinds:?}")));
        }
        out
    }
}

impl Call {
    fn compare(&self, found: &ToolCall, number: usize, lenient: bool, out: &mut Vec<Difference>) {
        let mut differ = |what: &str, expected: String, found: String| {
            out.push(Difference::new(&format!("{what} of call {number}"), &expected, &found));
        };
        if self.name != found.name {
            differ("name", format!("{:?}", self.name), format!("{:?}", found.name));
        }
        if self.id.is_some() && self.id != found.id {
            differ("id", format!("{:?}", self.id), format!("{:?}", found.id));
        }
        if !lenient && self.complete != found.complete {
            let word = |complete| String::from(if complete { "complete" } else { "incomplete" });
            differ("end", word(self.complete), word(found.complete));
        }
        match &self.arguments {
            Arguments::Value(value) if found.arguments_value().ok().as_ref() != Some(value) => {
                differ("arguments", value.to_string(), found.arguments.clone());
            }
            Arguments::Text(text) if *text != found.arguments => {
                differ("arguments", text.clone(), found.arguments.clone());
            }
            Arguments::Begin(text) if !found.arguments.starts_with(text.trim_end()) => {
                differ("arguments", format!("{text}…"), found.arguments.clone());
            }
            _ => {}
        }
    }
}

/// Whether both have the same kinds, each as often. The order does not matter, because several may be noticed at once.
fn same_kinds(expected: &[DiagnosticKind], found: &[DiagnosticKind]) -> bool {
    let count = |kinds: &[DiagnosticKind], kind| kinds.iter().filter(|k| **k == kind).count();
    expected.len() == found.len() && expected.iter().all(|&kind| count(expected, kind) == count(found, kind))
}

fn shown(message: &Message) -> String {
    let calls: Vec<Value> = message
        .tool_calls
        .iter()
        .map(|call| json!({"id": call.id, "name": call.name, "arguments": call.arguments, "complete": call.complete}))
        .collect();
    let diagnostics: Vec<String> = message.diagnostics.iter().map(ToString::to_string).collect();
    json!({
        "reasoning_content": message.reasoning_content, "content": message.content, "tool_calls": calls,
        "unparsed": message.unparsed, "diagnostics": diagnostics,
    })
    .to_string()
}

#[track_caller]
#[allow(clippy::panic, reason = "a test that does not hold panics")]
fn fail(mismatch: &Mismatch) {
    panic!("{mismatch}");
}

/// A run of a case that did not give the expected message. Displayed, it shows the cut and the differences.
#[derive(Clone, Debug)]
pub struct Mismatch {
    case: String,
    cut: String,
    shown: String,
    differences: Vec<Difference>,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.case.is_empty() {
            write!(f, "{}: ", self.case)?;
        }
        writeln!(f, "the output, {}, did not give the expected message", self.cut)?;
        for Difference { what, expected, found } in &self.differences {
            writeln!(f, "  {what}\n    expected {expected}\n    found    {found}")?;
        }
        write!(f, "  output\n    {}", self.shown)
    }
}

impl std::error::Error for Mismatch {}

#[cfg(test)]
mod tests;
