//! The findings about one template, as `findings` prints them: the place, the message, and what shows that a finding is right.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use unjinja_build::Source;
use unjinja_lint::{Evidence, Finding, Target};

use crate::findings::{self, Group};

/// The findings about one template.
pub(super) struct Checked {
    pub source: Source,
    /// The file of the response template, if there is one.
    pub response: Option<PathBuf>,
    pub findings: Vec<Finding>,
}

impl Checked {
    /// The findings to print.
    pub(super) fn group(&self) -> Group {
        Group { name: self.source.place(), findings: self.findings.iter().map(|finding| self.told(finding)).collect() }
    }

    /// The findings as JSON; `docs/json/lint.schema.json` describes it.
    pub(super) fn document(&self) -> Value {
        json!({
            "template": self.source.place(),
            "special_tokens_known": self.source.special_tokens.is_some(),
            "findings": self.findings.iter().map(findings::document).collect::<Vec<Value>>(),
        })
    }

    /// The file that a finding is about.
    fn file(&self, finding: &Finding) -> &Path {
        match (finding.target, &self.response) {
            (Target::ResponseTemplate, Some(path)) => path,
            _ => &self.source.path,
        }
    }

    fn told(&self, finding: &Finding) -> findings::Finding {
        let file = self.file(finding);
        let place = match finding.target {
            Target::ResponseTemplate => file.display().to_string(),
            _ => self.source.place(),
        };
        let mut message = finding.message.clone();
        let (mut line, mut column) = (finding.line, finding.column);
        // The lines of a template in JSON or GGUF are not those of the file.
        let is_inside = matches!(file.extension().and_then(|extension| extension.to_str()), Some("json" | "gguf"));
        if let Some(number) = line.take_if(|_| is_inside) {
            let column = column.take().map_or(String::new(), |column| format!(", column {column}"));
            message.push_str(&format!(" (Line {number}{column} of the template.)"));
        }
        findings::Finding {
            severity: finding.severity,
            title: finding.rule.id.to_owned(),
            file: file.to_owned(),
            place,
            line,
            column,
            message,
            details: details(finding),
            help: finding.help.clone(),
        }
    }
}

/// What shows that a finding is right.
fn details(finding: &Finding) -> Vec<(&'static str, String)> {
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
