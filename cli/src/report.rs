//! What a comparison of specs found, as findings and as JSON.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde::Serialize;
use unjinja_lint::Severity;
use unjinja_lint::compare::TemplateComparison;
use unjinja_spec::{Change, Effect, line_of, worst};

use crate::failure::Done;
use crate::findings::{Finding, Findings, Group};
use crate::gaps::OverlayHint;
use crate::output;
use crate::ui::Ui;

/// How a report is printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people.
    #[value(alias = "text")]
    Human,
    /// JSON, one document.
    Json,
    /// Annotations for a GitHub workflow, on the lines of the specs.
    Github,
    /// A summary for a pull request.
    Markdown,
}

/// Which differences make a command fail.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Any difference.
    Informational,
    /// Changes of the format, and templates without a committed spec.
    Compatible,
    /// Changes with which a parser that was built before reads some turn wrongly, templates and specs that cannot be read, and
    /// specs without a template.
    Breaking,
}

impl FailOn {
    /// Whether the command fails because of this outcome.
    pub(crate) fn includes(self, outcome: &Outcome) -> bool {
        outcome.severity().is_some_and(|severity| self.reaches(severity))
    }

    /// Whether the command fails because of a difference that is so bad.
    pub(crate) fn reaches(self, severity: Effect) -> bool {
        severity
            >= match self {
                FailOn::Informational => Effect::Informational,
                FailOn::Compatible => Effect::Compatible,
                FailOn::Breaking => Effect::Breaking,
            }
    }
}

/// The result of a comparison.
pub(crate) struct Report {
    /// One row per spec, and one per overlay with a problem.
    pub rows: Vec<Row>,
    /// Specs that the overlay of another spec may correct, by their names.
    pub hints: Vec<(String, OverlayHint)>,
    /// The command that accepts the differences.
    pub fix: Option<String>,
}

/// The result for one spec.
pub(crate) struct Row {
    /// The name of the spec.
    pub name: String,
    /// The template that it was made from.
    pub template: Option<PathBuf>,
    /// The committed spec or the overlay.
    pub file: Option<PathBuf>,
    /// What is different.
    pub outcome: Outcome,
}

/// What is different about a spec.
pub(crate) enum Outcome {
    Unchanged,
    /// The template has no committed spec yet.
    New,
    /// The spec has other values, or the same values in other bytes.
    Changed(Changed),
    /// The committed file is not a valid spec.
    Unreadable(String),
    /// The template cannot be analysed, or the overlay cannot be applied.
    Broken(String),
    /// The template of the spec is gone.
    Gone,
    /// Keys of an overlay that change nothing.
    Idle(Vec<Idle>),
}

/// The changes of one spec.
pub(crate) struct Changed {
    /// Each with its line in the committed file.
    pub changes: Vec<(Change, usize)>,
}

/// A key of an overlay that changes nothing.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Idle {
    /// The key.
    pub key: String,
    /// Its line in the overlay.
    pub line: usize,
}

impl Changed {
    /// The changes of a spec whose file has the text `old`.
    pub(crate) fn new(changes: Vec<Change>, old: &str) -> Self {
        let with_line = |change: Change| {
            let line = line_of(old, &change.key);
            (change, line)
        };
        Self { changes: changes.into_iter().map(with_line).collect() }
    }

    fn worst(&self) -> Option<Effect> {
        worst(&self.changes.iter().map(|(change, _)| change.clone()).collect::<Vec<_>>())
    }
}

impl Outcome {
    /// Whether `check --write` removes the difference.
    pub(crate) fn is_fixed_by_writing(&self) -> bool {
        matches!(self, Outcome::New | Outcome::Changed(_) | Outcome::Unreadable(_) | Outcome::Gone)
    }

    fn name(&self) -> &'static str {
        match self {
            Outcome::Unchanged => "unchanged",
            Outcome::New => "new",
            Outcome::Changed(_) => "changed",
            Outcome::Unreadable(_) => "unreadable",
            Outcome::Broken(_) => "broken",
            Outcome::Gone => "gone",
            Outcome::Idle(_) => "idle",
        }
    }

    /// What the change means for a parser that was built before.
    fn effect(&self) -> Option<Effect> {
        match self {
            Outcome::Changed(changed) => Some(changed.worst().unwrap_or(Effect::Informational)),
            _ => None,
        }
    }

    /// How bad the difference is, by the words for changes of a spec; `None` if there is none. Where no parser can be made any
    /// more, or nobody can tell, it is breaking.
    pub(crate) fn severity(&self) -> Option<Effect> {
        match self {
            Outcome::Unchanged => None,
            Outcome::Changed(_) => self.effect(),
            Outcome::Idle(_) => Some(Effect::Informational),
            Outcome::New => Some(Effect::Compatible),
            Outcome::Unreadable(_) | Outcome::Broken(_) | Outcome::Gone => Some(Effect::Breaking),
        }
    }
}

impl Idle {
    fn sentence(&self) -> String {
        format!("`{}` changes nothing, because the analysis finds the same: remove it", self.key)
    }
}

impl Report {
    /// The number of rows with a difference.
    pub(crate) fn differences(&self) -> usize {
        self.rows.iter().filter(|row| !matches!(row.outcome, Outcome::Unchanged)).count()
    }

    /// Prints the report, with findings about something else after those about specs.
    pub(crate) fn print(&self, more: Option<Group>, format: ReportFormat, ui: Ui) -> Done {
        let mut findings = self.findings();
        findings.groups.extend(more);
        match format {
            ReportFormat::Human => findings.human(ui),
            ReportFormat::Json => output::json(&self.document()),
            ReportFormat::Github => findings.github(),
            ReportFormat::Markdown => findings.markdown(),
        }
    }

    fn findings(&self) -> Findings {
        let all = self.rows.len();
        let count = |name: &str| self.rows.iter().filter(|row| row.outcome.name() == name).count();
        let counts = ["changed", "new", "gone", "broken", "unreadable", "idle", "unchanged"]
            .map(|name| (count(name), name))
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, name)| format!("{count} {name}"));
        let hint = |(name, known): &(String, OverlayHint)| format!("{name}: {}", known.sentence());
        Findings {
            heading: format!("Format specs: {}", counts.collect::<Vec<String>>().join(", ")),
            summary: format!("{} of {all} unchanged", all - self.differences()),
            groups: self.rows.iter().map(Row::group).collect(),
            remarks: self.hints.iter().map(hint).collect(),
            accept: self.fix.clone(),
        }
    }

    /// The report for programs.
    pub(crate) fn document(&self) -> Document<'_> {
        let hints = self.hints.iter().map(|(spec, hint)| Hint { hint, spec });
        Document {
            differences: self.differences(),
            mend: self.fix.as_deref(),
            specs: self.rows.iter().map(Row::document).collect(),
            overlays: hints.collect(),
            templates: None,
        }
    }
}

/// What a comparison of specs found.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Document<'r> {
    /// How many rows are not `unchanged`. If there are any, the exit code is 1, unless `--fail-on` accepts them all.
    differences: usize,
    /// The command that accepts the differences; null if none does, or if `--write` did.
    mend: Option<&'r str>,
    /// One row for each spec, and one for each overlay with a problem.
    specs: Vec<SpecRow<'r>>,
    /// New, changed and incomplete specs without an overlay that the overlay of another spec may correct. No overlay is applied.
    overlays: Vec<Hint<'r>>,
    /// `diff` of two templates only: what the specs do not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub templates: Option<&'r TemplateComparison>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SpecRow<'r> {
    /// Name of the spec; of a template that does not work, its file name.
    name: &'r str,
    /// `unchanged`. `new`: there is no spec yet. `changed`: it says something else, or the same in other bytes. `unreadable`: the
    /// committed file is no spec. `broken`: the template or the overlay does not work. `gone`: no template gives this spec any
    /// more. `idle`: keys of the overlay change nothing.
    outcome: &'static str,
    /// The file that it is about: the spec, or the overlay.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// The template's file.
    #[serde(skip_serializing_if = "Option::is_none")]
    template: Option<String>,
    /// `changed` only: the gravest of its changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    effect: Option<Effect>,
    /// `changed` only; empty if only the form differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Vec<ChangeRow<'r>>>,
    /// `unreadable` and `broken` only: what is wrong, several lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'r str>,
    /// `idle` only: the keys that change nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    keys: Option<&'r [Idle]>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ChangeRow<'r> {
    /// Its line in the old spec's file; if it is new, the first line of its table, or 1.
    line: usize,
    #[serde(flatten)]
    change: &'r Change,
}

impl<'r> ChangeRow<'r> {
    fn new((change, line): &'r (Change, usize)) -> Self {
        Self { line: *line, change }
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Hint<'r> {
    #[serde(flatten)]
    hint: &'r OverlayHint,
    /// Name of the spec.
    spec: &'r str,
}

impl Row {
    fn document(&self) -> SpecRow<'_> {
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let mut row = SpecRow {
            name: &self.name,
            outcome: self.outcome.name(),
            file: path(&self.file),
            template: path(&self.template),
            effect: self.outcome.effect(),
            changes: None,
            problem: None,
            keys: None,
        };
        match &self.outcome {
            Outcome::Changed(changed) => {
                row.changes = Some(changed.changes.iter().map(ChangeRow::new).collect());
            }
            Outcome::Unreadable(problem) | Outcome::Broken(problem) => row.problem = Some(problem),
            Outcome::Idle(keys) => row.keys = Some(keys),
            Outcome::Unchanged | Outcome::New | Outcome::Gone => {}
        }
        row
    }

    fn group(&self) -> Group {
        Group { name: self.name.clone(), findings: self.findings() }
    }

    fn findings(&self) -> Vec<Finding> {
        let one = |severity, message: &str| vec![self.finding(severity, self.outcome.name(), message)];
        match &self.outcome {
            Outcome::Unchanged => Vec::new(),
            Outcome::New => one(Severity::Warning, "this template has no spec yet"),
            Outcome::Gone => one(Severity::Error, "the template of this spec no longer exists"),
            Outcome::Broken(problem) => one(Severity::Error, problem),
            Outcome::Unreadable(problem) => {
                one(Severity::Error, &format!("the committed spec cannot be read\n{problem}"))
            }
            Outcome::Changed(changed) if changed.changes.is_empty() => {
                one(Severity::Note, "in form only: the values are the same")
            }
            Outcome::Changed(changed) => {
                changed.changes.iter().map(|(change, line)| self.changed(change, *line)).collect()
            }
            Outcome::Idle(keys) => {
                let at = |key: &Idle| Finding {
                    line: u32::try_from(key.line).ok(),
                    ..self.finding(Severity::Error, "unused", &key.sentence())
                };
                keys.iter().map(at).collect()
            }
        }
    }

    fn changed(&self, change: &Change, line: usize) -> Finding {
        let severity = match change.effect {
            Effect::Breaking => Severity::Error,
            Effect::Compatible => Severity::Warning,
            Effect::Informational => Severity::Note,
        };
        let side = |value: &Option<String>| value.as_deref().unwrap_or("(absent)").replace('\n', " ");
        Finding {
            line: u32::try_from(line).ok(),
            details: vec![("old", side(&change.old)), ("new", side(&change.new))],
            ..self.finding(severity, &format!("{}: {}", change.effect, change.key), &change.why)
        }
    }

    /// A finding about the committed spec or the overlay, or about the template if there is none.
    fn finding(&self, severity: Severity, title: &str, message: &str) -> Finding {
        let file = match self.outcome {
            Outcome::New => self.template.as_ref().or(self.file.as_ref()),
            _ => self.file.as_ref().or(self.template.as_ref()),
        };
        let file = file.map_or(Path::new(&self.name), PathBuf::as_path);
        Finding::of_file(severity, title, file, message.to_owned())
    }
}
