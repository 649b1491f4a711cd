//! Findings as SARIF 2.1.0, the format in which code hosts and editors take the results of linters.

use std::path::Path;

use serde_json::{Map, Value, json};
use unjinja_lint::{RESPONSE_RULES, RULES, Rule};

use crate::findings::{Finding, Group};
use crate::input;

/// The document: one run, with all rules and all findings.
pub(super) fn sarif(groups: &[Group]) -> Value {
    let rules: Vec<Rule> = RULES.iter().chain(RESPONSE_RULES).copied().collect();
    let results = groups.iter().flat_map(|group| &group.findings).map(|finding| result(finding, &rules));
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

fn result(finding: &Finding, rules: &[Rule]) -> Value {
    let mut properties: Map<String, Value> =
        finding.details.iter().map(|(name, text)| ((*name).to_owned(), text.as_str().into())).collect();
    let mut text = finding.message.clone();
    if !finding.help.is_empty() {
        text.push_str(&format!("\nTo change: {}.", finding.help.trim_end_matches('.')));
        properties.insert("help".to_owned(), finding.help.as_str().into());
    }
    json!({
        "ruleId": finding.title,
        "ruleIndex": rules.iter().position(|rule| rule.id == finding.title),
        "level": finding.severity.name(),
        "message": {"text": text},
        "locations": location(finding).into_iter().collect::<Vec<Value>>(),
        "properties": properties,
    })
}

/// The file, with the line and the column if they are known. Standard input has no place.
fn location(finding: &Finding) -> Option<Value> {
    if input::is_stdin(&finding.file) {
        return None;
    }
    let mut physical = json!({"artifactLocation": {"uri": uri(&finding.file)}});
    if let Some(line) = finding.line {
        let mut region = json!({"startLine": line});
        if let Some(column) = finding.column {
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
