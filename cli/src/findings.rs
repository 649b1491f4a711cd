//! A finding of `unjinja-export` as JSON: what `lint` and `export` print.

use serde_json::{Value, json};
use unjinja_export::lint::{Evidence, Finding};

/// One finding; `docs/json/lint.schema.json` describes it.
pub(crate) fn document(finding: &Finding) -> Value {
    let nothing = || (Value::Null, Value::Null, Value::Null, Value::Null);
    let (conversation, output, expected, actual) = match &finding.evidence {
        Some(Evidence::Conversation { conversation, expected, actual }) => {
            (conversation.clone(), Value::Null, json!(expected), json!(actual))
        }
        Some(Evidence::Output { output, written, read }) => (Value::Null, json!(output), json!(written), json!(read)),
        _ => nothing(),
    };
    json!({
        "rule": finding.rule.id, "severity": finding.severity.name(), "target": finding.target.name(),
        "readers": finding.readers, "message": finding.message, "help": finding.help, "line": finding.line,
        "column": finding.column, "conversation": conversation, "output": output, "expected": expected,
        "actual": actual,
    })
}
