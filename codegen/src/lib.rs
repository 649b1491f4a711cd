//! Compiles format specs: a spec is lowered to a [`mod@plan`], and the plan is made deterministic, which gives a
//! [`Program`]. With the feature `rust`, a program is also written as Rust.
//!
//! ```
//! use unjinja_codegen::interpreter;
//! use unjinja_runtime::{ChatParser, Options};
//! use unjinja_spec::FormatSpec;
//!
//! let spec = FormatSpec::from_toml(r#"
//! spec_version = 1
//! [template]
//! name = "plain"
//! file = "plain.jinja"
//! sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
//! "#, "plain.toml")?;
//! let parser = interpreter(&spec)?;
//! assert_eq!(parser.parse("Hello".into(), &Options::new()).content, "Hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeSet;

use unjinja_runtime::Interpreter;
use unjinja_runtime::abi::{Confirm, Entry, KeyOrder, MAX_MARKERS, ModelInfo, Program, State, StateId};
use unjinja_spec::{ArgumentOrder, FormatSpec, GenerationPrompt, MarkerKey, ReasoningMode, StartsIn};

mod determinize;
mod error;
mod lower;
pub mod plan;
#[cfg(feature = "rust")]
pub mod rust;
mod specs;

pub use error::{LowerError, LowerProblem};
pub use lower::tolerate::{RULES, Rule};
pub use specs::{SpecEntry, table};

use determinize::States;
use error::MAX_STATES;
use plan::{Plan, RuleId};

/// The plan of a spec: the grammar of its turn.
pub fn plan(spec: &FormatSpec) -> Plan {
    lowered(spec, None).0
}

/// What the templates of a spec write in a turn, as text for people: a line for each part, with literals in quotes and holes in
/// braces. What is only tolerated is not in it.
///
/// ```
/// use unjinja_spec::FormatSpec;
///
/// let spec = FormatSpec::from_toml(r#"
/// spec_version = 1
/// [template]
/// name = "plain"
/// file = "plain.jinja"
/// sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
/// [turn]
/// end = "<|end|>\n"
/// "#, "plain.toml")?;
/// assert_eq!(unjinja_codegen::notation(&spec), "turn = {content}* \"<|end|>\\n\"?\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn notation(spec: &FormatSpec) -> String {
    lower::notation(spec)
}

/// The plan of a spec and its states. Markers are taken apart where that leaves them apart from all others; those that
/// begin like another one are looked for as a whole.
fn lowered(spec: &FormatSpec, left_out: Option<RuleId>) -> (Plan, Result<States, Vec<LowerProblem>>) {
    let mut whole = BTreeSet::new();
    loop {
        let plan = lower::plan(spec, &whole, left_out);
        let states = determinize::determinize(&plan);
        let before = whole.len();
        for problem in states.as_ref().err().into_iter().flatten() {
            if let LowerProblem::AmbiguousMarkers { first, second, .. } = problem {
                whole.extend([first, second].into_iter().filter_map(|key| key.parse::<MarkerKey>().ok()));
            }
        }
        if whole.len() == before {
            return (plan, states);
        }
    }
}

/// The program of a spec. Every back end reads it.
///
/// ```
/// use unjinja_spec::FormatSpec;
///
/// let spec = FormatSpec::from_toml(r#"
/// spec_version = 1
/// [template]
/// name = "plain"
/// file = "plain.jinja"
/// sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
/// [turn]
/// end = "<|end|>"
/// "#, "plain.toml")?;
/// let program = unjinja_codegen::program(&spec)?;
/// let content = program.state(program.content).ok_or("no such state")?;
/// let (marker, _) = content.arrows().next().ok_or("no marker")?;
/// assert_eq!((&*content.name, &*marker.core), ("CONTENT", "<|end|>"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// All problems at once; [`LowerProblem`] lists them.
pub fn program(spec: &FormatSpec) -> Result<Program, LowerError> {
    program_of(spec, None)
}

/// The program of a spec without what one rule tolerates, by its name.
///
/// # Errors
/// Those of [`program`].
pub fn program_without(spec: &FormatSpec, rule: &str) -> Result<Program, LowerError> {
    program_of(spec, (0..).zip(RULES).find(|(_, known)| known.name == rule).map(|(rule, _)| rule))
}

fn program_of(spec: &FormatSpec, left_out: Option<RuleId>) -> Result<Program, LowerError> {
    let refused = |problems| LowerError { name: spec.template.name.clone(), problems };
    if !spec.status.makes_parser() {
        return Err(refused(vec![LowerProblem::Unsupported { gaps: spec.gaps.clone() }]));
    }
    let states = lowered(spec, left_out).1.map_err(refused)?;
    if states.list.len() > MAX_STATES {
        return Err(refused(vec![LowerProblem::TooManyStates { count: states.list.len() }]));
    }
    let mut problems: Vec<LowerProblem> = states.list.iter().filter_map(too_many_markers).collect();
    let mut entries = Vec::new();
    for (index, prompt) in spec.generation_prompt.iter().enumerate() {
        let Some(state) = entry_state(spec, prompt, &states) else {
            problems.push(LowerProblem::PromptOpensReasoning { index, text: prompt.text.clone() });
            continue;
        };
        entries.push(Entry {
            thinking: prompt.thinking,
            text: prompt.text.clone().into(),
            channel: runtime_channel(prompt.starts_in),
            state,
            read: read_again(spec, prompt).to_owned().into(),
        });
    }
    if !problems.is_empty() {
        return Err(refused(problems));
    }
    Ok(Program {
        info: info(spec),
        entries: entries.into(),
        states: states.list.into(),
        start: states.start,
        content: states.content,
        reasoning: states.reasoning,
        unparsed: states.unparsed,
        text_after_calls: spec.content.after_calls,
        key_order: match spec.tools.argument_order {
            ArgumentOrder::Given => KeyOrder::Given,
            ArgumentOrder::Sorted => KeyOrder::Sorted,
            ArgumentOrder::SortedIgnoringCase => KeyOrder::SortedIgnoringCase,
        },
    })
}

/// For each state of the program of a spec and each of its markers, the rule that tolerates the marker; `None` if a template writes
/// it. Empty if the spec has no program.
pub fn rules(spec: &FormatSpec) -> Vec<Vec<Option<&'static str>>> {
    let name = |rule: Option<RuleId>| rule.and_then(|rule| RULES.get(usize::from(rule))).map(|rule| rule.name);
    let states = lowered(spec, None).1;
    let names = |rules: Vec<_>| rules.into_iter().map(name).collect();
    states.map(|states| states.rules.into_iter().map(names).collect()).unwrap_or_default()
}

/// A parser that interprets the program of a spec.
///
/// # Errors
/// Those of [`program`].
pub fn interpreter(spec: &FormatSpec) -> Result<Interpreter, LowerError> {
    program(spec).map(Interpreter::new)
}

/// The state in which a generation prompt leaves the parser. `None` if the prompt opens reasoning and the format has none.
fn entry_state(spec: &FormatSpec, prompt: &GenerationPrompt, states: &States) -> Option<StateId> {
    // Reasoning without an opening marker begins at once, so this prompt has closed it already.
    let reasoning_is_over = spec.reasoning.start.trim().is_empty() && spec.reasoning.mode != ReasoningMode::None;
    match prompt.starts_in {
        StartsIn::Content if reasoning_is_over => Some(states.content),
        StartsIn::Content | StartsIn::Marker => Some(states.start),
        StartsIn::Reasoning => states.reasoning_start,
    }
}

/// What an application can ask a parser about its format.
fn info(spec: &FormatSpec) -> ModelInfo {
    let template = &spec.template;
    let files = std::iter::once(&template.file).chain(&template.also);
    ModelInfo {
        name: template.name.clone().into(),
        source: template.source.clone().into(),
        files: files.map(|file| file.clone().into()).collect(),
        sha256: template.sha256.clone().into(),
        user_start: spec.turn.user_start.clone().into(),
        user_end: spec.turn.user_end.clone().into(),
        assistant_start: spec.turn.assistant_start.clone().into(),
        thinking_switch: spec.reasoning.switch.clone().into(),
        preserved_tokens: spec.tokens.preserved.iter().map(|token| token.clone().into()).collect(),
    }
}

/// The problem of a state in which more markers may come, or may confirm one, than a search can tell apart.
fn too_many_markers(state: &State) -> Option<LowerProblem> {
    let confirming = state.markers.list().iter().map(|marker| match &marker.confirm {
        Confirm::Next(cores) | Confirm::End(cores) => cores.len(),
        Confirm::Nothing => 0,
    });
    let count = confirming.max().unwrap_or(0).max(state.transitions.len());
    let (marker, transition) = (state.markers.list().first()?, state.transitions.first()?);
    let too_many = || LowerProblem::TooManyMarkers { key: transition.key, text: marker.core.to_string(), count };
    (count > MAX_MARKERS).then(too_many)
}

/// The end of a generation prompt that is the beginning of a marker. The parser reads it again, together with the
/// model's output.
fn read_again<'s>(spec: &'s FormatSpec, prompt: &'s GenerationPrompt) -> &'s str {
    match prompt.starts_in {
        // The start of the turn is a part of the marker if every marker that the prompt begins holds it.
        StartsIn::Marker
            if spec.markers().any(|(key, text)| opens(key) && text.trim().starts_with(prompt.text.trim())) =>
        {
            &prompt.text
        }
        StartsIn::Marker => prompt.text.strip_prefix(spec.turn.assistant_start.as_str()).unwrap_or(""),
        _ => "",
    }
}

/// Whether a model's output may begin with this marker.
fn opens(key: MarkerKey) -> bool {
    matches!(
        key,
        MarkerKey::ContentStart
            | MarkerKey::ReasoningStart
            | MarkerKey::SectionStart
            | MarkerKey::CallStart
            | MarkerKey::FunctionNamePrefix
    )
}

fn runtime_channel(starts_in: StartsIn) -> unjinja_runtime::Channel {
    match starts_in {
        StartsIn::Content | StartsIn::Marker => unjinja_runtime::Channel::Content,
        StartsIn::Reasoning => unjinja_runtime::Channel::Reasoning,
    }
}

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
