//! Prints findings: for people, as JSON, as annotations of a GitHub workflow, and as a summary for a pull request. Text from
//! templates is escaped for each of these, because it can be hostile.

use std::io::Write;

use serde_json::{Value, json};
use unjinja_export::lint::Severity;

use super::checked::{Checked, counts, evidence};
use crate::failure::Done;
use crate::report::{github_message, github_property, markdown_code, markdown_pre, markdown_text};
use crate::ui::{BAD, FAINT, GOOD, NAME, Ui, WARNING, paint};
use crate::visible;

/// For people: the findings, and how many there are.
pub(super) fn human(all: &[Checked], ui: Ui) -> Done {
    let mut out = anstream::stdout().lock();
    all.iter().try_for_each(|checked| findings(&mut out, checked))?;
    if !ui.quiet {
        let none = all.iter().all(|checked| checked.findings.is_empty());
        let templates = if all.len() == 1 { "1 template".to_owned() } else { format!("{} templates", all.len()) };
        let style = if none { GOOD } else { FAINT };
        writeln!(out, "{}", paint(style, &format!("{templates}: {}", counts(all))))?;
    }
    Ok(())
}

/// The findings about one template: `path:line:column`, then what was found.
pub(super) fn findings(out: &mut impl Write, checked: &Checked) -> Done {
    for finding in &checked.findings {
        let style = match finding.severity {
            Severity::Error => BAD,
            Severity::Warning => WARNING,
            Severity::Note => FAINT,
        };
        let (kind, rule) = (paint(style, finding.severity.name()), finding.rule.id);
        let place = paint(NAME, &visible::line(&checked.place(finding)));
        writeln!(out, "{place}: {kind}: {rule}: {}", visible::line(&checked.message(finding)))?;
        let mut row = |name: &str, text: &str| match text.is_empty() {
            true => Ok(()),
            false => writeln!(out, "  {} {}", paint(FAINT, &format!("{name:12}")), visible::line(text)),
        };
        for (name, text) in evidence(finding) {
            row(name, &text)?;
        }
        row("to change", &finding.help)?;
    }
    Ok(())
}

/// One JSON document; `docs/json/lint.schema.json` describes it.
pub(super) fn document(all: &[Checked]) -> Value {
    let rows = all.iter().map(|checked| {
        json!({
            "template": checked.source.place(),
            "special_tokens_known": checked.source.special_tokens.is_some(),
            "findings": checked.findings.iter().map(crate::findings::document).collect::<Vec<Value>>(),
        })
    });
    Value::Array(rows.collect())
}

/// Workflow commands, which GitHub shows as annotations.
pub(super) fn github(all: &[Checked]) -> Done {
    let mut out = std::io::stdout().lock();
    for checked in all {
        for finding in &checked.findings {
            let level = match finding.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Note => "notice",
            };
            let mut message = checked.message(finding);
            for (name, text) in evidence(finding) {
                message.push_str(&format!("\n{name}: {text}"));
            }
            if !finding.help.is_empty() {
                message.push_str(&format!("\nTo change: {}", finding.help));
            }
            let mut place = format!("file={}", github_property(&checked.file(finding).display().to_string()));
            if let Some((line, column)) = checked.position(finding) {
                place.push_str(&format!(",line={line}"));
                place.extend(column.map(|column| format!(",col={column}")));
            }
            let (title, message) = (github_property(finding.rule.id), github_message(&message));
            writeln!(out, "::{level} {place},title={title}::{message}")?;
        }
    }
    Ok(())
}

/// A summary for a pull request.
pub(super) fn markdown(all: &[Checked]) -> Done {
    let mut out = std::io::stdout().lock();
    writeln!(out, "### Chat templates: {}", counts(all))?;
    for checked in all.iter().filter(|checked| !checked.findings.is_empty()) {
        writeln!(out, "\n**{}**", markdown_text(&checked.source.place()))?;
        for finding in &checked.findings {
            let sign = match finding.severity {
                Severity::Error => "🔴",
                Severity::Warning => "🟡",
                Severity::Note => "⚪",
            };
            let line = match checked.position(finding) {
                Some((line, Some(column))) => format!(", {line}:{column}"),
                Some((line, None)) => format!(", line {line}"),
                None => String::new(),
            };
            let (rule, message) = (markdown_code(finding.rule.id), markdown_text(&checked.message(finding)));
            writeln!(out, "\n{sign} {rule}{line}: {message}")?;
            if !finding.help.is_empty() {
                writeln!(out, "To change: {}.", markdown_text(&finding.help))?;
            }
            let lines: Vec<String> = evidence(finding).iter().map(|(name, text)| format!("{name:12} {text}")).collect();
            if !lines.is_empty() {
                let lines = lines.join("\n");
                writeln!(out, "\n<details><summary>Example</summary>\n<pre>{}</pre></details>", markdown_pre(&lines))?;
            }
        }
    }
    Ok(())
}
