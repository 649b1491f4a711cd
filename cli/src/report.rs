//! Reports what a comparison of specs found: for people, as JSON, as annotations of a GitHub workflow, and as a summary for
//! a pull request. Text from templates and specs is escaped for each of these, because it can be hostile.

use std::io::Write;
use std::path::PathBuf;

use clap::ValueEnum;
use serde_json::{Map, Value, json};
use unjinja_spec::{Change, Effect, line_of, worst};

use crate::failure::Done;
use crate::gaps::OverlayHint;
use crate::output;
use crate::ui::{BAD, FAINT, GOOD, NAME, Ui, WARNING, paint};
use crate::visible;

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

    fn sentence(&self) -> String {
        match self {
            Outcome::Unchanged => "unchanged".to_owned(),
            Outcome::New => "new: this template has no spec yet".to_owned(),
            Outcome::Changed(changed) => match changed.worst() {
                None => "changed in form only: the values are the same".to_owned(),
                Some(effect) => format!("changed, {effect}"),
            },
            Outcome::Unreadable(problem) => format!("the committed spec cannot be read\n{problem}"),
            Outcome::Broken(problem) => problem.clone(),
            Outcome::Gone => "gone: the template of this spec no longer exists".to_owned(),
            Outcome::Idle(_) => "unused: keys of the overlay change nothing".to_owned(),
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

    /// Prints the report.
    pub(crate) fn print(&self, format: ReportFormat, ui: Ui) -> Done {
        match format {
            ReportFormat::Human => self.human(ui),
            ReportFormat::Json => output::json(&self.document()),
            ReportFormat::Github => self.github(),
            ReportFormat::Markdown => self.markdown(),
        }
    }

    fn human(&self, ui: Ui) -> Done {
        let mut out = anstream::stdout().lock();
        for row in &self.rows {
            let style = match (&row.outcome, row.outcome.effect()) {
                (Outcome::Unchanged, _) => continue,
                (Outcome::Broken(_) | Outcome::Unreadable(_), _) | (_, Some(Effect::Breaking)) => BAD,
                _ => WARNING,
            };
            let sentence = visible::lines(&row.outcome.sentence());
            let (first, more) = sentence.split_once('\n').unwrap_or((&sentence, ""));
            writeln!(out, "{}: {}", paint(NAME, &visible::lines(&row.name)), paint(style, first))?;
            for line in more.lines() {
                writeln!(out, "  {line}")?;
            }
            match &row.outcome {
                Outcome::Changed(changed) => {
                    for (change, line) in &changed.changes {
                        write_change(&mut out, change, *line)?;
                    }
                }
                Outcome::Idle(keys) => {
                    for key in keys {
                        writeln!(out, "  line {}: {}", key.line, visible::lines(&key.sentence()))?;
                    }
                }
                _ => {}
            }
        }
        for (name, known) in &self.hints {
            writeln!(out, "{}: {}", paint(NAME, &visible::lines(name)), visible::lines(&known.sentence()))?;
        }
        if !ui.quiet {
            let count = self.rows.len();
            let same = count - self.differences();
            let style = if same == count { GOOD } else { FAINT };
            writeln!(out, "{}", paint(style, &format!("{same} of {count} unchanged")))?;
        }
        Ok(())
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

    /// Prints workflow commands, which GitHub shows as annotations.
    fn github(&self) -> Done {
        let mut out = std::io::stdout().lock();
        for row in &self.rows {
            let path = match row.outcome {
                Outcome::New => row.template.as_ref().or(row.file.as_ref()),
                _ => row.file.as_ref().or(row.template.as_ref()),
            };
            let path = path.map_or(String::new(), |path| path.display().to_string());
            let mut annotate = |level: &str, line: usize, title: &str, message: &str| {
                let (file, title) = (github_property(&path), github_property(title));
                writeln!(out, "::{level} file={file},line={line},title={title}::{}", github_message(message))
            };
            let name = &row.name;
            match &row.outcome {
                Outcome::Unchanged => {}
                Outcome::Changed(changed) if changed.changes.is_empty() => {
                    annotate("notice", 1, name, &row.outcome.sentence())?;
                }
                Outcome::Changed(changed) => {
                    for (change, line) in &changed.changes {
                        let level = match change.effect {
                            Effect::Breaking => "error",
                            Effect::Compatible => "warning",
                            Effect::Informational => "notice",
                        };
                        let title = format!("{name}: {}: {}", change.effect, change.key);
                        annotate(level, *line, &title, &format!("{}\n{}", sides(change), change.why))?;
                    }
                }
                Outcome::Idle(keys) => {
                    for key in keys {
                        annotate("error", key.line, &format!("{name}: unused key in the overlay"), &key.sentence())?;
                    }
                }
                Outcome::New => annotate("warning", 1, name, &row.outcome.sentence())?,
                Outcome::Gone | Outcome::Broken(_) | Outcome::Unreadable(_) => {
                    annotate("error", 1, name, &row.outcome.sentence())?;
                }
            }
        }
        Ok(())
    }

    fn markdown(&self) -> Done {
        let mut out = std::io::stdout().lock();
        let count = |name: &str| self.rows.iter().filter(|row| row.outcome.name() == name).count();
        let counts = ["changed", "new", "gone", "broken", "unreadable", "idle", "unchanged"]
            .map(|name| (count(name), name))
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, name)| format!("{count} {name}"));
        writeln!(out, "### Format specs: {}", counts.collect::<Vec<_>>().join(", "))?;
        for row in self.rows.iter().filter(|row| !matches!(row.outcome, Outcome::Unchanged)) {
            let sentence = row.outcome.sentence();
            let (first, more) = sentence.split_once('\n').unwrap_or((&sentence, ""));
            let sign = match (&row.outcome, row.outcome.effect()) {
                (Outcome::Broken(_) | Outcome::Unreadable(_), _) | (_, Some(Effect::Breaking)) => "🔴",
                (_, Some(Effect::Informational)) => "⚪",
                _ => "🟡",
            };
            writeln!(out, "\n{sign} **{}**: {}", markdown_text(&row.name), markdown_text(first))?;
            if !more.is_empty() {
                writeln!(out, "\n<pre>{}</pre>", markdown_pre(more))?;
            }
            match &row.outcome {
                Outcome::Changed(changed) if !changed.changes.is_empty() => {
                    writeln!(out, "\n| key | old | new | |\n|---|---|---|---|")?;
                    for (change, _) in &changed.changes {
                        let [key, old, new] = [Some(&change.key), change.old.as_ref(), change.new.as_ref()]
                            .map(|text| text.map_or("–".to_owned(), |text| markdown_code(text)));
                        let why = markdown_text(&change.why);
                        writeln!(out, "| {key} | {old} | {new} | **{}**: {why} |", change.effect)?;
                    }
                }
                Outcome::Idle(keys) => {
                    for key in keys {
                        writeln!(out, "- line {}: {}", key.line, markdown_text(&key.sentence()))?;
                    }
                }
                _ => {}
            }
        }
        for (name, known) in &self.hints {
            writeln!(out, "\n**{}**: {}", markdown_text(name), markdown_text(&known.sentence()))?;
        }
        if let Some(command) = &self.fix {
            writeln!(out, "\nTo accept this:\n\n<pre>{}</pre>", markdown_pre(command))?;
        }
        Ok(())
    }
}

fn write_change(out: &mut impl Write, change: &Change, line: usize) -> Done {
    let style = match change.effect {
        Effect::Breaking => BAD,
        Effect::Compatible => WARNING,
        Effect::Informational => FAINT,
    };
    let place = paint(FAINT, &format!("line {line}"));
    writeln!(out, "  {}: {}  {place}", paint(style, &change.effect.to_string()), visible::lines(&change.key))?;
    for (line, style) in sides(change).lines().zip([BAD, GOOD]) {
        writeln!(out, "    {}", paint(style, &visible::lines(line)))?;
    }
    writeln!(out, "    {}", paint(FAINT, &visible::lines(&change.why)))?;
    Ok(())
}

/// The old and the new value of a change, on two lines.
fn sides(change: &Change) -> String {
    let side = |value: &Option<String>| value.as_deref().unwrap_or("(absent)").replace('\n', " ");
    format!("- {}\n+ {}", side(&change.old), side(&change.new))
}

/// Escapes the message of a workflow command. It comes after `::`.
pub(crate) fn github_message(text: &str) -> String {
    visible::lines(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property of a workflow command. It comes between `=` and `,`.
pub(crate) fn github_property(text: &str) -> String {
    github_message(text).replace(':', "%3A").replace(',', "%2C")
}

/// Escapes text for one line of Markdown, so that no character is markup.
pub(crate) fn markdown_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible::line(text).chars() {
        // Characters of ordinary sentences stay, so that the source remains readable.
        let plain = c.is_alphanumeric() || !c.is_ascii() || " .,;'?()/".contains(c);
        match plain {
            true => out.push(c),
            false => out.push_str(&format!("&#{};", u32::from(c))),
        }
    }
    out
}

pub(crate) fn markdown_code(text: &str) -> String {
    format!("<code>{}</code>", markdown_text(text))
}

/// Escapes several lines for `<pre>`, without blank lines: they would end the HTML block.
pub(crate) fn markdown_pre(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(markdown_text).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_its_place_in_an_annotation() {
        assert_eq!(github_property("a,b::c\n::error ::%\u{1b}"), "a%2Cb%3A%3Ac%0A%3A%3Aerror %3A%3A%25\\u{1b}");
        assert_eq!(github_message("x\n::set-output name=a::b"), "x%0A::set-output name=a::b");
    }

    #[test]
    fn nothing_means_anything_in_markdown() {
        let hostile = "a|b` <img src=x onerror=y> **c** [d](e) @f #1 \u{202E}\n- g";
        let text = markdown_text(hostile);
        assert!(!text.contains(['|', '`', '<', '>', '*', '[', '@', '\n', '\u{202E}']), "{text}");
        assert!(text.replace("&#", "").chars().all(|c| c != '#'), "{text}");
        assert_eq!(markdown_pre("a\n\n<b>"), "a\n&#60;b&#62;");
    }
}
