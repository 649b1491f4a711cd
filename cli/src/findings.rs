//! Findings, as `lint`, `check` and `diff` tell them, and one printer for each form: people, a workflow of GitHub, and a pull
//! request. Text from templates and specs is escaped for each of these, because it can be hostile.

use std::io::Write;
use std::path::{Path, PathBuf};

use unjinja_lint::Severity;

use crate::failure::Done;
use crate::ui::{BAD, FAINT, GOOD, NAME, Ui, WARNING, paint};
use crate::visible;

/// Something that was found in a file.
pub(crate) struct Finding {
    pub severity: Severity,
    /// What it is: the name of a rule, or what changed.
    pub title: String,
    pub file: PathBuf,
    /// The file as people call it: with the name of one of several templates in it.
    pub place: String,
    /// The line and the column, from 1, as far as they are known.
    pub line: Option<u32>,
    pub column: Option<u32>,
    /// What happens. Where there are more lines than one, the others are an excerpt of the file.
    pub message: String,
    /// What shows it: names, and texts for them.
    pub details: Vec<(&'static str, String)>,
    /// What to change; empty where nothing can be changed.
    pub help: String,
}

/// The findings about one template or spec.
pub(crate) struct Group {
    pub name: String,
    pub findings: Vec<Finding>,
}

/// All findings of a command.
pub(crate) struct Findings {
    /// What was looked at and what was found, for the heading of a page.
    pub heading: String,
    /// How much was looked at, and how much was found, in words.
    pub summary: String,
    pub groups: Vec<Group>,
    /// What else is to be said, in sentences.
    pub remarks: Vec<String>,
    /// A command that accepts everything.
    pub accept: Option<String>,
}

impl Finding {
    /// A finding about a whole file.
    pub(crate) fn of_file(severity: Severity, title: &str, file: &Path, message: String) -> Self {
        Self {
            severity,
            title: title.to_owned(),
            file: file.to_owned(),
            place: file.display().to_string(),
            line: None,
            column: None,
            message,
            details: Vec::new(),
            help: String::new(),
        }
    }

    /// `path:line:column`, as far as it is known.
    fn position(&self) -> String {
        let numbers = self.line.into_iter().chain(self.column.filter(|_| self.line.is_some()));
        numbers.fold(self.place.clone(), |place, number| format!("{place}:{number}"))
    }

    /// The details and the help, each with its name.
    fn rows(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let help = Some(("to change", self.help.as_str())).filter(|(_, help)| !help.is_empty());
        self.details.iter().map(|(name, text)| (*name, text.as_str())).chain(help)
    }
}

impl Findings {
    fn all(&self) -> impl Iterator<Item = &Finding> {
        self.groups.iter().flat_map(|group| &group.findings)
    }

    /// For people: the findings, and how many there are.
    pub(crate) fn human(&self, ui: Ui) -> Done {
        let mut out = anstream::stdout().lock();
        human(&mut out, self.all())?;
        for remark in &self.remarks {
            writeln!(out, "{}", visible::lines(remark))?;
        }
        if !ui.quiet {
            let style = if self.all().next().is_none() { GOOD } else { FAINT };
            writeln!(out, "{}", paint(style, &self.summary))?;
        }
        Ok(())
    }

    /// Workflow commands, which GitHub shows as annotations.
    pub(crate) fn github(&self) -> Done {
        let mut out = std::io::stdout().lock();
        for finding in self.all() {
            let level = match finding.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Note => "notice",
            };
            let mut message = finding.message.clone();
            for (name, text) in finding.rows() {
                message.push_str(&format!("\n{name}: {text}"));
            }
            let mut place = format!("file={}", github_property(&finding.file.display().to_string()));
            for (name, number) in [("line", finding.line), ("col", finding.column)] {
                place.extend(number.map(|number| format!(",{name}={number}")));
            }
            let (title, message) = (github_property(&finding.title), github_message(&message));
            writeln!(out, "::{level} {place},title={title}::{message}")?;
        }
        Ok(())
    }

    /// A summary for a pull request.
    pub(crate) fn markdown(&self) -> Done {
        let mut out = std::io::stdout().lock();
        writeln!(out, "### {}", self.heading)?;
        for group in self.groups.iter().filter(|group| !group.findings.is_empty()) {
            writeln!(out, "\n**{}**", markdown_text(&group.name))?;
            for finding in &group.findings {
                let sign = match finding.severity {
                    Severity::Error => "🔴",
                    Severity::Warning => "🟡",
                    Severity::Note => "⚪",
                };
                let line = match (finding.line, finding.column) {
                    (Some(line), Some(column)) => format!(", {line}:{column}"),
                    (Some(line), None) => format!(", line {line}"),
                    (None, _) => String::new(),
                };
                let (first, excerpt) = finding.message.split_once('\n').unwrap_or((&finding.message, ""));
                writeln!(out, "\n{sign} {}{line}: {}", markdown_code(&finding.title), markdown_text(first))?;
                if !finding.help.is_empty() {
                    writeln!(out, "To change: {}.", markdown_text(&finding.help))?;
                }
                if !excerpt.is_empty() {
                    writeln!(out, "\n<pre>{}</pre>", markdown_pre(excerpt))?;
                }
                let details: Vec<String> =
                    finding.details.iter().map(|(name, text)| format!("{name:12} {text}")).collect();
                if !details.is_empty() {
                    let details = markdown_pre(&details.join("\n"));
                    writeln!(out, "\n<details><summary>Details</summary>\n<pre>{details}</pre></details>")?;
                }
            }
        }
        for remark in &self.remarks {
            writeln!(out, "\n{}", markdown_text(remark))?;
        }
        if let Some(command) = &self.accept {
            writeln!(out, "\nTo accept this:\n\n<pre>{}</pre>", markdown_pre(command))?;
        }
        Ok(())
    }
}

/// Findings for people: `path:line:column`, what was found, and what shows it.
pub(crate) fn human<'f>(out: &mut impl Write, findings: impl Iterator<Item = &'f Finding>) -> Done {
    for finding in findings {
        let style = match finding.severity {
            Severity::Error => BAD,
            Severity::Warning => WARNING,
            Severity::Note => FAINT,
        };
        let place = paint(NAME, &visible::line(&finding.position()));
        let severity = paint(style, finding.severity.name());
        let message = visible::lines(finding.message.trim_end());
        let (first, excerpt) = message.split_once('\n').unwrap_or((&message, ""));
        writeln!(out, "{place}: {severity}: {}: {first}", visible::line(&finding.title))?;
        for line in excerpt.lines() {
            writeln!(out, "  {line}")?;
        }
        for (name, text) in finding.rows() {
            // The lines of a rendered prompt stay lines.
            match text.lines().count() > 2 {
                false => writeln!(out, "  {} {}", paint(FAINT, &format!("{name:12}")), visible::line(text))?,
                true => {
                    writeln!(out, "  {}", paint(FAINT, name))?;
                    for line in visible::lines(text).split('\n') {
                        writeln!(out, "  | {line}")?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// The number of findings of each severity, in words.
pub(crate) fn counts(severities: impl Iterator<Item = Severity> + Clone) -> String {
    let counts = [Severity::Error, Severity::Warning, Severity::Note].map(|severity| {
        match severities.clone().filter(|one| *one == severity).count() {
            1 => format!("1 {}", severity.name()),
            count => format!("{count} {}s", severity.name()),
        }
    });
    counts.join(", ")
}

/// Escapes the message of a workflow command. It comes after `::`.
fn github_message(text: &str) -> String {
    visible::lines(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property of a workflow command. It comes between `=` and `,`.
fn github_property(text: &str) -> String {
    github_message(text).replace(':', "%3A").replace(',', "%2C")
}

/// Escapes text for one line of Markdown, so that no character is markup.
fn markdown_text(text: &str) -> String {
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

fn markdown_code(text: &str) -> String {
    format!("<code>{}</code>", markdown_text(text))
}

/// Escapes several lines for `<pre>`, without blank lines: they would end the HTML block.
fn markdown_pre(text: &str) -> String {
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
