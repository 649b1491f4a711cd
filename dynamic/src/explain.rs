//! Everything that the analysis of a template saw and concluded, and how an output is read, as one document: what `unjinja explain`
//! prints and what the npm package returns. `docs/json/explain.schema.json` describes its JSON.
//!
//! `options` say what is explained, `comparisons` are those of the analysis, `keys` those of the spec, `parser` has prompts and grammar, and `output` an output. Nothing
//! here decides anything: it shows what other crates found.

mod comparisons;
mod keys;
mod options;
mod output;
mod parser;

use serde::Serialize;
use unjinja_analyzer::analyze_traced;
use unjinja_analyzer::trace::Comparison;
use unjinja_codegen::interpreter;
use unjinja_runtime::trace::StateView;
use unjinja_spec::{Described, FormatSpec, RoundTrips, Status};

use crate::loader::{Input, LoadError, Loaded, Loader, Observer, Subject};
use crate::overlays::Correction;

pub use comparisons::{ComparisonGroup, ComparisonView};
pub use keys::KeyView;
pub use options::ExplainOptions;
pub use output::{DiagnosticView, OutputView, SpanView, StopView};
pub use parser::{GrammarView, PromptView, TriggerView};

/// The document.
///
/// ```
/// use unjinja_dynamic::explain::{ExplainOptions, ParserOutcome};
/// use unjinja_dynamic::{Input, Loader};
///
/// let template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}\
///     {% if add_generation_prompt %}<assistant>{% endif %}";
/// let explained = Loader::new().explain(Input::text(template), &ExplainOptions::new().output("Hello!</>"))?;
/// assert_eq!(explained.outcome, ParserOutcome::Supported);
/// let output = explained.output.expect("one was given");
/// let read: Vec<_> = output.spans.iter().map(|span| (span.taken, &*span.text)).collect();
/// assert_eq!(read, [("content", "Hello!"), ("syntax", "</>")]);
/// # Ok::<(), unjinja_dynamic::LoadError>(())
/// ```
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Explanation {
    /// Name of the template or spec file.
    pub file: String,
    /// What the file is.
    pub kind: ExplainedKind,
    /// The result.
    pub outcome: ParserOutcome,
    /// Why there is no parser; absent with a parser.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the spec does not describe.
    pub gaps: Vec<String>,
    /// The overlays that were written for other templates and are applied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub corrections: Vec<String>,
    /// How well the spec is tested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<EvidenceView>,
    /// The comparisons of the analysis, in the order in which they ran; a spec has none.
    pub comparisons: Vec<ComparisonView>,
    /// The spec, by key.
    pub keys: Vec<KeyView>,
    /// The spec as TOML.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toml: Option<String>,
    /// The generation prompts.
    pub generation_prompts: Vec<PromptView>,
    /// What templates write in a turn: a line for each part, with literals in quotes and holes in braces. What is only tolerated is not
    /// in it. Empty if there is no parser.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub plan: String,
    /// The states of the parser.
    pub states: Vec<StateView>,
    /// The grammar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grammar: Option<GrammarView>,
    /// The output, and how it is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputView>,
}

/// What is explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ExplainedKind {
    /// A chat template.
    Template,
    /// A format spec.
    Spec,
}

/// Whether there is a parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ParserOutcome {
    /// There is a parser.
    Supported,
    /// There is a parser, but it does not read everything that the template renders.
    Partial,
    /// There is a spec, but no parser can be made from it.
    Unsupported,
    /// There is no spec.
    Failed,
}

/// How well a spec is tested.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct EvidenceView {
    /// How many times the template was rendered.
    pub renders: u32,
    /// Random conversations that were rendered and parsed back.
    pub round_trips: RoundTrips,
    /// What no render shows and the text of the prompt describes.
    #[serde(skip_serializing_if = "Described::is_empty")]
    pub described: Described,
}

impl Loader {
    /// Explains a template or a spec. A template is analysed anew, and its comparisons are kept for the explanation. One that has a
    /// syntax error or cannot be analysed is explained too: with the comparisons until then, and with the reason.
    ///
    /// # Errors
    /// If a file cannot be read, is damaged, holds no template or several; an invalid spec or overlay; a name of no supported model.
    pub fn explain(&self, input: Input, options: &ExplainOptions<'_>) -> Result<Explanation, LoadError> {
        self.explain_observed(input, options, &mut |_| {})
    }

    /// Like [`explain`](Self::explain), and calls `observe` with each comparison as soon as it is made.
    ///
    /// # Errors
    /// Those of [`explain`](Self::explain).
    pub fn explain_observed(
        &self,
        input: Input,
        options: &ExplainOptions<'_>,
        observe: &mut Observer<'_>,
    ) -> Result<Explanation, LoadError> {
        let loader = self.clone().analyse_anew();
        let subject = loader.read(input)?;
        let (file, kind) = match &subject {
            Subject::Template { source, .. } => (source.file(), ExplainedKind::Template),
            Subject::Spec { file, .. } => (file.clone(), ExplainedKind::Spec),
        };
        let mut comparisons = Vec::new();
        let mut keep = |made: &Comparison| {
            observe(made);
            comparisons.push(ComparisonView::new(made.clone()));
        };
        let found = loader.load_subject(subject, &mut |template, naming| analyze_traced(template, naming, &mut keep));
        let mut explanation = Explanation::without_spec(file, kind, comparisons);
        match found {
            Ok(loaded) => explanation.add(&loaded, options),
            Err(error @ (LoadError::Template { .. } | LoadError::Analysis { .. })) => {
                explanation.reason = Some(error.to_string());
            }
            Err(error) => return Err(error),
        }
        Ok(explanation)
    }
}

impl Explanation {
    /// The comparisons, grouped by subject.
    pub fn groups(&self) -> impl Iterator<Item = ComparisonGroup<'_>> {
        comparisons::groups(&self.comparisons)
    }

    fn without_spec(file: String, kind: ExplainedKind, comparisons: Vec<ComparisonView>) -> Self {
        Self {
            file,
            kind,
            outcome: ParserOutcome::Failed,
            reason: None,
            gaps: Vec::new(),
            corrections: Vec::new(),
            evidence: None,
            comparisons,
            keys: Vec::new(),
            toml: None,
            generation_prompts: Vec::new(),
            plan: String::new(),
            states: Vec::new(),
            grammar: None,
            output: None,
        }
    }

    fn add(&mut self, loaded: &Loaded, options: &ExplainOptions<'_>) {
        let spec: &FormatSpec = &loaded.spec;
        self.corrections = loaded.corrections.iter().filter_map(Correction::remark).collect();
        let unjinja_spec::Evidence { renders, round_trips, described, .. } = spec.evidence.clone();
        self.evidence = Some(EvidenceView { renders, round_trips, described });
        self.gaps.clone_from(&spec.gaps);
        self.keys = keys::keys(&loaded.bare, spec, &self.comparisons);
        self.toml = Some(spec.to_toml());
        let lowered = interpreter(spec);
        let rules = unjinja_codegen::rules(spec);
        self.states = lowered.as_ref().map(|parser| parser::states(parser.program(), &rules)).unwrap_or_default();
        self.generation_prompts = parser::prompts(spec, &self.states);
        match lowered {
            Ok(lowered) => {
                self.outcome =
                    if spec.status == Status::Partial { ParserOutcome::Partial } else { ParserOutcome::Supported };
                self.plan = unjinja_codegen::notation(spec);
                self.grammar = Some(parser::grammar(&lowered, options));
                self.output = options.output.map(|output| output::reading(&lowered, &rules, output, options));
            }
            Err(error) => {
                self.outcome = ParserOutcome::Unsupported;
                let problems: Vec<String> = error.problems.iter().map(ToString::to_string).collect();
                self.reason = Some(if spec.gaps.is_empty() { problems.join("; ") } else { spec.gaps.join("; ") });
            }
        }
    }
}
