//! From a format spec to a [`Program`]: the spec is lowered to a [`mod@plan`], and the plan is made deterministic. With the
//! feature `rust` also from a program to Rust.
//!
//! ```
//! use unjinja_codegen::interpreter;
//! use unjinja_runtime::{ChatParser, Options};
//! use unjinja_spec::FormatSpec;
//!
//! let spec = FormatSpec::from_toml(r#"
//! spec_version = 2
//! [template]
//! name = "plain"
//! file = "plain.jinja"
//! sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
//! "#, "plain.toml")?;
//! let parser = interpreter(&spec)?;
//! assert_eq!(parser.parse("Hello".into(), &Options::new()).content, "Hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;

use unjinja_runtime::Interpreter;
use unjinja_runtime::abi_2::{Confirm, Entry, MAX_MARKERS, ModelInfo, Program, State, StateId};
use unjinja_spec::{Channel, FormatSpec, GenerationPrompt, ReasoningMode};

mod determinize;
mod lower;
pub mod plan;
#[cfg(feature = "rust")]
pub mod rust;
mod specs;

pub use specs::{SpecsError, read_specs, table};

use determinize::States;
use plan::Plan;

/// The plan of a spec: the grammar of its turn.
pub fn plan(spec: &FormatSpec) -> Plan {
    lower::plan(spec)
}

/// The program of a spec, which every back end reads.
///
/// ```
/// use unjinja_spec::FormatSpec;
///
/// let spec = FormatSpec::from_toml(r#"
/// spec_version = 2
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
/// All of these at once: the spec is marked unsupported, two of its markers cannot be told apart, a generation prompt
/// ends in reasoning that the spec does not know.
pub fn program(spec: &FormatSpec) -> Result<Program, LowerError> {
    if let Some(reason) = &spec.unsupported {
        return Err(LowerError::of(spec, vec![format!("the format is marked as unsupported: {reason}")]));
    }
    let states = determinize::determinize(&lower::plan(spec)).map_err(|conflicts| {
        let problems = conflicts
            .into_iter()
            .map(|c| format!("`{}` and `{}` cannot be told apart: both begin with {:?}", c.first, c.second, c.core));
        LowerError::of(spec, problems.collect())
    })?;
    if states.list.len() > usize::from(u16::MAX) {
        return Err(LowerError::of(spec, vec!["the format needs too many states".to_owned()]));
    }
    let mut problems = too_many(&states.list);
    let entries = spec.generation_prompt.iter().map(|prompt| Entry {
        thinking: prompt.thinking,
        text: prompt.text.clone().into(),
        channel: runtime_channel(prompt.starts_in),
        state: entry_state(spec, prompt, &states, &mut problems),
        read: read_again(spec, prompt).to_owned().into(),
    });
    let entries: Vec<Entry> = entries.collect();
    if !problems.is_empty() {
        return Err(LowerError::of(spec, problems));
    }
    Ok(Program {
        info: info(spec),
        entries: entries.into(),
        states: states.list.into(),
        start: states.start,
        content: states.content,
        reasoning: states.reasoning,
        text_after_calls: spec.content.after_calls,
    })
}

/// A parser that interprets the program of a spec.
///
/// # Errors
/// Those of [`program`].
pub fn interpreter(spec: &FormatSpec) -> Result<Interpreter, LowerError> {
    program(spec).map(Interpreter::new)
}

/// The state in which a generation prompt leaves the parser.
fn entry_state(spec: &FormatSpec, prompt: &GenerationPrompt, states: &States, problems: &mut Vec<String>) -> StateId {
    match (prompt.starts_in, states.reasoning) {
        (Channel::Content, _)
            if spec.reasoning.start.trim().is_empty() && spec.reasoning.mode != ReasoningMode::None =>
        {
            states.content
        }
        (Channel::Content | Channel::Marker, _) => states.start,
        (Channel::Reasoning, Some(state)) => state,
        (Channel::Reasoning, None) => {
            problems
                .push(format!("the generation prompt {:?} opens reasoning, but reasoning.mode is none", prompt.text));
            states.start
        }
    }
}

/// The facts of a spec that applications ask a parser for.
fn info(spec: &FormatSpec) -> ModelInfo {
    let template = &spec.template;
    let files = std::iter::once(&template.file).chain(&template.also);
    ModelInfo {
        name: template.name.clone().into(),
        source: template.source.clone().into(),
        files: files.map(|file| file.clone().into()).collect(),
        sha256: template.sha256.clone().into(),
        assistant_start: spec.turn.assistant_start.clone().into(),
        thinking_switch: spec.reasoning.switch.clone().into(),
        preserved_tokens: spec.tokens.preserved.iter().map(|token| token.clone().into()).collect(),
    }
}

/// States in which more markers may come, or confirm one, than a search can tell apart.
fn too_many(states: &[State]) -> Vec<String> {
    let most = |state: &State| {
        let confirming = state.markers.list().iter().map(|marker| match &marker.confirm {
            Confirm::Next(cores) => cores.len(),
            Confirm::Nothing | Confirm::End => 0,
        });
        confirming.max().unwrap_or(0).max(state.transitions.len())
    };
    let over = states.iter().filter(|state| most(state) > MAX_MARKERS);
    over.filter_map(|state| {
        let first = state.markers.list().first()?;
        Some(format!("more than {MAX_MARKERS} markers may come in one place, where {:?} does", first.core))
    })
    .collect()
}

/// Why a spec makes no parser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LowerError {
    /// Name of the spec.
    pub name: String,
    /// What is wrong, all of it.
    pub problems: Vec<String>,
}

impl LowerError {
    fn of(spec: &FormatSpec, problems: Vec<String>) -> Self {
        Self { name: spec.template.name.clone(), problems }
    }
}

impl fmt::Display for LowerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no parser can be made of the spec `{}`:", self.name)?;
        for problem in &self.problems {
            write!(f, "\n  - {problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for LowerError {}

/// What of a generation prompt is the beginning of a marker, to be read with what the model writes.
fn read_again<'s>(spec: &'s FormatSpec, prompt: &'s GenerationPrompt) -> &'s str {
    match prompt.starts_in {
        Channel::Marker => prompt.text.strip_prefix(spec.turn.assistant_start.as_str()).unwrap_or(""),
        _ => "",
    }
}

fn runtime_channel(channel: Channel) -> unjinja_runtime::Channel {
    match channel {
        Channel::Content | Channel::Marker => unjinja_runtime::Channel::Content,
        Channel::Reasoning => unjinja_runtime::Channel::Reasoning,
    }
}

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
