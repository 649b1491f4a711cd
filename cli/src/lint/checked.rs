//! The findings about one template, as `findings` prints them: the place, the message, and what shows that a finding is right.

use std::path::{Path, PathBuf};

use serde::Serialize;
use unjinja_build::Source;
use unjinja_lint::{Evidence, Finding, FindingDocument, Target};

use crate::findings::{self, Group};

/// The findings about one template.
pub(super) struct Checked {
    pub source: Source,
    /// The file of the response template, if there is one.
    pub response: Option<PathBuf>,
    pub findings: Vec<Finding>,
}

/// The findings about one chat template and its response template.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Document<'f> {
    /// The template's file; `#NAME` follows for one of several named templates in a file.
    template: String,
    /// Whether the file, or `tokenizer_config.json` next to it, lists the special tokens. `text-opens-turn` and
    /// `special-token-unset` need them.
    special_tokens_known: bool,
    /// In the order of their lines and columns. Those without come first, and those about the response template last.
    findings: Vec<FindingDocument<'f>>,
}

impl Checked {
    /// The findings to print.
    pub(super) fn group(&self) -> Group {
        Group { name: self.source.place(), findings: self.findings.iter().map(|finding| self.told(finding)).collect() }
    }

    /// The findings for programs.
    pub(super) fn document(&self) -> Document<'_> {
        Document {
            template: self.source.place(),
            special_tokens_known: self.source.special_tokens.is_some(),
            findings: self.findings.iter().map(FindingDocument::new).collect(),
        }
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
