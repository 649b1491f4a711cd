//! Lowers a format spec to a plan, and the plan to Rust; interprets plans offline.
//!
//! ```
//! use unjinja_codegen::Lowered;
//! use unjinja_spec::FormatSpec;
//!
//! let spec = FormatSpec::from_toml(r#"
//! spec_version = 2
//! [template]
//! name = "plain"
//! file = "plain.jinja"
//! sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
//! "#, "plain.toml")?;
//! let lowered = Lowered::new(&spec)?;
//! let message = unjinja_runtime::parse(lowered.interpreter(&spec), "Hello", &Default::default());
//! assert_eq!(message.content, "Hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use unjinja_spec::{Channel, FormatSpec, GenerationPrompt, ReasoningMode};

mod automaton;
mod gbnf;
mod interpret;
mod lower;
pub mod plan;
mod rust;
#[cfg(feature = "trace")]
pub mod trace;

pub use interpret::Interpreter;

use automaton::Automaton;
use plan::Plan;

/// A spec made ready for the back ends: its plan, and the machine that reads it.
#[derive(Clone, Debug)]
pub struct Lowered {
    plan: Arc<Plan>,
    automaton: Arc<Automaton>,
    entries: Vec<usize>,
}

impl Lowered {
    /// Lowers a spec.
    ///
    /// # Errors
    /// Where the spec is marked unsupported, where two of its markers cannot be told apart, and where a generation
    /// prompt ends in reasoning that the spec does not know. All at once.
    pub fn new(spec: &FormatSpec) -> Result<Self, LowerError> {
        if let Some(reason) = &spec.unsupported {
            return Err(LowerError::of(spec, vec![format!("the format is marked as unsupported: {reason}")]));
        }
        let plan = lower::plan(spec);
        let automaton = automaton::build(&plan).map_err(|conflicts| {
            let problems = conflicts.into_iter().map(|c| {
                format!("`{}` and `{}` cannot be told apart: both begin with {:?}", c.first, c.second, c.core)
            });
            LowerError::of(spec, problems.collect())
        })?;
        if automaton.states.len() > usize::from(u16::MAX) {
            return Err(LowerError::of(spec, vec!["the format needs too many states".to_owned()]));
        }
        let mut problems = too_many(&automaton);
        let entries = spec.generation_prompt.iter().map(|prompt| match (prompt.starts_in, automaton.reasoning) {
            (Channel::Content, _)
                if spec.reasoning.start.trim().is_empty() && spec.reasoning.mode != ReasoningMode::None =>
            {
                automaton.content
            }
            (Channel::Content | Channel::Marker, _) => automaton.start,
            (Channel::Reasoning, Some(state)) => state,
            (Channel::Reasoning, None) => {
                problems.push(format!(
                    "the generation prompt {:?} opens reasoning, but reasoning.mode is none",
                    prompt.text
                ));
                automaton.start
            }
        });
        let entries = entries.collect();
        if !problems.is_empty() {
            return Err(LowerError::of(spec, problems));
        }
        Ok(Self { plan: Arc::new(plan), automaton: Arc::new(automaton), entries })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// A parser that walks the plan; `spec` is the spec that was lowered.
    pub fn interpreter<'s>(&self, spec: &'s FormatSpec) -> Interpreter<'s> {
        Interpreter::new(spec, self)
    }

    /// The body of the module of this model: items, without the module around them. `runtime` is the path of the
    /// runtime crate in the code that will hold it.
    pub fn tokens(&self, spec: &FormatSpec, runtime: &TokenStream) -> TokenStream {
        rust::module(spec, self, runtime)
    }

    /// What the module of this model has beside, where the tools are known when it is built: a function `tools()`, and
    /// their grammar as constants. `json` is the tools in OpenAI's form.
    ///
    /// # Errors
    /// Where the text holds no tools, and where a schema contradicts itself.
    pub fn tool_tokens(
        &self,
        spec: &FormatSpec,
        json: &str,
        runtime: &TokenStream,
    ) -> Result<TokenStream, Box<dyn std::error::Error + Send + Sync>> {
        gbnf::tool_items(spec, self, json, runtime)
    }

    /// The states in which the generation prompts leave the parser, in the spec's order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = usize> + '_ {
        self.entries.iter().copied()
    }
}

/// States in which more markers may come, or confirm one, than a search can tell apart.
fn too_many(automaton: &Automaton) -> Vec<String> {
    let most = |state: &automaton::State| {
        let confirming = state.arms.iter().map(|arm| match &arm.confirm {
            automaton::Confirm::Next(cores) => cores.len(),
            _ => 0,
        });
        confirming.max().unwrap_or(0).max(state.arms.len())
    };
    let over = automaton.states.iter().filter(|state| most(state) > unjinja_runtime::MAX_MARKERS);
    over.map(|state| {
        format!(
            "more than {} markers may come in one place, where {:?} does",
            unjinja_runtime::MAX_MARKERS,
            state.arms[0].core
        )
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

/// Formats generated items as Rust source.
///
/// # Errors
/// Where the tokens are no Rust items.
pub fn format(tokens: TokenStream) -> Result<String, syn::Error> {
    Ok(spaced(&prettyplease::unparse(&syn::parse2(tokens)?)))
}

/// Puts a blank line between items, as people do.
fn spaced(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut previous = "";
    for line in source.lines() {
        let body = line.trim_start();
        let depth = line.len() - body.len();
        let begins = ["/// ", "#[", "pub fn ", "fn ", "impl ", "pub mod ", "pub const ", "const "];
        let begins = depth <= 4 && begins.iter().any(|start| body.starts_with(start));
        let attached = previous.is_empty()
            || previous.ends_with('{')
            || previous.trim_start().starts_with("///")
            || previous.trim_start().starts_with("#[");
        // Short constants stand together.
        let short = previous.ends_with(';') && body.starts_with("const ");
        if begins && !attached && !short && (depth == 0 || body.starts_with("fn ")) {
            out.push('\n');
        }
        out.push_str(line);
        out.push('\n');
        previous = line;
    }
    out
}

/// The Rust source of one model's module, with a preamble that says what made it.
///
/// # Errors
/// Where the spec cannot be lowered.
pub fn source(spec: &FormatSpec) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    let lowered = Lowered::new(spec)?;
    let body = format(lowered.tokens(spec, &quote!(unjinja_runtime)))?;
    let info = &spec.template;
    Ok(format!(
        "// @generated by unjinja from the format spec `{}` (template {}). Do not edit: change the spec.\n\n{body}",
        info.name,
        info.file.escape_debug(),
    ))
}

/// A module of this name that holds a model's parser.
///
/// # Errors
/// Where the spec cannot be lowered.
pub fn module(spec: &FormatSpec, runtime: &TokenStream) -> Result<TokenStream, LowerError> {
    let body = Lowered::new(spec)?.tokens(spec, runtime);
    let name = format_ident!("{}", spec.template.name);
    let doc = format!(" Parser for the format of {}.", described(spec));
    Ok(quote!(#[doc = #doc] pub mod #name { #body }))
}

fn described(spec: &FormatSpec) -> String {
    let info = &spec.template;
    let source = if info.source.is_empty() { &info.file } else { &info.source };
    source.escape_debug().to_string()
}

/// For a build script that has specs only: compiles every `*.toml` of `folder` (with `*.overlay.toml` merged over it)
/// into modules, and writes them to `out`. Prints what cargo has to watch.
///
/// # Errors
/// Unreadable files, and specs that cannot be read or lowered; all of them at once.
pub fn compile_specs(folder: impl AsRef<Path>, out: impl AsRef<Path>) -> Result<Vec<FormatSpec>, SpecsError> {
    specs::compile(folder.as_ref(), out.as_ref())
}

mod specs;

pub use specs::{Sources, SpecsError, read_specs, sources, table};
