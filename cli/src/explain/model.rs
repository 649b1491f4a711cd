//! Everything that `explain` shows, as one document: what the analysis saw and concluded, and how an output is read. The
//! terminal, the page and the JSON are written from it, so that they cannot contradict each other.

use serde::Serialize;
use serde_json::Value;
use unjinja_analyzer::trace::{Comparison, Experiment};
use unjinja_codegen::interpreter;
use unjinja_dynamic::{Correction, Loaded};
use unjinja_grammar::{Grammar, GrammarOptions};
use unjinja_runtime::Interpreter;
use unjinja_runtime::trace::{Expected, Reading, StateView, Why, states};
use unjinja_runtime::{Message, Options, Tools};
use unjinja_spec::{Described, FormatSpec, RoundTrips, Status};

/// The document.
#[derive(Debug, Serialize)]
pub(crate) struct Explanation {
    /// Name of the template or spec file.
    pub file: String,
    /// What the file is.
    pub kind: FileKind,
    /// The result.
    pub outcome: Outcome,
    /// Why there is no parser; `None` with a parser.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the spec does not describe.
    pub gaps: Vec<String>,
    /// The overlays that were written for other templates and are applied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub corrections: Vec<String>,
    /// How well the spec is tested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// The comparisons of the analysis, in the order in which they ran; a spec has none.
    pub comparisons: Vec<ComparisonView>,
    /// The spec, by key.
    pub keys: Vec<KeyView>,
    /// The spec as TOML.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toml: Option<String>,
    /// The generation prompts.
    pub generation_prompts: Vec<PromptView>,
    /// The states of the parser.
    pub states: Vec<StateView>,
    /// The grammar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grammar: Option<GrammarView>,
    /// The output, and how it is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputView>,
}

/// What the file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FileKind {
    Template,
    Spec,
}

/// The result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// There is a parser.
    Supported,
    /// There is a parser, but it does not read everything that the template renders.
    Partial,
    /// There is a spec, but no parser can be made from it.
    Unsupported,
    /// There is no spec.
    Failed,
}

#[derive(Debug, Serialize)]
pub(crate) struct Evidence {
    /// How many times the template was rendered.
    pub renders: u32,
    /// Random conversations that were rendered and parsed back.
    pub round_trips: RoundTrips,
    /// What no render shows and the text of the prompt describes.
    #[serde(skip_serializing_if = "Described::is_empty")]
    pub described: Described,
}

/// A comparison of the analysis.
#[derive(Debug, Serialize)]
pub(crate) struct ComparisonView {
    /// What it tests.
    pub title: &'static str,
    /// The comparison.
    #[serde(flatten)]
    pub made: Comparison,
}

/// A key of the spec.
#[derive(Debug, Serialize)]
pub(crate) struct KeyView {
    /// The dotted key.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// The comparisons that found it.
    pub found_by: Vec<&'static str>,
    /// What the analysis found, if an overlay changed it; null if it found nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlaid: Option<Value>,
}

#[derive(Debug, Serialize)]
pub(crate) struct PromptView {
    /// The value of the thinking switch; absent if it is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<bool>,
    /// The text.
    pub text: String,
    /// The channel in which the model's output begins.
    pub starts_in: Value,
    /// The state in which the parser begins, if there is a parser.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct GrammarView {
    /// The GBNF; empty if there is nothing to constrain.
    pub text: String,
    /// Whether it holds only from a trigger on.
    pub lazy: bool,
    /// The triggers of a lazy grammar.
    pub triggers: Vec<TriggerView>,
    /// The parts of the schemas that it does not enforce.
    pub widened: Vec<String>,
    /// Why there is no grammar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct TriggerView {
    pub kind: &'static str,
    pub value: String,
}

/// An output, and how it is read.
#[derive(Debug, Serialize)]
pub(crate) struct OutputView {
    /// Its length in bytes.
    pub bytes: usize,
    /// Whether it is complete.
    pub over: bool,
    /// How the bytes are read: every byte once, in order.
    pub spans: Vec<SpanView>,
    /// Where the output does not match the format.
    pub stops: Vec<StopView>,
    /// The state in which reading ended.
    pub state: String,
    /// The markers that this state waits for.
    pub expected: Vec<Expected>,
    /// The message.
    pub message: Message,
    /// The diagnostics of the parser.
    pub diagnostics: Vec<DiagnosticView>,
}

#[derive(Debug, Serialize)]
pub(crate) struct SpanView {
    pub start: usize,
    pub end: usize,
    /// How it is read.
    pub taken: &'static str,
    /// The key of the marker, if it is one.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub key: &'static str,
    /// The index of its call, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<usize>,
    /// The text. Invalid UTF-8 is replaced by U+FFFD.
    pub text: String,
}

/// A diagnostic of the parser, and where its text begins in the output.
#[derive(Debug, Serialize)]
pub(crate) struct DiagnosticView {
    /// The offset; absent if it concerns the whole output, or what the prompt wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<usize>,
    pub text: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct StopView {
    /// The offset of the byte that does not fit.
    pub at: usize,
    /// Its line, from 1.
    pub line: usize,
    /// Its column in characters, from 1.
    pub column: usize,
    pub why: Why,
    /// The state that was reading.
    pub state: String,
    /// What that state reads in addition to markers.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub reads: &'static str,
    /// The markers that would have been accepted.
    pub expected: Vec<Expected>,
    /// The text there; empty at the end of the output.
    pub found: String,
    /// Where the text begins that was held back and then became plain text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_from: Option<usize>,
    /// The index of the call that was abandoned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<usize>,
}

/// The groups of comparisons, in the order in which they are shown.
const GROUPS: [(&str, &[&str]); 4] = [
    ("The turn", &["C1", "generation_prompt", "user_turn"]),
    ("Reasoning", &["R1", "R2", "R3", "message_fields", "hidden_history"]),
    (
        "Calls",
        &[
            "call_style",
            "T1",
            "T2",
            "T3",
            "T4",
            "A1",
            "A2",
            "T5",
            "T6",
            "T7",
            "value_types",
            "content_beside_calls",
            "null_content",
            "described",
        ],
    ),
    ("Capabilities", &["capability"]),
];

/// The comparisons of a group, each with its index among all.
pub(crate) struct Group<'e> {
    pub title: &'static str,
    /// Those with results.
    pub comparisons: Vec<(usize, &'e ComparisonView)>,
    /// Probes that found nothing.
    pub idle: Vec<(usize, &'e ComparisonView)>,
}

impl Explanation {
    /// The comparisons, grouped by subject.
    pub(crate) fn groups(&self) -> impl Iterator<Item = Group<'_>> {
        GROUPS.into_iter().map(|(title, names)| {
            let all = self.comparisons.iter().enumerate();
            let mut all: Vec<(usize, &ComparisonView)> =
                all.filter(|(_, one)| names.contains(&one.made.experiment.name())).collect();
            all.sort_by_key(|(index, one)| (names.iter().position(|name| *name == one.made.experiment.name()), *index));
            let (idle, comparisons) = all.into_iter().partition(|(_, one)| one.is_idle());
            Group { title, comparisons, idle }
        })
    }
}

impl ComparisonView {
    /// Whether it is a probe that found nothing.
    fn is_idle(&self) -> bool {
        let failed = self.made.renders.iter().any(|render| render.error.is_some());
        self.made.experiment == Experiment::HiddenHistory && self.made.findings.is_empty() && !failed
    }
}

/// The input of an explanation.
pub(crate) struct Sources<'a> {
    pub file: String,
    pub kind: FileKind,
    pub comparisons: &'a [Comparison],
    /// The spec without and with its overlay, or why no spec was found.
    pub spec: Result<Loaded, String>,
    pub tools: Option<&'a Tools>,
    pub generation_prompt: Option<&'a str>,
    pub output: Option<&'a [u8]>,
    pub over: bool,
}

impl Explanation {
    pub(crate) fn new(sources: &Sources<'_>) -> Self {
        let view = |made: &Comparison| ComparisonView { title: made.experiment.title(), made: made.clone() };
        let comparisons: Vec<ComparisonView> = sources.comparisons.iter().map(view).collect();
        let mut explanation = Self {
            file: sources.file.clone(),
            kind: sources.kind,
            outcome: Outcome::Failed,
            reason: None,
            gaps: Vec::new(),
            corrections: Vec::new(),
            evidence: None,
            comparisons,
            keys: Vec::new(),
            toml: None,
            generation_prompts: Vec::new(),
            states: Vec::new(),
            grammar: None,
            output: None,
        };
        match &sources.spec {
            Ok(loaded) => {
                explanation.corrections = loaded.corrections.iter().filter_map(Correction::remark).collect();
                explanation.of_spec(sources, &loaded.bare, &loaded.spec);
            }
            Err(reason) => explanation.reason = Some(reason.clone()),
        }
        explanation
    }

    fn of_spec(&mut self, sources: &Sources<'_>, found: &FormatSpec, spec: &FormatSpec) {
        let unjinja_spec::Evidence { renders, round_trips, described, .. } = spec.evidence.clone();
        self.evidence = Some(Evidence { renders, round_trips, described });
        self.gaps.clone_from(&spec.gaps);
        self.keys = keys(found, spec, &self.comparisons);
        self.toml = Some(spec.to_toml());
        let lowered = interpreter(spec);
        let states = lowered.as_ref().map(|parser| states(parser.program())).unwrap_or_default();
        let prompts = spec.generation_prompt.iter().enumerate();
        self.generation_prompts = prompts
            .map(|(index, prompt)| PromptView {
                thinking: prompt.thinking,
                text: prompt.text.clone(),
                starts_in: serde_json::to_value(prompt.starts_in).unwrap_or_default(),
                state: states.iter().find(|state| state.entered_by.contains(&index)).map(|state| state.name.clone()),
            })
            .collect();
        self.states = states;
        match lowered {
            Ok(lowered) => {
                self.outcome = if spec.status == Status::Partial { Outcome::Partial } else { Outcome::Supported };
                self.grammar = Some(grammar(&lowered, sources));
                self.output = sources.output.map(|output| reading(&lowered, output, sources));
            }
            Err(error) => {
                self.outcome = Outcome::Unsupported;
                let problems: Vec<String> = error.problems.iter().map(ToString::to_string).collect();
                self.reason = Some(if spec.gaps.is_empty() { problems.join("; ") } else { spec.gaps.join("; ") });
            }
        }
    }
}

/// The keys of a spec that are set, each with the comparisons that found it.
fn keys(found: &FormatSpec, spec: &FormatSpec, comparisons: &[ComparisonView]) -> Vec<KeyView> {
    let flat = |spec: &FormatSpec| {
        let mut keys = Vec::new();
        flatten("", &serde_json::to_value(spec).unwrap_or_default(), &mut keys);
        keys
    };
    let analysed = flat(found);
    let value_of = |key: &str| analysed.iter().find(|(known, _)| known == key).map(|(_, value)| value);
    let concerns = |key: &str| !key.starts_with("template.") && !key.starts_with("evidence.") && key != "spec_version";
    let says = |value: &Value| !matches!(value, Value::Null) && value != "" && value != &Value::Bool(false);
    let mut views = Vec::new();
    let now = flat(spec);
    for (key, value) in now.iter().cloned() {
        let before = value_of(&key);
        let overlaid = (before != Some(&value)).then(|| before.cloned().unwrap_or(Value::Null));
        if !concerns(&key)
            || !(says(&value)
                || overlaid.is_some()
                || key.ends_with(".mode")
                || key.ends_with(".thinking")
                || key == "tools.format")
        {
            continue;
        }
        // Each item of a list may be found by its own comparison.
        let plain = key.split('[').next().unwrap_or(&key);
        let finds = |c: &&ComparisonView| {
            let mut findings = c.made.findings.iter();
            findings.any(|f| f.key == key || f.key == plain || f.key.starts_with(&format!("{plain}.")))
        };
        let mut found_by: Vec<&'static str> = Vec::new();
        for comparison in comparisons.iter().filter(finds) {
            if !found_by.contains(&comparison.made.experiment.name()) {
                found_by.push(comparison.made.experiment.name());
            }
        }
        views.push(KeyView { key, value, found_by, overlaid });
    }
    // Keys that an overlay removes.
    for (key, value) in &analysed {
        if concerns(key) && says(value) && !now.iter().any(|(known, _)| known == key) {
            let overlaid = Some(value.clone());
            views.push(KeyView { key: key.clone(), value: Value::Null, found_by: Vec::new(), overlaid });
        }
    }
    views
}

fn flatten(prefix: &str, value: &Value, keys: &mut Vec<(String, Value)>) {
    let inner = |key: &str| if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| flatten(&inner(key), value, keys)),
        // A list of tables is divided; a list of texts is one value.
        Value::Array(items) if items.iter().any(Value::is_object) => {
            for (index, item) in items.iter().enumerate() {
                flatten(&format!("{prefix}[{index}]"), item, keys);
            }
        }
        value => keys.push((prefix.to_owned(), value.clone())),
    }
}

fn grammar(parser: &Interpreter, sources: &Sources<'_>) -> GrammarView {
    let mut options = GrammarOptions::new();
    if let Some(prompt) = sources.generation_prompt {
        options = options.generation_prompt(prompt);
    }
    let (made, problem) = match unjinja_grammar::grammar(parser.program(), sources.tools, &options) {
        Ok(grammar) => (grammar, None),
        Err(error) => (Grammar::default(), Some(error.to_string())),
    };
    let triggers = made.triggers.iter().map(|t| TriggerView { kind: t.kind(), value: t.value().to_owned() });
    let widened = made.widened.iter().map(|wider| match wider.tool.as_str() {
        "" => wider.what.to_string(),
        tool => format!("{tool}: {}", wider.what),
    });
    GrammarView { lazy: made.lazy, triggers: triggers.collect(), widened: widened.collect(), problem, text: made.text }
}

fn reading(parser: &Interpreter, output: &[u8], sources: &Sources<'_>) -> OutputView {
    let mut options = Options::new();
    if let Some(tools) = sources.tools {
        options = options.tools(tools);
    }
    if let Some(prompt) = sources.generation_prompt {
        options = options.generation_prompt(prompt);
    }
    let Reading { spans, stops, state, message, .. } = parser.read(output, &options, sources.over);
    let text = |from: usize, to: usize| String::from_utf8_lossy(output.get(from..to).unwrap_or_default()).into_owned();
    let spans = spans.into_iter().map(|span| SpanView {
        start: span.start,
        end: span.end,
        taken: span.taken.name(),
        key: span.key,
        call: span.call,
        text: text(span.start, span.end),
    });
    let stops = stops.into_iter().map(|stop| {
        let before = text(0, stop.at);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        StopView {
            at: stop.at,
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            why: stop.why,
            state: stop.state,
            reads: stop.reads,
            expected: stop.expected,
            found: text(stop.at, (stop.at + EXCERPT).min(output.len())),
            held_from: stop.held_from,
            call: stop.call,
        }
    });
    OutputView {
        bytes: output.len(),
        over: sources.over,
        spans: spans.collect(),
        stops: stops.collect(),
        expected: waits_for(parser, &state),
        state,
        diagnostics: message
            .diagnostics
            .iter()
            .map(|one| DiagnosticView { at: one.at, text: one.to_string() })
            .collect(),
        message,
    }
}

/// The markers of a state.
fn waits_for(parser: &Interpreter, state: &str) -> Vec<Expected> {
    let states = states(parser.program());
    let markers = states.iter().filter(|known| known.name == state).flat_map(|known| &known.markers);
    markers.map(|marker| Expected { key: marker.key, text: marker.text.clone() }).collect()
}

/// How much of the unexpected text is shown, in bytes.
const EXCERPT: usize = 32;

impl StopView {
    /// What happened there, as a clause.
    pub(crate) fn sentence(&self) -> String {
        match self.why {
            Why::Ended if self.held_from.is_some() => {
                "the output ended before it was certain that this is a call".to_owned()
            }
            Why::Ended => "the output ended before the call was closed".to_owned(),
            Why::NotOffered => {
                "no tool with this name was offered, and only the name of an offered tool makes this a call".to_owned()
            }
            Why::NotClosed => "the call is complete, but its closing marker is missing".to_owned(),
            _ if self.reads.is_empty() => "only a marker may come here, and there is none".to_owned(),
            _ => format!("this cannot be {}", self.reads),
        }
    }

    /// The consequence, as a clause.
    pub(crate) fn consequence(&self) -> String {
        match (self.held_from, self.call) {
            (Some(from), _) => format!("the text that was held back from byte {from} on is plain text"),
            (None, Some(call)) => format!("call {call} is incomplete"),
            (None, None) => "the text that follows is plain text".to_owned(),
        }
    }
}
