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
//! let difference = compared.difference.as_ref().ok_or("they render alike")?;
//! assert_eq!(difference.conversation["messages"].as_array().map(Vec::len), Some(1));
//! assert!(!compared.read_alike());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod document;
mod readings;
mod renders;
mod tokens;

use unjinja_render::{Template, with_big_stack};
use unjinja_spec::{Change, Effect, FormatSpec, diff, worst};

use crate::examine::subject;
use crate::options::LintOptions;
use crate::subject::Subject;

pub use document::ComparisonDocument;
pub use readings::{TurnDifference, TurnReadings};
pub use renders::RenderDifference;

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

/// What two templates have in common.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TemplateComparison {
    /// How many conversations both were asked to render.
    pub tried: usize,
    /// How many of them come out different. One that both refuse is no difference.
    pub differing: usize,
    /// How many of these differ in white space only.
    pub differing_in_space: usize,
    /// The smallest conversation that comes out different.
    pub difference: Option<RenderDifference>,
    /// The special tokens, such as `bos_token`, of which only one file says the text. Both templates were rendered with that text.
    pub assumed_tokens: Vec<String>,
    /// The keys that differ between the specs, and what each means for a parser of the old one. Empty if a template has no spec.
    pub changes: Vec<Change>,
    /// How the new parser reads the turns of the old template, and the old one those of the new. Without turns if there is no parser.
    pub readings: [TurnReadings; 2],
    /// For each template why it has no parser, if it has none.
    pub problems: [Option<String>; 2],
}

impl TemplateComparison {
    /// Whether every conversation comes out alike.
    pub fn render_alike(&self) -> bool {
        self.differing == 0
    }

    /// Whether no key of the specs decides that an output is read otherwise, and every turn that was tried is read alike.
    pub fn read_alike(&self) -> bool {
        let known = self.problems.iter().all(Option::is_none);
        let alike = self.readings.iter().all(|readings| readings.alike == readings.tried);
        known && alike && worst(&self.changes) != Some(Effect::Breaking)
    }

    /// The comparison as the command and the npm package write it.
    pub fn document(&self) -> ComparisonDocument<'_> {
        let [old, new] = self.readings.each_ref().map(document::turns);
        let [old_problem, new_problem] = self.problems.each_ref().map(Option::as_deref);
        ComparisonDocument {
            render: document::Renders {
                alike: self.render_alike(),
                tried: self.tried,
                differing: self.differing,
                space: self.differing_in_space,
                difference: self.difference.as_ref().map(document::difference),
                assumed_tokens: &self.assumed_tokens,
            },
            read: document::Readings {
                alike: self.read_alike(),
                changes: &self.changes,
                turns: document::Both { old, new },
            },
            problems: document::Both { old: old_problem, new: new_problem },
        }
    }
}

/// Compares two templates.
pub fn compare(old: &Template, new: &Template, options: &CompareOptions) -> TemplateComparison {
    // One stack for all renders.
    with_big_stack(|| compare_here(old, new, options)).unwrap_or_else(|panicked| {
        let problem = || Some(format!("the templates cannot be rendered: {panicked}"));
        TemplateComparison { problems: [problem(), problem()], ..TemplateComparison::default() }
    })
}

fn compare_here(old: &Template, new: &Template, options: &CompareOptions) -> TemplateComparison {
    let asked = |template: &Template, spec: &Option<FormatSpec>| {
        subject(template, &LintOptions { spec: spec.clone(), ..LintOptions::default() })
    };
    let [old_spec, new_spec] = &options.specs;
    let assumed = tokens::Assumed::of(old, new);
    let (old, new) = (asked(&assumed.fill(old), old_spec), asked(&assumed.fill(new), new_spec));
    let renders = renders::compare(&old, &new, &assumed);
    let mut compared = TemplateComparison {
        tried: renders.tried,
        differing: renders.differing,
        differing_in_space: renders.differing_in_space,
        difference: renders.smallest,
        assumed_tokens: assumed.names(),
        problems: [problem(&old), problem(&new)],
        ..TemplateComparison::default()
    };
    if let (Some(before), Some(after)) = (&old.spec, &new.spec) {
        compared.changes = diff(before, after).into_iter().filter(concerns_format).collect();
    }
    compared.readings = [readings::of_turns(&old, &new, options.turns), readings::of_turns(&new, &old, options.turns)];
    compared
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
