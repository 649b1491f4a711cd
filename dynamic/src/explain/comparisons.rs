//! The comparisons of an analysis, grouped by their subjects.

use serde::Serialize;
use unjinja_analyzer::trace::{Comparison, Experiment};

/// A comparison of the analysis.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ComparisonView {
    /// What it tests.
    pub title: &'static str,
    /// Its subject.
    pub group: &'static str,
    /// Whether it is a probe that found nothing.
    pub idle: bool,
    /// The comparison.
    #[serde(flatten)]
    pub made: Comparison,
}

/// The comparisons about one subject, each with its index among all.
#[derive(Clone, Debug)]
pub struct ComparisonGroup<'e> {
    /// The subject.
    pub title: &'static str,
    /// Those with results.
    pub comparisons: Vec<(usize, &'e ComparisonView)>,
    /// Probes that found nothing.
    pub idle: Vec<(usize, &'e ComparisonView)>,
}

/// The subjects in the order in which they are shown, each with the names of its experiments.
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

/// The comparisons, grouped by subject.
pub(super) fn groups(all: &[ComparisonView]) -> impl Iterator<Item = ComparisonGroup<'_>> {
    GROUPS.into_iter().map(|(title, names)| {
        let of_group = all.iter().enumerate().filter(|(_, one)| names.contains(&one.made.experiment.name()));
        let mut of_group: Vec<(usize, &ComparisonView)> = of_group.collect();
        of_group
            .sort_by_key(|(index, one)| (names.iter().position(|name| *name == one.made.experiment.name()), *index));
        let (idle, comparisons) = of_group.into_iter().partition(|(_, one)| one.idle);
        ComparisonGroup { title, comparisons, idle }
    })
}

impl ComparisonView {
    pub(super) fn new(made: Comparison) -> Self {
        let name = made.experiment.name();
        let group = GROUPS.into_iter().find(|(_, names)| names.contains(&name)).map_or("", |(title, _)| title);
        let failed = made.renders.iter().any(|render| render.error.is_some());
        let idle = made.experiment == Experiment::HiddenHistory && made.findings.is_empty() && !failed;
        Self { title: made.experiment.title(), group, idle, made }
    }
}
