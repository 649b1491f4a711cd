//! The keys of a spec that are set, each with the comparisons that found it.

use serde::Serialize;
use serde_json::Value;
use unjinja_spec::FormatSpec;

use super::comparisons::ComparisonView;

/// A key of the spec.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct KeyView {
    /// The dotted key.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// The comparisons that found it.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<unjinja_analyzer::trace::Experiment>"))]
    pub found_by: Vec<&'static str>,
    /// What the analysis found, if an overlay changed it; null if it found nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlaid: Option<Value>,
}

/// The keys of a spec, and those that an overlay removed from what was found.
pub(super) fn keys(found: &FormatSpec, spec: &FormatSpec, comparisons: &[ComparisonView]) -> Vec<KeyView> {
    let flat = |spec: &FormatSpec| {
        let mut keys = Vec::new();
        flatten("", &serde_json::to_value(spec).unwrap_or_default(), &mut keys);
        keys
    };
    let analysed = flat(found);
    let value_of = |key: &str| analysed.iter().find(|(known, _)| known == key).map(|(_, value)| value);
    let concerns = |key: &str| !key.starts_with("template.") && !key.starts_with("evidence.") && key != "spec_version";
    let says = |value: &Value| !matches!(value, Value::Null) && value != "" && value != &Value::Bool(false);
    let mut views = Vec::new();
    let now = flat(spec);
    for (key, value) in now.iter().cloned() {
        let before = value_of(&key);
        let overlaid = (before != Some(&value)).then(|| before.cloned().unwrap_or(Value::Null));
        if !concerns(&key)
            || !(says(&value)
                || overlaid.is_some()
                || key.ends_with(".mode")
                || key.ends_with(".thinking")
                || key == "tools.format")
        {
            continue;
        }
        // Each item of a list may be found by its own comparison.
        let plain = key.split('[').next().unwrap_or(&key);
        let finds = |c: &&ComparisonView| {
            let mut findings = c.made.findings.iter();
            findings.any(|f| f.key == key || f.key == plain || f.key.starts_with(&format!("{plain}.")))
        };
        let mut found_by: Vec<&'static str> = Vec::new();
        for comparison in comparisons.iter().filter(finds) {
            if !found_by.contains(&comparison.made.experiment.name()) {
                found_by.push(comparison.made.experiment.name());
            }
        }
        views.push(KeyView { key, value, found_by, overlaid });
    }
    // Keys that an overlay removes.
    for (key, value) in &analysed {
        if concerns(key) && says(value) && !now.iter().any(|(known, _)| known == key) {
            let overlaid = Some(value.clone());
            views.push(KeyView { key: key.clone(), value: Value::Null, found_by: Vec::new(), overlaid });
        }
    }
    views
}

fn flatten(prefix: &str, value: &Value, keys: &mut Vec<(String, Value)>) {
    let inner = |key: &str| if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| flatten(&inner(key), value, keys)),
        // A list of tables is divided; a list of texts is one value.
        Value::Array(items) if items.iter().any(Value::is_object) => {
            for (index, item) in items.iter().enumerate() {
                flatten(&format!("{prefix}[{index}]"), item, keys);
            }
        }
        value => keys.push((prefix.to_owned(), value.clone())),
    }
}
