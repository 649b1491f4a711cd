//! What a comparison of specs found, as findings and as JSON.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::{Map, Value, json};
use unjinja_lint::Severity;
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
pub(crate) struct Idle {
    pub key: String,
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

    /// The report as JSON.
    pub(crate) fn document(&self) -> Value {
        let rows = self.rows.iter().map(|row| {
            let mut object = Map::new();
            object.insert("name".to_owned(), json!(row.name));
            object.insert("outcome".to_owned(), json!(row.outcome.name()));
            for (key, path) in [("file", &row.file), ("template", &row.template)] {
                if let Some(path) = path {
                    object.insert(key.to_owned(), json!(path.display().to_string()));
                }
            }
            match &row.outcome {
                Outcome::Changed(changed) => {
                    let changes = changed.changes.iter().map(|(change, line)| {
                        json!({
                            "key": change.key, "line": line, "old": change.old, "new": change.new,
                            "effect": change.effect, "why": change.why,
                        })
                    });
                    object.insert("effect".to_owned(), json!(row.outcome.effect()));
                    object.insert("changes".to_owned(), changes.collect());
                }
                Outcome::Unreadable(problem) | Outcome::Broken(problem) => {
                    object.insert("problem".to_owned(), json!(problem));
                }
                Outcome::Idle(keys) => {
                    let keys = keys.iter().map(|idle| json!({"key": idle.key, "line": idle.line}));
                    object.insert("keys".to_owned(), keys.collect());
                }
                Outcome::Unchanged | Outcome::New | Outcome::Gone => {}
            }
            Value::Object(object)
        });
        let hints = self.hints.iter().map(|(spec, known)| {
            let mut hint = known.document();
            hint["spec"] = json!(spec);
            hint
        });
        let (specs, overlays) = (rows.collect::<Vec<_>>(), hints.collect::<Vec<_>>());
        json!({"differences": self.differences(), "mend": self.fix, "specs": specs, "overlays": overlays})
    }
}

impl Row {
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
