//! The test of a spec: the template renders random conversations, and an interpreted parser reads them back.
//!
//! If a message does not survive the round trip, either the template lost it (its render does not contain it) or the parser
//! read it wrongly.
//! Only the latter counts against the spec.

use std::fmt;

use serde_json::{Map, Number, Value, json};
use unjinja_codegen::interpreter;
use unjinja_runtime::{Interpreter, Message, Options, Tools, parse};
use unjinja_spec::{FormatSpec, ReasoningMode, RoundTrips, Status, ToolFormat};

use crate::conversation::{AssistantMessage, Call, Empty, Style, tools_for, type_of};
use crate::probe::Probe;
use crate::sentinels::{SENTINELS, Sentinels};
use unjinja_render::{Template, with_big_stack};

/// The results of the random conversations.
#[derive(Clone, Debug, Default)]
pub struct Verification {
    /// How many were rendered.
    pub tried: u32,
    /// How many gave the same message back.
    pub held: u32,
    /// How many the template cannot render, or renders without part of the message.
    pub lost_by_template: u32,
    /// The conversations that gave another message back.
    pub failures: Vec<Failure>,
    /// The turns that gave the same message back.
    pub turns: Vec<Rendered>,
}

/// An assistant turn that gave the same message back.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// The render, without the part that the generation prompt writes.
    pub body: String,
    /// What was rendered.
    pub message: Message,
    /// The tools that were offered.
    pub tools: Tools,
}

/// A conversation that gave another message back.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The render of the assistant's turn.
    pub rendered: String,
    /// What was rendered.
    pub expected: Message,
    /// What the parser read.
    pub parsed: Message,
    /// The assistant's turn of the conversation.
    pub(crate) turn: AssistantMessage,
}

/// Why a spec must not be used: its parser does not read back what the template renders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooManyFailures {
    /// How many conversations did not survive the round trip.
    pub failed: u32,
    /// How many were tried.
    pub tried: u32,
    /// The shortest render of those that did not.
    pub shortest: String,
}

impl fmt::Display for TooManyFailures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { failed, tried, shortest } = self;
        write!(
            f,
            "{failed} of {tried} random conversations did not survive the round trip; the shortest is {shortest:?}"
        )
    }
}

impl Verification {
    /// Whether too many conversations did not survive the round trip: more than one in ten. Such a spec must not be used.
    pub fn too_many_failures(&self) -> Option<TooManyFailures> {
        let shortest = self.failures.iter().min_by_key(|failure| failure.rendered.len())?;
        (self.held * 10 < self.tried * 9).then(|| TooManyFailures {
            failed: self.tried - self.held,
            tried: self.tried,
            shortest: shortest.rendered.clone(),
        })
    }

    /// The figures that a spec records.
    pub fn round_trips(&self) -> RoundTrips {
        RoundTrips { tried: self.tried, held: self.held }
    }
}

/// Renders and parses back `count` random assistant messages; the same seed gives the same ones.
///
/// A spec that is marked as unsupported is tried too, as far as a parser can be made from it: the failures then show what
/// is wrong. If the template was seen to render calls, they are drawn although such a spec has none.
///
/// ```
/// use unjinja_analyzer::{Naming, analyze, verify};
/// use unjinja_render::Template;
///
/// let text = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}\
///     {% if add_generation_prompt %}<assistant>{% endif %}";
/// let template = Template::parse("hello.jinja", text)?;
/// let spec = analyze(&template, &Naming::of_file("hello.jinja"))?;
/// let verification = verify(&template, &spec, 20, 1);
/// assert_eq!((verification.tried, verification.held), (20, 20));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn verify(template: &Template, spec: &FormatSpec, count: u32, seed: u64) -> Verification {
    // One stack for all renders; without one, nothing is tried.
    with_big_stack(|| verify_here(template, spec, count, seed)).unwrap_or_default()
}

/// The assistant turn that a template writes for these calls, each a name and its arguments as a JSON object, without
/// the part that the generation prompt writes. `None` if the template cannot render them.
pub fn render_calls(template: &Template, spec: &FormatSpec, calls: &[(&str, &str)]) -> Option<String> {
    let mut turn = AssistantMessage::default();
    for (number, (name, arguments)) in calls.iter().enumerate() {
        let Ok(Value::Object(arguments)) = serde_json::from_str(arguments) else { return None };
        turn.calls.push(Call { name: (*name).to_owned(), id: format!("call{number:05}"), arguments });
    }
    let rendered = with_big_stack(|| Probe::new(template).turn(&SENTINELS[0], &turn, style(spec))).ok()?.ok()?;
    let body = until_end(&rendered, spec);
    Some(body.strip_prefix(spec.turn.assistant_start.as_str()).unwrap_or(body).to_owned())
}

/// The style in which the template accepts calls.
fn style(spec: &FormatSpec) -> Style {
    Style {
        object_arguments: spec.capabilities.object_arguments || !spec.capabilities.string_arguments,
        // Null is only known to work beside calls that are rendered.
        empty: match (spec.capabilities.requires_nonnull_content, spec.capabilities.tool_calls) {
            (true, _) | (_, false) => Empty::Text,
            (false, true) => Empty::Null,
        },
    }
}

fn verify_here(template: &Template, spec: &FormatSpec, count: u32, seed: u64) -> Verification {
    let mut result = Verification::default();
    let Some(trials) = Trials::new(template, spec) else { return result };
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    // Some templates lose most messages, so the number of attempts is limited.
    for _ in 0..count * 4 {
        if result.tried == count {
            break;
        }
        let (turn, expected) = random.turn(spec);
        match trials.run(&turn, expected) {
            Trial::Lost(_) => result.lost_by_template += 1,
            Trial::Held(rendered) => {
                result.tried += 1;
                result.held += 1;
                result.turns.extend(rendered);
            }
            Trial::Failed(failure) => {
                result.tried += 1;
                result.failures.push(*failure);
            }
        }
    }
    result
}

/// A template and the parser of its spec: what a trial of one conversation needs.
pub(crate) struct Trials<'t> {
    probe: Probe<'t>,
    parser: Interpreter,
    pub(crate) spec: &'t FormatSpec,
    style: Style,
}

/// What became of one conversation.
pub(crate) enum Trial {
    /// The template cannot render it, or renders it without part of the message; the turn, if there is one.
    Lost(Option<String>),
    /// The same message came back; with the turn, if it is complete in itself.
    Held(Option<Rendered>),
    /// Another message came back.
    Failed(Box<Failure>),
}

impl<'t> Trials<'t> {
    /// `None` if no parser can be made from the spec, not even if its status is left aside.
    pub(crate) fn new(template: &'t Template, spec: &'t FormatSpec) -> Option<Self> {
        let parser = if spec.status.makes_parser() {
            interpreter(spec).ok()?
        } else {
            let tried = FormatSpec { status: Status::Supported, gaps: Vec::new(), ..spec.clone() };
            tried.check().ok()?;
            interpreter(&tried).ok()?
        };
        Some(Self { probe: Probe::new(template), parser, spec, style: style(spec) })
    }

    /// Renders one conversation and parses it back.
    pub(crate) fn run(&self, turn: &AssistantMessage, mut expected: Message) -> Trial {
        let (probe, spec, style, s) = (&self.probe, self.spec, self.style, &SENTINELS[0]);
        let Ok(rendered) = probe.turn(s, turn, style) else { return Trial::Lost(None) };
        for call in &mut expected.tool_calls {
            // Many formats have no ids, and some make their own.
            call.id = call.id.take().filter(|id| rendered.contains(id.as_str()));
        }
        if !holds(&rendered, &expected) || is_several_turns(&rendered, spec) {
            return Trial::Lost(Some(rendered));
        }
        let start = spec.turn.assistant_start.as_str();
        let tools = if turn.calls.is_empty() { Tools::empty() } else { offered(s, &turn.calls) };
        let options = Options::new().tools(&tools).generation_prompt(start);
        let read = |rendered: &str| {
            let body = until_end(rendered, spec);
            let body = body.strip_prefix(start).unwrap_or(body);
            parse(self.parser.clone(), body, &options)
        };
        let parsed = read(&rendered);
        if same(&parsed, &expected) {
            let body = until_end(&rendered, spec);
            let body = body.strip_prefix(start).unwrap_or(body).to_owned();
            return Trial::Held(Some(Rendered { body, message: expected, tools }));
        }
        if is_same_as_reasoning(probe, s, spec, turn, style, &rendered) {
            return Trial::Lost(Some(rendered));
        }
        // Some templates leave the last turn of a conversation open; then the same turn in the past counts.
        let past = || probe.past_turn(s, turn, style).is_ok_and(|past| same(&read(&past), &expected));
        if message_is_plain(&expected) && past() {
            return Trial::Held(None);
        }
        Trial::Failed(Box::new(Failure { rendered, expected, parsed, turn: turn.clone() }))
    }

    /// The conversation of a turn, as `unjinja render` takes it.
    pub(crate) fn conversation(&self, turn: &AssistantMessage) -> Value {
        conversation(turn, self.style)
    }
}

/// The conversation of a turn for a template whose parser cannot be made.
pub(crate) fn conversation_for(spec: &FormatSpec, turn: &AssistantMessage) -> Value {
    conversation(turn, style(spec))
}

fn conversation(turn: &AssistantMessage, style: Style) -> Value {
    let s = &SENTINELS[0];
    let messages = json!([{"role": "user", "content": s.user}, turn.message(style)]);
    if turn.calls.is_empty() {
        return json!({"messages": messages});
    }
    // Only what the calls use of the tools that were offered.
    let mut tools: Vec<Value> = Vec::new();
    for call in &turn.calls {
        if tools.iter().any(|tool| tool["function"]["name"] == call.name.as_str()) {
            continue;
        }
        let same = turn.calls.iter().filter(|other| other.name == call.name).flat_map(|other| &other.arguments);
        let properties: Map<String, Value> =
            same.map(|(key, value)| (key.clone(), json!({"type": type_of(value)}))).collect();
        let parameters = json!({"type": "object", "properties": properties});
        tools.push(json!({"type": "function", "function": {"name": call.name, "parameters": parameters}}));
    }
    json!({"messages": messages, "tools": tools})
}

/// The message of a turn: what must come back.
pub(crate) fn message_of(turn: &AssistantMessage) -> Message {
    let calls = turn.calls.iter().map(|call| unjinja_runtime::ToolCall {
        id: Some(call.id.clone()),
        name: call.name.clone(),
        arguments: Value::Object(call.arguments.clone()).to_string(),
        complete: true,
    });
    Message {
        content: turn.content.clone(),
        reasoning_content: turn.reasoning.as_ref().map(|(_, text)| text.clone()).unwrap_or_default(),
        tool_calls: calls.collect(),
        ..Message::default()
    }
}

/// A turn without what the template writes after it.
fn until_end<'r>(rendered: &'r str, spec: &FormatSpec) -> &'r str {
    let core = spec.turn.end.trim();
    match rendered.rfind(core) {
        Some(at) if !core.is_empty() && !rendered.trim_end().ends_with(core) => &rendered[..at + core.len()],
        _ => rendered,
    }
}

/// Whether the template wrote one message as several turns: the end of a turn is inside it.
fn is_several_turns(rendered: &str, spec: &FormatSpec) -> bool {
    let core = spec.turn.end.trim();
    let turn = until_end(rendered, spec).trim_end();
    !core.is_empty() && turn.strip_suffix(core).unwrap_or(turn).contains(core)
}

/// Whether the template writes an answer together with calls like reasoning: then no parser can tell them apart.
fn is_same_as_reasoning(
    probe: &Probe<'_>,
    s: &Sentinels,
    spec: &FormatSpec,
    turn: &AssistantMessage,
    style: Style,
    rendered: &str,
) -> bool {
    if turn.content.is_empty() || turn.reasoning.is_some() || spec.reasoning.field.is_empty() {
        return false;
    }
    let other = AssistantMessage { content: String::new(), ..turn.clone() }
        .with_reasoning(&spec.reasoning.field, &turn.content);
    probe.turn(s, &other, style).is_ok_and(|other| other == rendered)
}

fn message_is_plain(message: &Message) -> bool {
    message.tool_calls.is_empty() && message.reasoning_content.is_empty()
}

fn offered(s: &Sentinels, calls: &[Call]) -> Tools {
    Tools::from_openai(&tools_for(s, calls)).unwrap_or_default()
}

/// Whether a render holds all words of a message's texts and the names of its calls.
fn holds(rendered: &str, message: &Message) -> bool {
    let words = |text: &str| text.split_whitespace().all(|word| rendered.contains(word));
    words(&message.content)
        && words(&message.reasoning_content)
        && message.tool_calls.iter().all(|call| rendered.contains(&call.name))
}

fn same(parsed: &Message, expected: &Message) -> bool {
    parsed.content.trim() == expected.content.trim()
        && parsed.reasoning_content.trim() == expected.reasoning_content.trim()
        && parsed.tool_calls.len() == expected.tool_calls.len()
        && parsed.tool_calls.iter().zip(&expected.tool_calls).all(|(a, b)| {
            let value = |text: &str| serde_json::from_str::<Value>(text).ok();
            let same_id = b.id.is_none() || a.id == b.id;
            a.name == b.name && same_id && value(&a.arguments).is_some() && value(&a.arguments) == value(&b.arguments)
        })
}

/// A small generator; reproducible everywhere.
struct Random(u64);

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
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 16) as usize % n.max(1)
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

    fn turn(&mut self, spec: &FormatSpec) -> (AssistantMessage, Message) {
        let mut turn = AssistantMessage::default();
        let mut message = Message::default();
        // A spec whose calls were not understood has none.
        let unread = !spec.status.makes_parser() && spec.capabilities.tool_calls;
        let calls = (spec.tools.format != ToolFormat::None || unread) && self.one_in(2);
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
                message.tool_calls.push(unjinja_runtime::ToolCall {
                    id: Some(id.clone()),
                    name: name.to_owned(),
                    arguments: text,
                    complete: true,
                });
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
        if may_reason && !spec.reasoning.field.is_empty() && (must_reason || self.one_in(2)) {
            message.reasoning_content = self.said();
            turn = turn.with_reasoning(&spec.reasoning.field, &message.reasoning_content);
        }
        (turn, message)
    }
}
