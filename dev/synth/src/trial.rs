//! One trial: draw a spec, write its template, analyse it, compare and verify the result.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Map, Value, json};
use unjinja_analyzer::{Naming, analyze, verify};
use unjinja_render::Template;
use unjinja_spec::{FormatSpec, ToolFormat, Tools};

use crate::behaviour::{AcceptedArguments, History, Messages, PARTS};
use crate::draw::{Drawn, draw};
use crate::rng::Rng;
use crate::same::{differences, shapes, shows_layout};
use crate::template::{absent, template};
use crate::written::{Ink, Said, SaidCall, turn};

/// How many random conversations each template is verified with.
const CONVERSATIONS: u32 = 8;

/// Where a trial failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The template does not render what the spec describes: a mistake of this crate.
    Unfaithful,
    /// The analysis gave up.
    Error,
    /// The analysis called the format unsupported.
    Unsupported,
    /// The analysis gave another spec.
    Differs,
    /// The analysed spec makes no parser, or no conversation could be tried.
    Refused,
    /// A conversation was not read back.
    RoundTrip,
    /// A conversation was not read back, not even with the drawn spec: a mistake of the parser.
    Parser,
}

/// The result of a trial.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The spec as drawn.
    pub drawn: Drawn,
    /// Its template.
    pub template: String,
    /// The analysed spec.
    pub got: Option<FormatSpec>,
    /// If it failed: the stage, the cause in a few words, and the details.
    pub failure: Option<(Stage, String, String)>,
}

impl Trial {
    /// The kind of the spec: its tool format.
    pub fn kind(&self) -> &'static str {
        match self.drawn.spec.tools.format {
            ToolFormat::None => "none",
            ToolFormat::JsonNative => "json_native",
            ToolFormat::TagWithJson => "tag_with_json",
            ToolFormat::TagWithTagged => "tag_with_tagged",
            ToolFormat::CallExpression => "call_expression",
        }
    }
}

/// The trial number `number` of a seed.
pub fn trial(seed: u64, number: u64) -> Trial {
    let drawn = drawn(seed, number);
    let text = template(&drawn);
    let mut got = None;
    let failure = examine(&drawn, &text, number, &mut got).err();
    Trial { drawn, template: text, got, failure }
}

/// A trial without analysis: whether the parser of the drawn spec reads what its template renders.
pub fn trial_of_parser(seed: u64, number: u64) -> Trial {
    let drawn = drawn(seed, number);
    let text = template(&drawn);
    let failure = match Template::parse("drawn.jinja", &text) {
        Ok(template) => read_back(&template, &drawn.spec, number).err(),
        Err(error) => Some((Stage::Unfaithful, "syntax".to_owned(), error.to_string())),
    };
    Trial { drawn, template: text, got: None, failure }
}

fn drawn(seed: u64, number: u64) -> Drawn {
    draw(&mut Rng::new(seed.wrapping_mul(1_000_003).wrapping_add(number)))
}

/// Some trials of a seed, in order.
pub fn trials(seed: u64, numbers: std::ops::Range<u64>) -> Vec<Trial> {
    trials_of(seed, numbers, trial)
}

/// Some trials of a seed, in order, on as many threads as there are processors.
pub fn trials_of(seed: u64, numbers: std::ops::Range<u64>, trial: fn(u64, u64) -> Trial) -> Vec<Trial> {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let next = AtomicU64::new(numbers.start);
    let work = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= numbers.end {
                return done;
            }
            done.push((number, trial(seed, number)));
        }
    };
    let mut all: Vec<(u64, Trial)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a trial does not panic")).collect()
    });
    all.sort_by_key(|(number, _)| *number);
    all.into_iter().map(|(_, trial)| trial).collect()
}

/// The seeds of the trials that are tested, each with the number of its trials.
pub const TESTED: [(u64, u64); 3] = [(1, 667), (2, 667), (3, 666)];

/// The known failures, in the form of `known.tsv`: stage, kind, cause, count.
pub fn known(trials: &[Trial]) -> String {
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for trial in trials {
        if let Some((stage, cause, _)) = &trial.failure {
            *counts.entry(format!("{stage:?}\t{}\t{cause}", trial.kind())).or_default() += 1;
        }
    }
    counts.iter().map(|(line, count)| format!("{line}\t{count}\n")).collect()
}

type Failure = (Stage, String, String);

fn examine(drawn: &Drawn, text: &str, seed: u64, back: &mut Option<FormatSpec>) -> Result<(), Failure> {
    let template = Template::parse("drawn.jinja", text)
        .map_err(|error| (Stage::Unfaithful, "syntax".to_owned(), error.to_string()))?;
    if let Some(problem) = unfaithful(drawn, &template) {
        return Err((Stage::Unfaithful, "render".to_owned(), problem));
    }
    let got = analyze(&template, &Naming::of_file("drawn.jinja")).map_err(|error| {
        let problem = error.problem.clone();
        (Stage::Error, cause_of(&problem), problem)
    })?;
    *back = Some(got.clone());
    if !got.status.makes_parser() {
        let reason = got.gaps.join("; ");
        return Err((Stage::Unsupported, cause_of(&reason), reason));
    }
    let different = differences(drawn, &got);
    if let Some((key, _)) = different.first() {
        let all: Vec<String> = different.iter().map(|(key, what)| format!("{key}: {what}")).collect();
        return Err((Stage::Differs, key.clone(), all.join("\n")));
    }
    if let Err(error) = unjinja_codegen::interpreter(&got) {
        return Err((Stage::Refused, "lowering".to_owned(), error.to_string()));
    }
    read_back(&template, &got, seed).map_err(|(stage, cause, detail)| {
        let of_parser = stage == Stage::RoundTrip && read_back(&template, &drawn.spec, seed).is_err();
        (if of_parser { Stage::Parser } else { stage }, cause, detail)
    })
}

/// Whether a parser of the spec reads what the template renders.
fn read_back(template: &Template, spec: &FormatSpec, seed: u64) -> Result<(), Failure> {
    let verified = verify(template, spec, CONVERSATIONS, seed);
    if verified.tried == 0 {
        return Err((Stage::Refused, "nothing tried".to_owned(), format!("{verified:?}")));
    }
    let Some(failure) = verified.failures.first() else { return Ok(()) };
    let cause = if failure.parsed.tool_calls.len() != failure.expected.tool_calls.len() {
        "calls"
    } else if failure.parsed.content.trim() != failure.expected.content.trim() {
        "content"
    } else if failure.parsed.reasoning_content.trim() != failure.expected.reasoning_content.trim() {
        "reasoning"
    } else {
        "arguments"
    };
    Err((Stage::RoundTrip, cause.to_owned(), format!("{failure:#?}")))
}

/// The comparison that found a problem, and its message up to the first detail.
fn cause_of(problem: &str) -> String {
    let cut = problem.find(['"', '\n', '{']).unwrap_or(problem.len());
    problem[..cut].trim().to_owned()
}

/// How a drawn template encodes what it writes.
struct Real<'d>(&'d Drawn);

impl Real<'_> {
    fn json(&self, value: &Value) -> String {
        match value {
            Value::Object(map) => {
                let items: Vec<String> =
                    map.iter().map(|(k, v)| format!("{}: {}", Value::from(k.as_str()), self.json(v))).collect();
                format!("{{{}}}", items.join(", "))
            }
            other => other.to_string(),
        }
    }

    fn print(&self, tools: &Tools, value: &Value) -> String {
        let json = self.json(value);
        if tools.uses_python_dicts { json.replace('"', "'") } else { json }
    }
}

impl Ink for Real<'_> {
    fn object(&self, tools: &Tools, call: &SaidCall, index: usize) -> String {
        let behaviour = &self.0.behaviour;
        let arguments: Map<String, Value> = call.arguments.iter().cloned().collect();
        let value = |key: &String| -> Value {
            match key {
                key if *key == tools.args_field && tools.args_as_text => {
                    self.json(&Value::Object(arguments.clone())).into()
                }
                key if *key == tools.name_field => call.name.as_str().into(),
                key if *key == tools.args_field => Value::Object(arguments.clone()),
                key if *key == tools.id_field => call.id.as_str().into(),
                key if *key == tools.gen_id_field && behaviour.id_is_text => {
                    (index + behaviour.first_id).to_string().into()
                }
                key if *key == tools.gen_id_field => (index + behaviour.first_id).into(),
                _ => "function".into(),
            }
        };
        let object = |keys: &[String]| -> Map<String, Value> { keys.iter().map(|k| (k.clone(), value(k))).collect() };
        let mut outer = object(&tools.parameter_order);
        if tools.fun_name_is_key {
            outer = Map::new();
            outer.insert(call.name.clone(), Value::Object(arguments.clone()));
        } else if !tools.function_field.is_empty() {
            outer[&tools.function_field] = Value::Object(object(&behaviour.inner_order));
        }
        self.print(tools, &Value::Object(outer))
    }

    fn arguments(&self, tools: &Tools, call: &SaidCall) -> String {
        self.print(tools, &Value::Object(call.in_order(tools).into_iter().cloned().collect()))
    }

    fn value(&self, tools: &Tools, value: &Value) -> String {
        match value {
            Value::String(text) if tools.format == ToolFormat::TagWithTagged => text.clone(),
            Value::String(text) if !tools.arguments.quote.is_empty() => format!("{0}{text}{0}", tools.arguments.quote),
            other => self.json(other),
        }
    }

    fn text(&self, text: &str) -> String {
        text.to_owned()
    }

    fn id(&self, call: &SaidCall, index: usize) -> String {
        let behaviour = &self.0.behaviour;
        if behaviour.counts_calls { (index + behaviour.first_id).to_string() } else { call.id.clone() }
    }

    fn glue(&self) -> &str {
        if self.0.behaviour.by_hand { self.0.behaviour.array_glue } else { ", " }
    }
}

/// The turns that a template renders differently from its spec.
fn unfaithful(drawn: &Drawn, template: &Template) -> Option<String> {
    for said in shapes(&drawn.spec) {
        let mut said = said;
        if drawn.behaviour.history == History::Never {
            if said.content.is_empty() && said.reasoning.is_some() {
                continue;
            }
            said.reasoning = None;
        }
        if drawn.behaviour.empty_wrapper && said.content.is_empty() {
            // An empty pair of markers is not part of the spec.
            continue;
        }
        let user = json!({"role": "user", "content": "What?"});
        let message = message(drawn, &said);
        let context = json!({"messages": [user, message], "add_generation_prompt": false, "bos_token": ""});
        let rendered = match template.render(&context) {
            Ok(rendered) => rendered,
            Err(error) => return Some(format!("{}: {error}", said.label)),
        };
        let absent = if drawn.spec.reasoning.field.is_empty() { String::new() } else { absent(drawn) };
        let mut written = turn(&drawn.spec, &said, &absent, &Real(drawn));
        if drawn.behaviour.messages == Messages::ByRole && !said.calls.is_empty() {
            // The end of the section says who is next.
            written.truncate(written.len() - drawn.spec.turn.end.len());
        }
        let expected = format!("{}What?{}{written}", drawn.spec.turn.user_start, drawn.behaviour.user_end);
        let space = |text: &str| if shows_layout(drawn) { text.to_owned() } else { text.split_whitespace().collect() };
        let same = space(&rendered) == space(&expected);
        if !same {
            return Some(format!("{}:\n{rendered:?}\nis not\n{expected:?}", said.label));
        }
    }
    None
}

fn message(drawn: &Drawn, said: &Said) -> Value {
    let mut message = json!({"role": "assistant", "content": said.content});
    if let Some(reasoning) = said.reasoning.as_ref().filter(|_| drawn.spec.reasoning.field == PARTS) {
        let mut parts = vec![json!({"type": "thinking", "thinking": reasoning})];
        if !said.content.is_empty() {
            parts.push(json!({"type": "text", "text": said.content}));
        }
        message["content"] = parts.into();
    } else if let Some(reasoning) = &said.reasoning {
        message[drawn.spec.reasoning.field.as_str()] = reasoning.as_str().into();
    }
    if !said.calls.is_empty() {
        let calls = said.calls.iter().map(|call| {
            let arguments = Value::Object(call.arguments.iter().cloned().collect());
            let arguments = if drawn.behaviour.accepts == AcceptedArguments::Text {
                Real(drawn).json(&arguments).into()
            } else {
                arguments
            };
            json!({"type": "function", "id": call.id, "function": {"name": call.name, "arguments": arguments}})
        });
        message["tool_calls"] = calls.collect();
    }
    message
}
