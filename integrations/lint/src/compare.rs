//! Compares two chat templates: whether they render alike what clients send, and whether the parser of one reads what a model of the
//! other writes. The conversations are those with which `lint` tries both.
//!
//! ```
//! use unjinja_lint::compare::{CompareOptions, compare};
//! use unjinja_render::Template;
//!
//! let text = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}\
//!     {% if add_generation_prompt %}<assistant>{% endif %}";
//! let [old, new] = [text.to_owned(), text.replace("</>", "<end>")].map(|text| Template::parse("chat.jinja", &text));
//! let compared = compare(&old?, &new?, &CompareOptions::new());
//! let difference = compared.render.difference.as_ref().ok_or("they render alike")?;
//! assert_eq!(difference.conversation["messages"].as_array().map(Vec::len), Some(1));
//! assert!(!compared.read.alike);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod readings;
mod renders;
mod tokens;

use serde::Serialize;
use unjinja_render::{Template, with_big_stack};
use unjinja_spec::{Change, Effect, FormatSpec, diff, worst};

use crate::examine::subject;
use crate::options::LintOptions;
use crate::subject::Subject;

pub use readings::{TurnDifference, TurnReadings};
pub use renders::{RenderComparison, RenderDifference, Rendered};

/// How many random turns of each template are read, without other options.
const TURNS: u32 = 100;

/// What is known about the templates, and how much is tried.
#[derive(Clone, Debug)]
pub struct CompareOptions {
    specs: [Option<FormatSpec>; 2],
    turns: u32,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self { specs: [None, None], turns: TURNS }
    }
}

impl CompareOptions {
    /// Both templates are analysed, and 100 random turns of each are read.
    pub fn new() -> Self {
        Self::default()
    }

    /// The specs of the templates, with their overlays, so that they are not analysed again.
    pub fn specs(mut self, old: FormatSpec, new: FormatSpec) -> Self {
        self.specs = [Some(old), Some(new)];
        self
    }

    /// How many random turns of each template are read.
    pub fn turns(mut self, count: u32) -> Self {
        self.turns = count;
        self
    }
}

/// What two templates have in common, as the command and the npm package write it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TemplateComparison {
    /// Whether the templates render alike what clients send.
    pub render: RenderComparison,
    /// Whether the parsers read alike.
    pub read: ReadComparison,
    /// Why a template has no parser; null if it has one.
    pub problems: Both<Option<String>>,
}

/// How two templates' parsers compare.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ReadComparison {
    /// Whether no change of the specs breaks a parser, and every turn is read alike.
    pub alike: bool,
    /// The keys that differ between the specs. Empty if a template has no spec.
    pub changes: Vec<Change>,
    /// Random turns of each template, read by the parser of the other one. All counts are 0 if a template has no parser.
    pub turns: Both<TurnReadings>,
}

/// The same of both templates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Both<T> {
    /// Of the old template.
    pub old: T,
    /// Of the new template.
    pub new: T,
}

impl<T> Both<T> {
    /// The old one, then the new one.
    pub fn each(&self) -> [&T; 2] {
        [&self.old, &self.new]
    }
}

/// Compares two templates.
pub fn compare(old: &Template, new: &Template, options: &CompareOptions) -> TemplateComparison {
    // One stack for all renders.
    with_big_stack(|| compare_here(old, new, options)).unwrap_or_else(|panicked| {
        let problem = || Some(format!("the templates cannot be rendered: {panicked}"));
        let problems = Both { old: problem(), new: problem() };
        TemplateComparison { render: RenderComparison::default(), read: ReadComparison::default(), problems }
    })
}

fn compare_here(old: &Template, new: &Template, options: &CompareOptions) -> TemplateComparison {
    let asked = |template: &Template, spec: &Option<FormatSpec>| {
        subject(template, &LintOptions { spec: spec.clone(), ..LintOptions::default() })
    };
    let [old_spec, new_spec] = &options.specs;
    let assumed = tokens::Assumed::of(old, new);
    let (old, new) = (asked(&assumed.fill(old), old_spec), asked(&assumed.fill(new), new_spec));
    let render = renders::compare(&old, &new, &assumed);
    let problems = Both { old: problem(&old), new: problem(&new) };
    let changes = match (&old.spec, &new.spec) {
        (Some(before), Some(after)) => diff(before, after).into_iter().filter(concerns_format).collect(),
        _ => Vec::new(),
    };
    let turns =
        Both { old: readings::of_turns(&old, &new, options.turns), new: readings::of_turns(&new, &old, options.turns) };
    let alike = problems.each().iter().all(|problem| problem.is_none())
        && turns.each().iter().all(|readings| readings.alike == readings.tried)
        && worst(&changes) != Some(Effect::Breaking);
    TemplateComparison { render, read: ReadComparison { alike, changes, turns }, problems }
}

/// Whether a change is about the format: where a template comes from, and how it was tested, is not.
fn concerns_format(change: &Change) -> bool {
    !["template.", "evidence."].iter().any(|table| change.key.starts_with(table))
}

fn problem(subject: &Subject) -> Option<String> {
    match (&subject.spec, &subject.parser) {
        (_, Some(_)) => None,
        (None, _) => Some("the analysis failed; `unjinja explain` says why".to_owned()),
        (Some(spec), None) => Some(format!("no parser can be made: {}", spec.gaps.join("; "))),
    }
}
