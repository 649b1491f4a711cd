//! The findings about one template, and how they are told: the place, the message, and what shows that a finding is right.

use std::path::{Path, PathBuf};

use unjinja_build::Source;
use unjinja_export::lint::{Evidence, Finding, Severity, Target};

/// The findings about one template.
pub(super) struct Checked {
    pub source: Source,
    /// The file of the response template, if there is one.
    pub response: Option<PathBuf>,
    pub findings: Vec<Finding>,
}

impl Checked {
    /// The file that a finding is about.
    pub(super) fn file(&self, finding: &Finding) -> &Path {
        match (finding.target, &self.response) {
            (Target::ResponseTemplate, Some(path)) => path,
            _ => &self.source.path,
        }
    }

    /// The line and the column of a finding in its file. `None` if they are not known, and for templates in JSON or GGUF, whose
    /// lines are not those of the file.
    pub(super) fn position(&self, finding: &Finding) -> Option<(u32, Option<u32>)> {
        let extension = self.file(finding).extension().and_then(|extension| extension.to_str());
        finding.line.filter(|_| !matches!(extension, Some("json" | "gguf"))).map(|line| (line, finding.column))
    }

    /// `path:line:column`, as far as it is known.
    pub(super) fn place(&self, finding: &Finding) -> String {
        let path = match finding.target {
            Target::ResponseTemplate => self.file(finding).display().to_string(),
            _ => self.source.place(),
        };
        match self.position(finding) {
            Some((line, Some(column))) => format!("{path}:{line}:{column}"),
            Some((line, None)) => format!("{path}:{line}"),
            None => path,
        }
    }

    /// The message, with the readers that it is about, and the place in a template that is a value of its file.
    pub(super) fn message(&self, finding: &Finding) -> String {
        let mut message = match finding.readers.is_empty() {
            true => finding.message.clone(),
            false => format!("{}: {}", finding.readers.join(", "), finding.message),
        };
        if let (Some(line), None) = (finding.line, self.position(finding)) {
            let column = finding.column.map_or(String::new(), |column| format!(", column {column}"));
            message.push_str(&format!(" (Line {line}{column} of the template.)"));
        }
        message
    }
}

/// What shows that a finding is right: names, and texts for them.
pub(super) fn evidence(finding: &Finding) -> Vec<(&'static str, String)> {
    match &finding.evidence {
        Some(Evidence::Conversation { conversation, expected, actual }) => {
            vec![("conversation", conversation.to_string()), ("expected", expected.clone()), ("actual", actual.clone())]
        }
        Some(Evidence::Output { output, written, read }) => {
            vec![("output", format!("{output:?}")), ("written", written.clone()), ("read", read.clone())]
        }
        _ => Vec::new(),
    }
}

/// How many findings of each severity there are, in words.
pub(super) fn counts(all: &[Checked]) -> String {
    let of = |severity: Severity| {
        all.iter().flat_map(|checked| &checked.findings).filter(|finding| finding.severity == severity).count()
    };
    let counts = [Severity::Error, Severity::Warning, Severity::Note].map(|severity| match of(severity) {
        1 => format!("1 {}", severity.name()),
        count => format!("{count} {}s", severity.name()),
    });
    counts.join(", ")
}
