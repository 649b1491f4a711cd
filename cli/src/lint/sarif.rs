//! Findings as SARIF 2.1.0, the format in which code hosts and editors take the results of linters.

use std::path::Path;

use serde_json::{Map, Value, json};
use unjinja_export::lint::{Finding, RESPONSE_RULES, RULES, Rule};

use super::checked::{Checked, evidence};
use crate::input;

/// The document: one run, with all rules and all findings.
pub(super) fn sarif(all: &[Checked]) -> Value {
    let rules: Vec<Rule> = RULES.iter().chain(RESPONSE_RULES).copied().collect();
    let results =
        all.iter().flat_map(|checked| checked.findings.iter().map(|finding| result(checked, finding, &rules)));
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "unjinja lint",
                "version": env!("CARGO_PKG_VERSION"),
                "informationUri": "https://github.com/unjinja/unjinja/blob/main/docs/lint.md",
                "rules": rules.iter().copied().map(rule).collect::<Vec<Value>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": results.collect::<Vec<Value>>(),
        }],
    })
}

fn rule(rule: Rule) -> Value {
    json!({
        "id": rule.id,
        "shortDescription": {"text": rule.about},
        "help": {"text": rule.explanation(), "markdown": rule.explanation()},
        "defaultConfiguration": {"level": rule.severity.name()},
    })
}

fn result(checked: &Checked, finding: &Finding, rules: &[Rule]) -> Value {
    let mut properties: Map<String, Value> =
        evidence(finding).into_iter().map(|(name, text)| (name.to_owned(), text.into())).collect();
    let mut text = checked.message(finding);
    if !finding.help.is_empty() {
        text.push_str(&format!("\nTo change: {}.", finding.help.trim_end_matches('.')));
        properties.insert("help".to_owned(), finding.help.as_str().into());
    }
    json!({
        "ruleId": finding.rule.id,
        "ruleIndex": rules.iter().position(|rule| *rule == finding.rule),
        "level": finding.severity.name(),
        "message": {"text": text},
        "locations": location(checked, finding).into_iter().collect::<Vec<Value>>(),
        "properties": properties,
    })
}

/// The file, with the line and the column if they are known. Standard input has no place.
fn location(checked: &Checked, finding: &Finding) -> Option<Value> {
    let path = checked.file(finding);
    if input::is_stdin(path) {
        return None;
    }
    let mut physical = json!({"artifactLocation": {"uri": uri(path)}});
    if let Some((line, column)) = checked.position(finding) {
        let mut region = json!({"startLine": line});
        if let Some(column) = column {
            region["startColumn"] = column.into();
        }
        physical["region"] = region;
    }
    Some(json!({"physicalLocation": physical}))
}

/// A path as a URI: relative paths stay relative.
fn uri(path: &Path) -> String {
    let text = path.display().to_string().replace('\\', "/");
    let mut uri = if path.is_absolute() { "file://".to_owned() } else { String::new() };
    if path.is_absolute() && !text.starts_with('/') {
        uri.push('/');
    }
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(char::from(byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_uris() {
        assert_eq!(uri(Path::new("a b/chät.jinja")), "a%20b/ch%C3%A4t.jinja");
        assert_eq!(uri(Path::new("models/50%.jinja")), "models/50%25.jinja");
    }
}
